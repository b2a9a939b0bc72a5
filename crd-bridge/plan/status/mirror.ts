import { API_VERSION } from '../../../api/core/group.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import type { DRPlanExecution, DRPlanExecutionStatus } from '../../../api/plan/types.js';
import type { MirrorPace } from '../../../workflows/core/contract.js';
import { rollbackWorkflowId, stageWorkflowId } from '../../../workflows/plan/contract.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { FinishUpdate, MirrorUpdate } from '../../../workflows/plan/contract-updates.js';
import { createBatches } from '../../core/batches.js';
import { finishRun } from './finish-run.js';
import type { MirrorDeps } from './mirror-deps.js';
import { projectRun } from './project-run.js';
import { applyMirror } from './projection.js';

/** How executions of plans get into status. */
export interface PlanMirror {
  /** @returns how often the run may tell from now on */
  mirror(update: MirrorUpdate): Promise<MirrorPace>;
  finish(update: FinishUpdate): Promise<void>;
}

/**
 * Writes what runs say into status. Both are idempotent, and neither ever fails a run: an execution that is gone, has
 * another uid or has ended counts as success, and Temporal retries everything else.
 */
export function createMirror(deps: MirrorDeps): PlanMirror {
  const { mutex } = deps;
  const batch = createBatches<MirrorUpdate>({ mutex, write: (updates) => write(deps, updates) });
  return {
    async mirror(said) {
      await batch(executionKey(said.run), await withBegun(deps, said));
      return deps.pace();
    },
    async finish(update) {
      const known = await withBegun(deps, update);
      await mutex.run(executionKey(update.run), () => finishRun(deps, known));
    },
  };
}

async function write(deps: MirrorDeps, updates: readonly MirrorUpdate[]): Promise<void> {
  const [first] = updates;
  if (first === undefined) return;
  const { run } = first;
  await projectRun(deps, run, (status) => {
    let next: DRPlanExecutionStatus | undefined;
    for (const update of updates) {
      next = applyMirror(next ?? status, update, new Date().toISOString()) ?? next;
    }
    return next;
  });
  for (const { paused } of updates) {
    if (paused === undefined) continue;
    deps.events.record(objectOf(run), {
      type: 'Warning',
      reason: 'ExecutionPaused',
      action: 'Pause',
      message: `stage "${paused.stage}" waits for a decision (retry, skip or abort): ${paused.message}`,
      key: `${paused.stage}/${paused.reminder}`,
    });
  }
}

/** A stage that was ended from outside could not report what it had begun and how that ended, but its history shows it. */
async function withBegun<T extends MirrorUpdate | FinishUpdate>(
  { runs }: Pick<MirrorDeps, 'runs'>,
  update: T,
): Promise<T> {
  if (update.stages.every(({ interrupted }) => interrupted !== true)) return update;
  const { run } = update;
  const runId = runWorkflowId(run);
  const told = async (id: string): Promise<object> => {
    const child = await runs.describeChild({ workflowId: runId }, id);
    return child === undefined ? {} : runs.told(child);
  };
  const idOf = run.operation === 'Revert' ? rollbackWorkflowId : stageWorkflowId;
  const stages = await Promise.all(
    update.stages.map(async (stage) =>
      stage.interrupted === true ? { ...stage, ...(await told(idOf(runId, stage.index))) } : stage,
    ),
  );
  return { ...update, stages };
}

/** Key of an execution in mutex and queue. */
export const executionKey = (run: { namespace: string; name: string }): string =>
  `DRPlanExecution ${run.namespace}/${run.name}`;

const objectOf = (run: RunIdentity): Pick<DRPlanExecution, 'apiVersion' | 'kind' | 'metadata'> => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  metadata: { name: run.name, namespace: run.namespace, uid: run.uid },
});
