/** Why an open run makes no progress, judged by what Temporal reports of it. */
import type { RunDescription } from '../../../client/runs/runs.js';
import { TROUBLES } from '../../core/trouble.js';

/** Added to the bound before the next look: times of tasks come in whole seconds. */
const ROUNDING_MS = 1_000;

/** What condition Progressing shows for a run that stands still. */
export interface Standstill {
  reason: 'NoWorker' | 'WorkersBusy' | 'WorkflowTaskFailing';
  message: string;
}

/** What is known, and when to look again where that is sooner than usual. */
export type Look = { kind: 'moves'; againMs?: number } | { kind: 'stands'; standstill: Standstill };

const ENDS_WITH_BOTH = ['NoWorker', 'WorkersBusy', 'TemporalMismatch', ...TROUBLES];

/** Reasons of condition Progressing that end with any update of the run: then somebody has taken its task. */
export const ENDS_WITH_NEWS: ReadonlySet<string> = new Set([...ENDS_WITH_BOTH, 'SealKeyUnknown']);

/** Reasons of condition Progressing that end when a look at the run finds nothing wrong. */
export const ENDS_WITH_LOOK: ReadonlySet<string> = new Set([...ENDS_WITH_BOTH, 'WorkflowTaskFailing']);

/**
 * Judges a run that is open.
 *
 * @param answers whether a worker answers for this run now: otherwise, busy workers and missing workers look the same
 * from outside
 * @param options.now milliseconds since the epoch
 * @param options.taskWaitMs a task that no worker has taken for this long is shown (S5.50)
 */
export async function lookAtRun(
  run: RunDescription,
  answers: () => Promise<boolean>,
  { now, taskWaitMs }: { now: number; taskWaitMs: number },
): Promise<Look> {
  const { workflowId, waiting, failing, build } = run;
  if (failing !== undefined) {
    const since = failing.since.toISOString();
    const which = build === undefined ? '' : `, "${build.buildId}"`;
    return {
      kind: 'stands',
      standstill: {
        reason: 'WorkflowTaskFailing',
        message: `workers cannot go on with "${failing.workflowId}" since ${since}: ${cut(failing.message)}; a cancel has no effect meanwhile; run a worker of the build that began the run${which}, or end it with ${wayOut(run)}`,
      },
    };
  }
  if (waiting === undefined) return { kind: 'moves' };
  const waitedMs = now - waiting.since.getTime();
  if (waitedMs < taskWaitMs) return { kind: 'moves', againMs: taskWaitMs + ROUNDING_MS - waitedMs };
  const since = waiting.since.toISOString();
  if (!(await answers())) {
    return { kind: 'stands', standstill: { reason: 'NoWorker', message: noWorker(run, since) } };
  }
  const what =
    waiting.what === 'wait'
      ? 'a wait of it waits for a slot: workers watch as many objects as they may (DROVER_MAX_WAITS)'
      : 'an action of it waits for a slot: workers carry out as many as they may (DROVER_MAX_ACTIVITIES)';
  return {
    kind: 'stands',
    standstill: {
      reason: 'WorkersBusy',
      message: `workers are there, and have not taken a task of run "${workflowId}" since ${since}; ${what}; wait, end other runs, or run more workers`,
    },
  };
}

function noWorker(run: RunDescription, since: string): string {
  const { workflowId, build } = run;
  if (build?.isPinned !== true)
    return `no worker has taken a task of run "${workflowId}" since ${since}; check that the worker runs and is connected to the same Temporal; a run that no worker will take any more ends with ${wayOut(run)}`;
  const move = `temporal workflow update-options --query 'WorkflowId STARTS_WITH "${workflowId}" AND ExecutionStatus = "Running"' --versioning-override-behavior pinned --versioning-override-deployment-name ${build.deploymentName} --versioning-override-build-id BUILD`;
  return `run "${workflowId}" is pinned to build "${build.buildId}", and no worker of that build has taken a task of it since ${since}; run a worker of that build; or move the run to another build whose code can carry it on (${move}); or end it with ${wayOut(run)}`;
}

/** What ends a run that a cancel does not reach. */
const wayOut = ({ memo }: RunDescription): string =>
  `"drover cancel ${memo?.name ?? 'NAME'} -n ${memo?.namespace ?? 'NAMESPACE'} --terminate", which ends it, settles what its actions had begun and frees the plan`;

const MAX_MESSAGE = 500;
const cut = (text: string): string =>
  text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`;
