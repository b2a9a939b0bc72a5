/** The runs that are under way, as far as an upgrade must know them. */
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import type { RunBuild, Runs } from '../../../runs/runs.js';

/** An execution that has not ended. */
export interface LiveRun {
  namespace: string;
  name: string;
  phase: string;
  /** Id of its workflow; absent while it waits for its start, which any release carries out. */
  workflowId?: string;
  /** The build that carries it on. */
  build?: RunBuild;
  /** Version of the bridge that has begun it; absent of bridges before 0.1.0. */
  release?: string;
  isSealed: boolean;
  /** How its input is written in Temporal. */
  inputEncoding?: string;
  /** Why its code cannot go on, where it cannot. */
  failing?: string;
}

/** Runs that are asked about at once. */
const AT_ONCE = 8;

/**
 * Looks at all executions that have not ended.
 *
 * @throws the client library's errors when Temporal does not answer
 */
export async function findLiveRuns(
  executions: readonly DRPlanExecution[],
  runs: Pick<Runs, 'describe' | 'inputEncoding'>,
): Promise<LiveRun[]> {
  const live = executions.filter(({ status }) => !isTerminalExecution(status?.phase));
  const found: LiveRun[] = [];
  for (let at = 0; at < live.length; at += AT_ONCE) {
    const some = live.slice(at, at + AT_ONCE);
    found.push(...(await Promise.all(some.map((execution) => lookAt(execution, runs)))));
  }
  return found;
}

async function lookAt(
  { metadata, status }: DRPlanExecution,
  runs: Pick<Runs, 'describe' | 'inputEncoding'>,
): Promise<LiveRun> {
  const about = {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    phase: status?.phase ?? 'Pending',
    isSealed: false,
  };
  const workflowId = status?.temporal?.workflowId;
  if (workflowId === undefined) return about;
  const [run, inputEncoding] = await Promise.all([
    runs.describe(workflowId, { withStages: true }),
    runs.inputEncoding(workflowId),
  ]);
  // What Temporal has forgotten, or has seen end, is under way no more: only its status is late.
  if (run?.state !== 'Running') return about;
  return {
    ...about,
    workflowId,
    isSealed: run.memo?.sealKey !== undefined || status?.temporal?.sealKey !== undefined,
    ...(run.build !== undefined && { build: run.build }),
    ...(run.memo?.release !== undefined && { release: run.memo.release }),
    ...(inputEncoding !== undefined && { inputEncoding }),
    ...(run.failing !== undefined && { failing: run.failing.message }),
  };
}
