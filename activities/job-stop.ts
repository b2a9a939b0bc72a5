/** Stops Jobs: after a cancel or a timeout, to settle, and to undo (plan semantics, §3 Job). */
import { formatDuration } from '../api/duration.js';
import { LABELS } from '../api/group.js';
import { positionLabel } from '../api/naming.js';
import type { ActionOutputs, ObjectReference } from '../api/types.js';
import { isRetryable, KubeError } from '../kube/error.js';
import { PODS_REMAIN } from './handler.js';
import type { Attempt, AttemptResult, Memo } from './handler.js';
import { conclude, outputsOf, show } from './job-conclude.js';
import { awaitPods, graceOf, STOP_WAIT_MS } from './job-pods.js';
import type { PodsEnd } from './job-pods.js';
import { endOf, explainPods, keyOfJob, podsOf } from './job-state.js';
import type { Job, Pod } from './job-state.js';
import { namespaceOf, planJob } from './job-template.js';
import { deleteJob, SUSPENDED } from './job-wait.js';
import { isMarkedBy } from './marks.js';

/** How long an attempt itself waits for pods: the server grants it 30 s beyond its timeout. What is left then, `settle` does. */
const STOP_MS = 25_000;

/** Outputs that name what may still run. */
export const withPlaces = (outputs: ActionOutputs, pods: PodsEnd): ActionOutputs =>
  pods.kind === 'unconfirmed' ? { ...outputs, stopUnconfirmed: pods.places } : outputs;

/** Waits for the pods of a Job that is deleted. */
export const podsAfter = (job: Job, attempt: Attempt, signal: AbortSignal): Promise<PodsEnd> =>
  waitFor(attempt, { job, find: (cut) => podsOf(attempt.kube, job, cut), signal });

function waitFor(
  attempt: Attempt,
  { job, find, signal }: { job: Job; find: (signal: AbortSignal) => Promise<Pod[]>; signal: AbortSignal },
): Promise<PodsEnd> {
  const memo = attempt.remembered;
  // What an attempt has said, and since when it waits, the next one of a long wait goes by.
  const stoppedAt = typeof memo?.stoppedAt === 'number' ? memo.stoppedAt : Date.now();
  let kept: Memo = { ...memo, stoppedAt };
  const keep = (more: Record<string, string>): void => {
    kept = { ...kept, ...more };
    attempt.remember(kept);
  };
  keep({ jobName: job.metadata.name, jobUid: job.metadata.uid ?? '' });
  return awaitPods({
    shown: show(job),
    find,
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
  const { after, pods } = await deleteAndWait(job, attempt, signal);
  const isOpen = pods === undefined || pods.kind === 'waiting';
  const outputs = pods === undefined ? outputsOf(job) : withPlaces(outputsOf(job), pods);
  const message = timedOut
    ? `${show(job)} did not end within ${formatDuration(attempt.task.timeoutMs)}${why === '' ? '' : ` (${why})`}; ${after}`
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
  signal: AbortSignal,
): Promise<{ after: string; pods?: PodsEnd }> {
  try {
    if (!(await deleteJob(attempt.kube, job, signal))) {
      return { after: 'it could not be deleted while the API did not answer' };
    }
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return { after: `it could not be deleted, delete it by hand: ${said}` };
  }
  const pods = await podsAfter(job, attempt, signal);
  return { after: pods.kind === 'quiet' ? 'it was deleted and its pods are gone' : pods.said, pods };
}

/** Deletes what the forward run created: the recorded Job, or, when none was recorded, those with the action's key. */
export async function undo(attempt: Attempt): Promise<AttemptResult> {
  const recorded = attempt.task.forward?.outputs?.jobRef;
  const jobs = recorded === undefined ? [] : [fromReference(recorded)];
  // Earlier rounds left Jobs of their own.
  if (recorded === undefined || (attempt.task.forward?.round ?? 0) > 0) {
    const found = await findJobs(attempt, 'forward');
    jobs.push(...found.filter(({ metadata }) => metadata.uid !== recorded?.uid));
  }
  if (jobs.length === 0) {
    return { kind: 'skipped', reason: 'NothingToUndo', message: 'the action has left no Job behind' };
  }
  const unconfirmed: Extract<PodsEnd, { kind: 'unconfirmed' }>[] = [];
  for (const job of jobs) {
    attempt.beforeEffect();
    const isDeleted = await deleteJob(attempt.kube, job, attempt.signal);
    const pods = isDeleted ? await podsAfter(job, attempt, attempt.signal) : undefined;
    if (pods?.kind === 'quiet') continue;
    if (pods?.kind === 'unconfirmed') {
      unconfirmed.push(pods);
      continue;
    }
    const message = pods?.said ?? `${show(job)} could not be deleted while the API did not answer`;
    return attempt.signal.reason === 'timeout'
      ? { kind: 'retry', reason: PODS_REMAIN, message, round: 'Unclear' }
      : { kind: 'interrupted', effect: 'Unknown', message };
  }
  const message = [`${jobs.map(show).join(', ')} deleted`, ...unconfirmed.map(({ said }) => said)].join('; ');
  const stopUnconfirmed = unconfirmed.flatMap(({ places }) => places);
  return {
    kind: 'succeeded',
    message,
    ...(stopUnconfirmed.length > 0 && { outputs: { stopUnconfirmed } }),
  };
}

/** Finds what an action has begun by its marks, stops it, and waits until it has stopped. */
export async function settle(attempt: Attempt): Promise<AttemptResult> {
  // Deleting what is to be deleted is the only end of an undo, and can be done again.
  if (attempt.task.direction === 'undo' && attempt.custom !== true) return undo(attempt);
  const jobs = await findJobs(attempt, attempt.task.direction);
  const newest = jobs.at(-1);
  const end = newest === undefined ? undefined : endOf(newest);
  if (newest !== undefined && end !== undefined) {
    const result = await conclude(newest, end, attempt.action.job?.ttlSecondsAfterFinished, attempt);
    return result.kind === 'retry' ? { ...result, kind: 'failed', effect: 'Done' } : result;
  }
  for (const job of jobs) {
    if (endOf(job) === undefined && !(await deleteJob(attempt.kube, job, attempt.signal))) {
      const message = `${show(job)} could not be deleted while the API did not answer`;
      return { kind: 'retry', reason: 'NotDeleted', message, round: 'Unclear', outputs: outputsOf(job) };
    }
  }
  const find = (signal: AbortSignal): Promise<Pod[]> => findPods(attempt, jobs, signal);
  const known = newest ?? (await formerJob(attempt, find));
  if (known === undefined) {
    const message = 'no Job of the action is there, nor a pod of one';
    return { kind: 'failed', reason: 'Interrupted', message, effect: 'Unknown' };
  }
  const pods = await waitFor(attempt, { job: known, find, signal: attempt.signal });
  const outputs = withPlaces(outputsOf(known), pods);
  if (pods.kind === 'waiting') {
    return { kind: 'retry', reason: PODS_REMAIN, message: pods.said, round: 'Unclear', outputs };
  }
  const message = pods.kind === 'quiet' ? `${show(known)} was deleted and its pods are gone` : pods.said;
  return { kind: 'failed', reason: 'Interrupted', message, outputs, effect: 'Unknown' };
}

/** The Job that is gone, as its pods, or an earlier attempt that saw them, name it. */
async function formerJob(
  attempt: Attempt,
  find: (signal: AbortSignal) => Promise<Pod[]>,
): Promise<Job | undefined> {
  const { job: block } = attempt.action;
  if (block === undefined) return undefined;
  let pods: Pod[];
  try {
    pods = await find(attempt.signal);
  } catch (error) {
    if (attempt.signal.aborted || isRetryable(error) || !(error instanceof KubeError)) throw error;
    // Nobody can tell whether there were any: what the action asks for tells how long they may take.
    const plan = planJob(block, attempt);
    return 'kind' in plan ? undefined : plan.job;
  }
  const namespace = namespaceOf(block, attempt);
  const owner = pods
    .flatMap(({ metadata }) => metadata.ownerReferences ?? [])
    .find(({ kind }) => kind === 'Job');
  if (owner !== undefined) return jobAt({ name: owner.name, namespace, uid: owner.uid });
  const { jobName: name, jobUid: uid } = attempt.remembered ?? {};
  if (typeof name !== 'string' || typeof uid !== 'string') return undefined;
  return jobAt({ name, namespace, uid });
}

/** Marks of the action, in all its rounds. */
function marksOf(attempt: Attempt, direction: 'forward' | 'undo'): { labelSelector: string; key: string } {
  const { run: identity, at } = attempt.task;
  // For an undo the marks are those of the run that made the Job.
  const uid = direction === attempt.task.direction ? identity.uid : (identity.target?.uid ?? identity.uid);
  return {
    labelSelector: `${LABELS.execution}=${uid},${LABELS.action}=${positionLabel(at)}`,
    key: attempt.key.replace(/\/(forward|undo)\/(\d+)$/, `/${direction}/$2`),
  };
}

/** Jobs of the action in all its rounds, oldest first. */
async function findJobs(attempt: Attempt, direction: 'forward' | 'undo'): Promise<Job[]> {
  const { job: block } = attempt.action;
  if (block === undefined) return [];
  const { labelSelector, key } = marksOf(attempt, direction);
  const { items } = await attempt.kube.list<Job>(
    { apiVersion: 'batch/v1', kind: 'Job' },
    { namespace: namespaceOf(block, attempt), labelSelector, signal: attempt.signal },
  );
  return items
    .filter((job) => isMarkedBy(job, key))
    .sort((a, b) => (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''));
}

/** Pods of the action in all its rounds; those of Jobs that an earlier release made have no marks. */
async function findPods(attempt: Attempt, jobs: readonly Job[], signal: AbortSignal): Promise<Pod[]> {
  const { job: block } = attempt.action;
  if (block === undefined) return [];
  const { labelSelector, key } = marksOf(attempt, attempt.task.direction);
  const { items } = await attempt.kube.list<Pod>(
    { apiVersion: 'v1', kind: 'Pod' },
    { namespace: namespaceOf(block, attempt), labelSelector, signal },
  );
  const others = await Promise.all(jobs.map((job) => podsOf(attempt.kube, job, signal)));
  const found = [...items.filter((pod) => isMarkedBy(pod, key)), ...others.flat()];
  return [...new Map(found.map((pod) => [pod.metadata.uid, pod])).values()];
}

const fromReference = ({ name, namespace, uid }: ObjectReference): Job =>
  jobAt({ name, namespace: namespace ?? 'default', uid });

const jobAt = ({ uid, ...named }: { name: string; namespace: string; uid?: string | undefined }): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { ...named, ...(uid !== undefined && { uid }) },
});
