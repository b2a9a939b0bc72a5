import { formatDuration } from '../api/duration.js';
import { ANNOTATIONS, LABELS } from '../api/group.js';
import { positionLabel } from '../api/naming.js';
import type { ActionOutputs, ObjectReference } from '../api/types.js';
import { isAlreadyExists, isRetryable, KubeError } from '../kube/error.js';
import { boundedSignal } from './bounded-signal.js';
import { hookId } from './clean-up.js';
import type { Leftover } from './clean-up.js';
import { mustStop } from './handler.js';
import type { Attempt, AttemptResult, Handler, Writes } from './handler.js';
import { endOf, explainPods, keyOfJob } from './job-state.js';
import type { Job, JobEnd } from './job-state.js';
import { namespaceOf, planJob } from './job-template.js';
import { stopJob, waitForJob } from './job-wait.js';
import type { Stopped } from './job-wait.js';
import { fromKubeError } from './kube-errors.js';
import { isMarkedBy } from './marks.js';
import { validationOf } from './object-effect.js';
import { aboutObject } from './object-errors.js';

/** Longest wait for the answer to a create. */
const CREATE_MS = 15_000;
/** Longest wait for the pods of a Job that is stopped; the server grants an attempt 30 s beyond its timeout. */
const STOP_MS = 25_000;
/** Longest wait for the pods of a Job that is undone (plan semantics, §5 Bounds). */
const UNDO_MS = 120_000;
/** Time that the result has to be recorded before a TTL may remove the Job. */
const LEAST_TTL_SECONDS = 60;

/** Runs Jobs to their end. */
export const jobHandler: Handler = { run, undo, settle, leftovers, writes };

const NO_BLOCK = { reason: 'InvalidAction', message: 'the action has no block "job"' };

function writes(attempt: Attempt): Promise<Writes> {
  const { job: block } = attempt.action;
  if (block === undefined) return Promise.resolve({ ok: false, ...NO_BLOCK });
  const plan = planJob(block, attempt);
  if ('kind' in plan) return Promise.resolve({ ok: false, reason: plan.reason, message: plan.message });
  const refused = attempt.policy.refuseObject(plan.job, 'Create');
  return Promise.resolve(
    refused === undefined
      ? { ok: true, tasks: [{ operation: 'Create', object: plan.job }] }
      : { ok: false, reason: 'PolicyRefused', message: refused },
  );
}

async function run(attempt: Attempt): Promise<AttemptResult> {
  const { job: block } = attempt.action;
  if (block === undefined) {
    return { kind: 'failed', ...NO_BLOCK, effect: 'None' };
  }
  const plan = planJob(block, attempt);
  if ('kind' in plan) return plan;
  const refused = attempt.policy.refuseObject(plan.job, 'Create');
  if (refused !== undefined)
    return { kind: 'failed', reason: 'PolicyRefused', message: refused, effect: 'None' };
  const made = await createOrAdopt(plan.job, attempt);
  if ('kind' in made) return made;
  const { job } = made;
  attempt.remember({ jobUid: job.metadata.uid ?? '' });

  const outputs = outputsOf(job);
  const shown = show(job);
  const waited = await waitForJob(attempt.kube, job, attempt.signal);
  switch (waited.kind) {
    case 'ended':
      return conclude(waited.job, waited.end, plan.ttlSeconds, attempt);
    case 'gone':
      return disappeared(shown, outputs);
    case 'aborted':
      if (!mustStop(attempt.signal)) return { kind: 'interrupted', outputs, effect: 'Unknown' };
      return stop(job, attempt, plan.ttlSeconds);
  }
}

type Ended = Exclude<AttemptResult, { kind: 'skipped' }>;

/** Jobs of the same hook that earlier runs, or rounds, have left. */
async function leftovers(attempt: Attempt): Promise<Leftover[]> {
  const { job: block } = attempt.action;
  if (block === undefined) return [];
  const { items } = await attempt.kube.list<Job>(
    { apiVersion: 'batch/v1', kind: 'Job' },
    {
      namespace: namespaceOf(block, attempt),
      labelSelector: `${LABELS.hook}=${hookId(attempt.task)}`,
      signal: attempt.signal,
    },
  );
  return items.map((job) => ({ key: keyOfJob(job), uid: job.metadata.uid }));
}

async function createOrAdopt(wanted: Job, attempt: Attempt): Promise<{ job: Job } | Ended> {
  const { kube, signal } = attempt;
  const shown = show(wanted);
  if (attempt.remembered !== undefined) {
    // Created by an earlier attempt of this round: to create it again would run it twice.
    const known = await kube.get<Job>(keyOfJob(wanted), { signal });
    const { jobUid, completed } = attempt.remembered;
    if (known !== undefined && known.metadata.uid === jobUid) return { job: known };
    const outputs = { jobRef: { ...keyOfJob(wanted), uid: String(jobUid) } };
    return completed === true
      ? { kind: 'succeeded', outputs, message: `${shown} completed` }
      : disappeared(shown, outputs);
  }
  attempt.beforeEffect();
  try {
    // Not cut short by a cancel: a Job that may or may not have been created could not be stopped.
    const fieldValidation = validationOf({}, attempt.task.direction);
    return { job: await kube.create<Job>(wanted, { timeoutMs: CREATE_MS, fieldValidation }) };
  } catch (error) {
    if (!isAlreadyExists(error)) {
      if (!(error instanceof KubeError) || isRetryable(error)) throw error;
      return fromKubeError(aboutObject(error, wanted), { identity: attempt.identity, effect: 'None' });
    }
  }
  const found = await kube.get<Job>(keyOfJob(wanted), { signal });
  if (found === undefined) {
    return {
      kind: 'retry',
      reason: 'Conflict',
      message: `${shown} was there and is gone again`,
      round: 'Unclear',
    };
  }
  if (found.metadata.annotations?.[ANNOTATIONS.key] === attempt.key) return { job: found };
  return {
    kind: 'failed',
    reason: 'NotOurs',
    message: `${shown} exists already and was not made by this action; delete or rename it`,
    effect: 'None',
  };
}

async function conclude(
  job: Job,
  end: JobEnd,
  ttlSeconds: number | undefined,
  attempt: Attempt,
): Promise<AttemptResult> {
  const outputs = outputsOf(job);
  const shown = show(job);
  if (end.kind === 'complete') {
    await setTtl(job, ttlSeconds, attempt);
    return { kind: 'succeeded', outputs, message: `${shown} completed` };
  }
  const pods = await explainPods(attempt.kube, job);
  await setTtl(job, ttlSeconds, attempt);
  const why = [`${end.reason}${end.message === '' ? '' : ` (${end.message})`}`, pods].filter(
    (part) => part !== '',
  );
  const failure = {
    reason: 'JobFailed',
    message: `${shown} failed: ${why.join('; ')}`,
    outputs,
    effect: 'Done',
  } as const;
  return attempt.task.retry?.rerunJob === true
    ? { kind: 'retry', ...failure, round: 'Settled' }
    : { kind: 'failed', ...failure };
}

/** The Job got a long TTL while it ran, so that its result could not get lost; now it gets the one that was asked for. */
async function setTtl(job: Job, ttlSeconds: number | undefined, attempt: Attempt): Promise<void> {
  if (ttlSeconds === undefined) return;
  attempt.remember({ jobUid: job.metadata.uid ?? '', completed: endOf(job)?.kind === 'complete' });
  const ended = Date.parse(endTime(job) ?? '');
  const since = Number.isNaN(ended) ? 0 : Math.ceil((Date.now() - ended) / 1000);
  const ttl = Math.max(ttlSeconds, since + LEAST_TTL_SECONDS);
  try {
    await attempt.kube.patch(
      keyOfJob(job),
      { spec: { ttlSecondsAfterFinished: ttl } },
      { kind: 'merge', timeoutMs: 5000 },
    );
  } catch (error) {
    attempt.log.warn(
      { err: error, job: keyOfJob(job) },
      'ttlSecondsAfterFinished could not be set; the Job stays a day',
    );
  }
}

function endTime(job: Job): string | undefined {
  const conditions = (job.status?.conditions ?? []) as { type: string; lastTransitionTime?: string }[];
  return conditions.find(({ type }) => type === 'Complete' || type === 'Failed')?.lastTransitionTime;
}

/** Ends a Job because of a cancel or a timeout. A Job that has completed in the meantime counts as completed. */
async function stop(job: Job, attempt: Attempt, ttlSeconds: number | undefined): Promise<AttemptResult> {
  const signal = AbortSignal.timeout(STOP_MS);
  const outputs = outputsOf(job);
  const shown = show(job);
  const now = await attempt.kube.get<Job>(keyOfJob(job), { signal }).catch(() => undefined);
  const end = now?.metadata.uid === job.metadata.uid && now !== undefined ? endOf(now) : undefined;
  if (now !== undefined && end?.kind === 'complete') return conclude(now, end, ttlSeconds, attempt);

  const timedOut = attempt.signal.reason === 'timeout';
  const pods = timedOut ? await explainPods(attempt.kube, job) : '';
  let stopped: Stopped;
  let after: string;
  try {
    stopped = await stopJob(attempt.kube, job, signal);
    after = AFTER_STOP[stopped];
  } catch (error) {
    stopped = 'not-deleted';
    after = `it could not be deleted, delete it by hand: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (!timedOut) {
    return {
      kind: 'interrupted',
      outputs,
      effect: 'Unknown',
      message: `${shown}: ${after}`,
      unsettled: stopped === 'not-deleted',
    };
  }
  const seen = pods === '' ? '' : ` (${pods})`;
  return {
    kind: 'failed',
    reason: 'Timeout',
    message: `${shown} did not end within ${formatDuration(attempt.task.timeoutMs)}${seen}; ${after}`,
    outputs,
    effect: 'Unknown',
  };
}

const AFTER_STOP: Record<Stopped, string> = {
  quiet: 'it was deleted and its pods are gone',
  deleted: 'it was deleted, but pods of it may still be running',
  'not-deleted': 'it could not be deleted while the API did not answer; delete it by hand',
};

function disappeared(shown: string, outputs: ActionOutputs): Extract<AttemptResult, { kind: 'failed' }> {
  return {
    kind: 'failed',
    reason: 'JobDisappeared',
    message: `${shown} was deleted before it had ended, by somebody else or by a time limit; how far it got is not known`,
    outputs,
    effect: 'Unknown',
  };
}

/** Deletes what the forward run created: the recorded Job, or, when none was recorded, those with the action's key. */
async function undo(attempt: Attempt): Promise<AttemptResult> {
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
  const bound = boundedSignal(attempt.signal, UNDO_MS);
  for (const job of jobs) {
    attempt.beforeEffect();
    if ((await stopJob(attempt.kube, job, bound)) === 'quiet') continue;
    if (attempt.signal.aborted)
      return { kind: 'interrupted', effect: 'Unknown', message: `${show(job)} is being deleted` };
    return {
      kind: 'retry',
      reason: 'PodsRemain',
      message: `${show(job)} was deleted, but its pods are still there after ${formatDuration(UNDO_MS)}, or cannot be listed`,
      round: 'Unclear',
    };
  }
  return { kind: 'succeeded', message: `${jobs.map(show).join(', ')} deleted` };
}

async function settle(attempt: Attempt): Promise<AttemptResult> {
  // Deleting what is to be deleted is the only end of an undo, and can be done again.
  if (attempt.task.direction === 'undo' && attempt.custom !== true) return undo(attempt);
  const jobs = await findJobs(attempt, attempt.task.direction);
  const signal = boundedSignal(attempt.signal, STOP_MS);
  const newest = jobs.at(-1);
  if (newest === undefined) {
    return {
      kind: 'failed',
      reason: 'Interrupted',
      message: 'no Job of the action is there',
      effect: 'Unknown',
    };
  }
  const end = endOf(newest);
  if (end !== undefined) {
    const result = await conclude(newest, end, attempt.action.job?.ttlSecondsAfterFinished, attempt);
    return result.kind === 'retry' ? { ...result, kind: 'failed', effect: 'Done' } : result;
  }
  const outputs = outputsOf(newest);
  for (const job of jobs) {
    if (endOf(job) === undefined && (await stopJob(attempt.kube, job, signal)) !== 'quiet') {
      return {
        kind: 'retry',
        reason: 'PodsRemain',
        message: `${show(job)} was deleted, but its pods are still there`,
        round: 'Unclear',
        outputs,
      };
    }
  }
  return {
    kind: 'failed',
    reason: 'Interrupted',
    message: `${show(newest)} was deleted and its pods are gone`,
    outputs,
    effect: 'Unknown',
  };
}

/** Jobs of the action in all its rounds, oldest first. */
async function findJobs(attempt: Attempt, direction: 'forward' | 'undo'): Promise<Job[]> {
  const { run: identity, at } = attempt.task;
  const { job: block } = attempt.action;
  if (block === undefined) return [];
  // For an undo the marks are those of the run that made the Job.
  const uid = direction === attempt.task.direction ? identity.uid : (identity.target?.uid ?? identity.uid);
  const { items } = await attempt.kube.list<Job>(
    { apiVersion: 'batch/v1', kind: 'Job' },
    {
      namespace: namespaceOf(block, attempt),
      labelSelector: `${LABELS.execution}=${uid},${LABELS.action}=${positionLabel(at)}`,
      signal: attempt.signal,
    },
  );
  const key = attempt.key.replace(/\/(forward|undo)\/(\d+)$/, `/${direction}/$2`);
  return items
    .filter((job) => isMarkedBy(job, key))
    .sort((a, b) => (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''));
}

function outputsOf(job: Job): ActionOutputs {
  const { uid } = job.metadata;
  return { jobRef: { ...keyOfJob(job), ...(uid !== undefined && { uid }) } };
}

const fromReference = ({ name, namespace, uid }: ObjectReference): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, namespace: namespace ?? 'default', ...(uid !== undefined && { uid }) },
});

const show = (job: Job): string => `Job ${job.metadata.namespace ?? 'default'}/${job.metadata.name}`;
