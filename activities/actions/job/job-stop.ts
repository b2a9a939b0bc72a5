/** Stops Jobs: after a cancel or a timeout, to settle, and to undo (S3.26). */
import { formatDuration } from '../../../api/core/duration.js';
import type { ActionOutputs } from '../../../api/plan/types.js';
import { KubeError } from '../../../kube/error.js';
import { PODS_REMAIN } from '../../core/handler.js';
import type { Attempt, AttemptResult, Memo, PodsEnd } from '../../core/handler.js';
import { conclude, outputsOf, show } from './job-conclude.js';
import { findJobs, findPods, formerJob, fromReference, orphanedJobs } from './job-find.js';
import { awaitPods, fateOf, graceOf, STOP_WAIT_MS } from './job-pods.js';
import type { StopCause } from './job-pods.js';
import { endOf, explainPods, keyOfJob, podsOf } from './job-state.js';
import type { Job, Pod } from './job-state.js';
import { deleteJob, SUSPENDED } from './job-wait.js';
import type { JobDeletion } from './job-wait.js';
import { fromKubeError } from '../../core/kube-errors.js';

/** How long an attempt itself waits for pods: the server grants it 30 s beyond its timeout. `settle` does the rest. */
const STOP_MS = 25_000;

/** Outputs that name what may still run. */
export const withPlaces = (outputs: ActionOutputs, pods: PodsEnd): ActionOutputs =>
  pods.kind === 'unconfirmed' ? { ...outputs, stopUnconfirmed: pods.places } : outputs;

/** How a Job came to its end, for messages while its pods are waited for. */
export interface Ending {
  cause: StopCause;
  /** Whether it was not there any more when it was to be deleted. */
  isGone: boolean;
  signal: AbortSignal;
}

/** Waits for the pods of a Job that is not there any more. */
export const podsAfter = (job: Job, attempt: Attempt, ending: Ending): Promise<PodsEnd> =>
  waitFor(attempt, { ...ending, job, find: (cut) => podsOf(attempt.kube, job, { signal: cut }) });

function waitFor(
  attempt: Attempt,
  { job, find, cause, isGone, signal }: Ending & { job: Job; find: (signal: AbortSignal) => Promise<Pod[]> },
): Promise<PodsEnd> {
  const memo = attempt.remembered;
  // In a long wait, each attempt goes on from what the one before has done and said, and from when the wait began.
  const stoppedAt = typeof memo?.stoppedAt === 'number' ? memo.stoppedAt : attempt.kube.now();
  const deleted = deletedMark(job);
  const wasGone = isGone && memo?.[deleted] !== true;
  let kept: Memo = { ...memo, stoppedAt, ...(!wasGone && { [deleted]: true }) };
  const keep = (more: Record<string, string>): void => {
    kept = { ...kept, ...more };
    attempt.remember(kept);
  };
  keep({ jobName: job.metadata.name, jobUid: job.metadata.uid ?? '' });
  return awaitPods({
    shown: show(job),
    fate: fateOf(cause, wasGone),
    find,
    now: () => attempt.kube.now(),
    stoppedAt,
    graceMs: graceOf(job.spec?.template?.spec),
    waitMs: attempt.task.stop?.waitMs ?? STOP_WAIT_MS,
    say(message) {
      if (message === memo?.said) return;
      attempt.say(message);
      if (kept.said !== message) keep({ said: message });
    },
    signal,
  });
}

/** What an attempt remembers of a Job that it has deleted: the next one does not find it any more. */
const deletedMark = ({ metadata }: Job): string => `deleted ${metadata.uid ?? metadata.name}`;

/** Ends a Job because of a cancel or a timeout. A Job that has completed in the meantime counts as completed. */
export async function stop(
  job: Job,
  attempt: Attempt,
  ttlSeconds: number | undefined,
): Promise<Exclude<AttemptResult, { kind: 'skipped' }>> {
  const signal = AbortSignal.timeout(STOP_MS);
  const now = await attempt.kube.get<Job>(keyOfJob(job), { signal }).catch(() => undefined);
  const end = now?.metadata.uid === job.metadata.uid && now !== undefined ? endOf(now) : undefined;
  if (now !== undefined && end?.kind === 'complete') return conclude(now, end, ttlSeconds, attempt);

  const timedOut = attempt.signal.reason === 'timeout';
  const why = !timedOut ? '' : now?.spec?.suspend === true ? SUSPENDED : await explainPods(attempt.kube, job);
  const cause: StopCause = timedOut
    ? { kind: 'timedOut', timeoutMs: attempt.task.timeoutMs }
    : { kind: 'cancelled' };
  const { after, pods } = await deleteAndWait(job, attempt, { cause, signal });
  const isOpen = pods === undefined || pods.kind === 'waiting';
  const outputs = pods === undefined ? outputsOf(job) : withPlaces(outputsOf(job), pods);
  // How far it got while it is open says whoever settles it.
  const rest = timedOut && isOpen ? '' : `; ${after}`;
  const message = timedOut
    ? `${show(job)} did not end within ${formatDuration(attempt.task.timeoutMs)}${why === '' ? '' : ` (${why})`}${rest}`
    : `${show(job)}: ${after}`;
  if (!timedOut || isOpen) {
    return { kind: 'interrupted', outputs, effect: 'Unknown', message, unsettled: isOpen, isFinal: true };
  }
  return { kind: 'failed', reason: 'Timeout', message, outputs, effect: 'Unknown' };
}

/** Deletes a Job and waits for its pods; without `pods` it could not be deleted. */
async function deleteAndWait(
  job: Job,
  attempt: Attempt,
  { cause, signal }: Omit<Ending, 'isGone'>,
): Promise<{ after: string; pods?: PodsEnd }> {
  let deletion: JobDeletion;
  try {
    deletion = await deleteJob(attempt.kube, job, signal);
    if (deletion === 'unanswered') return { after: NO_ANSWER };
  } catch (error) {
    return { after: `it could not be deleted: ${error instanceof Error ? error.message : String(error)}` };
  }
  const isGone = deletion === 'gone';
  const pods = await podsAfter(job, attempt, { cause, isGone, signal });
  const quiet = isGone ? 'it is gone, and its pods are gone too' : 'it was deleted and its pods are gone';
  return { after: pods.kind === 'quiet' ? quiet : pods.said, pods };
}

const NO_ANSWER = 'it could not be deleted while the API did not answer';

/** Deletes what the forward run created: the recorded Job, or, when none was recorded, those with the action's key. */
export async function undo(attempt: Attempt): Promise<AttemptResult> {
  const recorded = attempt.task.forward?.outputs?.jobRef;
  const jobs = recorded === undefined ? [] : [fromReference(recorded)];
  // Earlier rounds left Jobs of their own.
  if (recorded === undefined || (attempt.task.forward?.round ?? 0) > 0) {
    const found = await findJobs(attempt, 'forward');
    jobs.push(...found.filter(({ metadata }) => metadata.uid !== recorded?.uid));
    jobs.push(...(await orphanedJobs(attempt, jobs, 'forward')));
  }
  if (jobs.length === 0) {
    return { kind: 'skipped', reason: 'NothingToUndo', message: 'the action has left no Job behind' };
  }
  const gone = new Set<Job>();
  for (const job of jobs) {
    attempt.beforeEffect();
    const deletion = await deleteJob(attempt.kube, job, attempt.signal);
    if (deletion === 'unanswered') return notDeleted(job, attempt);
    if (deletion === 'gone') gone.add(job);
  }
  const unconfirmed: Extract<PodsEnd, { kind: 'unconfirmed' }>[] = [];
  for (const job of jobs) {
    const pods = await podsAfter(job, attempt, {
      cause: { kind: 'undone' },
      isGone: gone.has(job),
      signal: attempt.signal,
    });
    // How long pods take has nothing to do with the timeout of the action: `settle` goes on waiting, as it does forward.
    if (pods.kind === 'waiting') {
      return { kind: 'interrupted', effect: 'Unknown', message: pods.said, unsettled: true, isFinal: true };
    }
    if (pods.kind === 'unconfirmed') unconfirmed.push(pods);
  }
  const message = [`${jobs.map(show).join(', ')} deleted`, ...unconfirmed.map(({ said }) => said)].join('; ');
  const stopUnconfirmed = unconfirmed.flatMap(({ places }) => places);
  return {
    kind: 'succeeded',
    message,
    ...(stopUnconfirmed.length > 0 && { outputs: { stopUnconfirmed } }),
  };
}

function notDeleted(
  job: Job,
  { signal }: Attempt,
): Extract<AttemptResult, { kind: 'retry' | 'interrupted' }> {
  const message = `${show(job)}: ${NO_ANSWER}`;
  return signal.reason === 'timeout'
    ? { kind: 'retry', reason: 'NotDeleted', message, round: 'Unclear' }
    : { kind: 'interrupted', effect: 'Unknown', message };
}

/** Goes on with an undo; like any settling it lasts as long as pods do. */
async function settleUndo(attempt: Attempt): Promise<AttemptResult> {
  const result = await undo(attempt);
  return result.kind === 'interrupted' && result.isFinal === true && attempt.signal.reason === 'timeout'
    ? { kind: 'retry', reason: PODS_REMAIN, message: result.message ?? '', round: 'Unclear' }
    : result;
}

/** Finds what an action has begun by its marks, stops it, and waits until it has stopped. */
export async function settle(attempt: Attempt): Promise<AttemptResult> {
  const { direction } = attempt.task;
  // Deleting what is to be deleted is the only end of an undo, and can be done again.
  if (direction === 'undo' && attempt.custom !== true) return settleUndo(attempt);
  const jobs = await findJobs(attempt, direction);
  const newest = jobs.at(-1);
  const end = newest === undefined ? undefined : endOf(newest);
  if (newest !== undefined && end !== undefined) {
    const result = await conclude(newest, end, attempt.action.job?.ttlSecondsAfterFinished, attempt);
    return result.kind === 'retry' ? { ...result, kind: 'failed', effect: 'Done' } : result;
  }
  for (const job of jobs) {
    const left = endOf(job) === undefined ? await remove(job, attempt) : undefined;
    if (left !== undefined) return left;
  }
  const find = (signal: AbortSignal): Promise<Pod[]> => findPods(attempt, jobs, { direction, signal });
  const known = newest ?? (await formerJob(attempt, find));
  if (known === undefined) {
    const message = 'no Job of the action is there, nor a pod of one';
    return { kind: 'failed', reason: 'Interrupted', message, effect: 'Unknown' };
  }
  const pods = await waitFor(attempt, {
    job: known,
    find,
    cause: causeOf(attempt),
    isGone: jobs.length === 0,
    signal: attempt.signal,
  });
  const outputs = withPlaces(outputsOf(known), pods);
  if (pods.kind === 'waiting') {
    return { kind: 'retry', reason: PODS_REMAIN, message: pods.said, round: 'Unclear', outputs };
  }
  const fate = jobs.length === 0 ? 'is gone' : 'was deleted';
  const message = pods.kind === 'quiet' ? `${show(known)} ${fate} and its pods are gone` : pods.said;
  return { kind: 'failed', reason: 'Interrupted', message, outputs, effect: 'Unknown' };
}

/** Why the action is settled, as its workflow says. */
function causeOf({ task: { stop, timeoutMs } }: Attempt): StopCause {
  const kind = stop?.because ?? 'unknown';
  return kind === 'timedOut' ? { kind, timeoutMs } : { kind };
}

/** Deletes a Job that runs, or returns a result when that fails: the Job may go on, and the reader has to know. */
async function remove(
  job: Job,
  attempt: Attempt,
): Promise<Extract<AttemptResult, { kind: 'failed' | 'retry' }> | undefined> {
  const outputs = { ...outputsOf(job), stopUnconfirmed: [show(job)] };
  try {
    if ((await deleteJob(attempt.kube, job, attempt.signal)) !== 'unanswered') return undefined;
    const message = `${show(job)}: ${NO_ANSWER}`;
    return { kind: 'retry', reason: 'NotDeleted', message, round: 'Unclear', outputs };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const failure = fromKubeError(error, { identity: attempt.identity, effect: 'Unknown' });
    const message = `${show(job)} may still run, it could not be deleted; delete it by hand: ${failure.message}`;
    return { ...failure, message, outputs };
  }
}
