/** The stages of a run that was ended from outside: they are workflows of their own, and end a while after it. */
import { isTerminalItem } from '../../../api/core/phase.js';
import type { StageStatus } from '../../../api/plan/types.js';
import { undoneOf } from '../../../api/plan/undo/undo.js';
import type { RunDescription, Runs } from '../../../client/runs/runs.js';
import { rollbackWorkflowId, stageWorkflowId } from '../../../workflows/plan/contract.js';
import type { Operation } from '../../../workflows/plan/contract.js';
import type { StageUpdate } from '../../../workflows/plan/contract-updates.js';

/** The state of the stages of a closed run. */
export interface StageRuns {
  /** Those that still act. */
  open: RunDescription[];
  /** Those that have ended without a result, and cannot say what they had begun. */
  torn: TornStage[];
  /** Final statuses of those that have ended without status showing it. */
  stages: StageUpdate[];
  /** Execute: what a rollback inside the run has undone. */
  undone: string[];
}

/** A stage, or its rollback, that was ended from outside. */
export interface TornStage {
  workflowId: string;
  runId: string;
  index: number;
  /** Whether it is what status shows as the stage; a rollback inside a run is not. */
  isShown: boolean;
}

const CONCURRENCY = 10;

/**
 * Looks at the stages of a run that has closed without a final update, and at nobody else's workflows under their ids. They are asked to cancel when it closes, settle
 * what they have begun, and may take minutes for that.
 */
export async function inspectStageRuns(
  runs: Pick<Runs, 'describeChild' | 'stageResult'>,
  { workflowId, runId }: { workflowId: string; runId?: string },
  run: { operation: Operation; stages: readonly StageStatus[] },
): Promise<StageRuns> {
  const found: StageRuns = { open: [], torn: [], stages: [], undone: [] };
  const isRevert = run.operation === 'Revert';

  async function look(
    stage: Omit<TornStage, 'runId'>,
    take: (state: RunDescription) => Promise<void>,
  ): Promise<void> {
    const described = await runs.describeChild({ workflowId, runId }, stage.workflowId);
    if (described === undefined) return;
    if (described.state === 'Running') found.open.push(described);
    else if (described.state === 'Completed') await take(described);
    else found.torn.push({ ...stage, runId: described.runId });
  }

  async function inspect(index: number, status: StageStatus): Promise<void> {
    const takeStatus = async (stage: RunDescription): Promise<void> => {
      const { status: last, told } = await runs.stageResult(stage);
      found.stages.push({ index, status: last, ...(told && { told }) });
    };
    const own = { workflowId: stageWorkflowId(workflowId, index), index, isShown: true };
    const rollback = { workflowId: rollbackWorkflowId(workflowId, index), index, isShown: isRevert };
    if (isRevert) {
      if (!isTerminalItem(status.phase)) await look(rollback, takeStatus);
      return;
    }
    if (!isTerminalItem(status.phase)) await look(own, takeStatus);
    // A stage is rolled back after it has ended.
    if (status.phase === 'Pending') return;
    await look(rollback, async (stage) => {
      found.undone.push(...undoneOf(index, (await runs.stageResult(stage)).status));
    });
  }

  const queue = [...run.stages.entries()];
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await inspect(...next);
    }),
  );
  return found;
}
