import { ANNOTATIONS, LABELS } from '../../../api/core/group.js';
import { isAlreadyExists, isRetryable, KubeError } from '../../../kube/error.js';
import { hookId } from '../../core/clean-up.js';
import type {
  Attempt,
  AttemptResult,
  Handler,
  Leftover,
  Writes,
  WritingHandler,
} from '../../core/handler.js';
import { mustStop } from '../../core/handler.js';
import { conclude, outputsOf, show } from './job-conclude.js';
import { jobsOfPods } from './job-find.js';
import { endOf, keyOfJob } from './job-state.js';
import type { Job } from './job-state.js';
import { podsAfter, settle, stop, undo, withPlaces } from './job-stop.js';
import { namespaceOf, planJob } from './job-template.js';
import type { JobPlan } from './job-template.js';
import { tellTrouble, waitForJob } from './job-wait.js';
import { fromKubeError } from '../../core/kube-errors.js';
import { validationOf } from '../objects/object-effect.js';
import { aboutObject } from '../objects/object-errors.js';

/** Longest wait for the answer to a create. */
const CREATE_MS = 15_000;

/** Runs Jobs to their end. */
export const jobHandler: WritingHandler & Required<Pick<Handler, 'leftovers'>> = {
  run,
  undo,
  settle,
  leftovers,
  writes,
};

const NO_BLOCK = { reason: 'InvalidAction', message: 'the action has no block "job"' };

async function writes(attempt: Attempt): Promise<Writes> {
  const { job: block } = attempt.action;
  if (block === undefined) return { ok: false, ...NO_BLOCK };
  const plan = planJob(block, attempt);
  if ('kind' in plan) return { ok: false, reason: plan.reason, message: plan.message };
  const refused = attempt.policy.refuseObject(plan.job, 'Create');
  if (refused !== undefined) return { ok: false, reason: 'PolicyRefused', message: refused };
  const warning = await warnOfHiddenPods(plan.job.metadata.namespace, attempt);
  return {
    ok: true,
    tasks: [{ operation: 'Create', object: plan.job }],
    ...(warning !== undefined && { warning }),
  };
}

/** If a Job's pods cannot be seen, nobody can tell whether it has stopped. */
async function warnOfHiddenPods(
  namespace: string,
  { kube, identity, signal }: Attempt,
): Promise<string | undefined> {
  try {
    await kube.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace, limit: 1, signal });
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 403) return undefined;
    return `${identity} may not list pods in namespace ${namespace}: after a timeout or a cancel nobody can see whether the Job's pods have stopped, so the action waits for their grace period and ends with StopUnconfirmed, and no message says why a pod does not run; grant it get and list on pods, and get on pods/log`;
  }
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
  const made = await createOrAdopt(plan, attempt);
  if ('kind' in made) return made;
  const { job } = made;
  attempt.remember({ jobUid: job.metadata.uid ?? '' });

  const outputs = outputsOf(job);
  const waiting = new AbortController();
  const endWaiting = (): void => waiting.abort();
  attempt.signal.addEventListener('abort', endWaiting, { once: true });
  void tellTrouble(attempt.kube, job, { say: (message) => attempt.say(message), signal: waiting.signal });
  const waited = await waitForJob(attempt.kube, job, attempt.signal).finally(() => {
    attempt.signal.removeEventListener('abort', endWaiting);
    endWaiting();
  });
  switch (waited.kind) {
    case 'ended':
      return conclude(waited.job, waited.end, plan.ttlSeconds, attempt);
    case 'gone':
      return disappeared(job, attempt, plan.ttlSeconds);
    case 'aborted':
      if (!mustStop(attempt.signal)) return { kind: 'interrupted', outputs, effect: 'Unknown' };
      return stop(job, attempt, plan.ttlSeconds);
  }
}

type Ended = Exclude<AttemptResult, { kind: 'skipped' }>;

/** Jobs of the same hook that earlier runs, or rounds, have left; of some only pods are left. */
async function leftovers(attempt: Attempt): Promise<Leftover[]> {
  const { job: block } = attempt.action;
  if (block === undefined) return [];
  const labelSelector = `${LABELS.hook}=${hookId(attempt.task)}`;
  const { items } = await attempt.kube.list<Job>(
    { apiVersion: 'batch/v1', kind: 'Job' },
    { namespace: namespaceOf(block, attempt), labelSelector, signal: attempt.signal },
  );
  const orphaned = await jobsOfPods(attempt, labelSelector);
  const known = new Set(items.map(({ metadata }) => metadata.uid));
  return [...items, ...orphaned.filter(({ metadata }) => !known.has(metadata.uid))].map((job) => ({
    key: keyOfJob(job),
    uid: job.metadata.uid,
    ...(endOf(job) === undefined && {
      outlived: () =>
        podsAfter(job, attempt, {
          cause: { kind: 'displaced' },
          isGone: !known.has(job.metadata.uid),
          signal: attempt.signal,
        }),
    }),
  }));
}

async function createOrAdopt(
  { job: wanted, ttlSeconds }: JobPlan,
  attempt: Attempt,
): Promise<{ job: Job } | Ended> {
  const { kube, signal } = attempt;
  const shown = show(wanted);
  if (attempt.remembered !== undefined) {
    // Created by an earlier attempt of this round: to create it again would run it twice.
    const known = await kube.get<Job>(keyOfJob(wanted), { signal });
    const { jobUid, completed } = attempt.remembered;
    if (known !== undefined && known.metadata.uid === jobUid) return { job: known };
    const former: Job = { ...wanted, metadata: { ...wanted.metadata, uid: String(jobUid) } };
    return completed === true
      ? { kind: 'succeeded', outputs: outputsOf(former), message: `${shown} completed` }
      : disappeared(former, attempt, ttlSeconds);
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

/** The Job is gone, but its work ends only with its pods. */
async function disappeared(job: Job, attempt: Attempt, ttlSeconds: number | undefined): Promise<Ended> {
  const pods = await podsAfter(job, attempt, {
    cause: { kind: 'disappeared' },
    isGone: true,
    signal: attempt.signal,
  });
  if (pods.kind === 'waiting') {
    if (mustStop(attempt.signal)) return stop(job, attempt, ttlSeconds);
    return { kind: 'interrupted', outputs: outputsOf(job), effect: 'Unknown' };
  }
  const after = pods.kind === 'quiet' ? '' : `; ${pods.said}`;
  return {
    kind: 'failed',
    reason: 'JobDisappeared',
    message: `${show(job)} was deleted before it had ended, by somebody else or by a time limit; how far it got is not known${after}`,
    outputs: withPlaces(outputsOf(job), pods),
    effect: 'Unknown',
  };
}
