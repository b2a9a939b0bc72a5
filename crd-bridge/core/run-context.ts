import type { RunDescription } from '../../client/runs/runs.js';
import type { Cacheable } from '../../kube/informer.js';
import type { RunControllerOptions } from './run-controller-options.js';
import { isElsewhere } from './temporal-identity.js';
import type { TemporalIdentity } from './temporal-identity.js';
import type { RunView } from './kind.js';

/** What is remembered of an object between reconciles. Losing it costs a call, never a wrong step. */
export interface Memory {
  /** When to describe the run next. */
  lookAt: number;
  /** Kinds of cancel that were sent already. */
  cancelled: Set<string>;
  /** Deliveries that were accepted already. The run heeds each once, so sending one again is harmless. */
  delivered: Set<string>;
  /** Set when the run has closed but parts of it still act: their updates must not put off the next look. */
  isSettling?: true;
  /** When the run has accepted the cancel of a deletion. */
  deleteAcceptedAt?: number;
  /** Since when a start by another replica may be under way. */
  startingSince?: number;
  /** Since when it waits for a place in the start room. */
  waitingSince?: number;
  /** Whether the status shows already that it waits. */
  waitingSaid?: true;
  /** Since when every reconcile of it has failed. */
  failingSince?: number;
}

/** What the steps of a run controller share. */
export interface RunContext<T extends Cacheable> extends RunControllerOptions<T> {
  now: () => number;
  memoryOf: (object: T) => Memory;
  /** Forgets what is remembered of an object; its status stays as it is. */
  forget: (uid: string) => void;
}

/** Time between two looks at an object that is being deleted, in milliseconds. */
export const POLL_WHILE_DELETING_MS = 2_000;
/** Time between two looks at an object whose start may be under way elsewhere. */
export const POLL_WHILE_STARTING_MS = 1_000;
/** Longer than a start takes from its lock on: a call to Temporal gives up after 10 s. */
const START_SETTLES_MS = 15_000;

/** Call this only after Temporal has reported that there is no run. */
export async function mayBeStarting<T extends Cacheable>(
  { kind, memoryOf, now }: RunContext<T>,
  object: T,
): Promise<boolean> {
  const memory = memoryOf(object);
  if (!(await kind.isStarting(object))) {
    delete memory.startingSince;
    return false;
  }
  memory.startingSince ??= now();
  return now() - memory.startingSince < START_SETTLES_MS;
}

/**
 * If the run was started in another Temporal, it proves nothing that the connected one does not know it. Only a person can
 * tell that the other one will not come back: then the object ends (S5.61).
 */
export async function isMismatched<T extends Cacheable>(
  { kind }: RunContext<T>,
  object: T,
  { run, isTemporalLost }: RunView,
  connected: TemporalIdentity,
): Promise<boolean> {
  if (!isElsewhere(run, connected)) return false;
  if (isTemporalLost === true) await kind.lost(object);
  else await kind.mismatch(object, connected);
  return true;
}

/**
 * The run of an object, as Temporal has it: the recorded one, or its reset. Whoever ends a run may start something else under
 * its id, which is not followed.
 */
export async function describeRun<T extends Cacheable>(
  { kind, log, runs }: Pick<RunContext<T>, 'kind' | 'log' | 'runs'>,
  object: T,
  { workflowId, runId }: { workflowId: string; runId?: string },
  options?: { withStages?: boolean },
): Promise<RunDescription | undefined> {
  const newest = await runs.describe(workflowId, options);
  if (newest === undefined || runId === undefined) return newest;
  if (newest.runId === runId || newest.firstRunId === runId) return newest;
  const recorded = await runs.describe(workflowId, { ...options, runId });
  if (recorded?.firstRunId === newest.firstRunId) return newest;
  log.warn(
    { ...kind.logFields(object), workflowId, runId: newest.runId },
    'a workflow that the bridge has not started is under the id of a run; it is not followed',
  );
  return recorded;
}

/** Once: whoever resets the run afterwards wants it to go on. */
export async function terminateRun<T extends Cacheable>(
  { kind, log, memoryOf, runs }: RunContext<T>,
  object: T,
  workflowId: string,
  { reason }: { reason: string },
): Promise<void> {
  const memory = memoryOf(object);
  if (memory.cancelled.has('terminate')) return;
  const sent = await runs.terminate(workflowId, reason);
  memory.cancelled.add('terminate');
  memory.lookAt = 0;
  log.warn({ ...kind.logFields(object), workflowId, sent, reason }, 'run terminated');
}
