/** What a Job that has ended has come to, and its TTL. */
import type { ActionOutputs } from '../../../api/plan/types.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { endOf, explainPods, keyOfJob } from './job-state.js';
import type { Job, JobEnd } from './job-state.js';

/** Time that the result has to be recorded before a TTL may remove the Job. */
const MIN_TTL_SECONDS = 60;

type Concluded = Extract<AttemptResult, { kind: 'succeeded' | 'failed' | 'retry' }>;

/** The outputs of an action that ran this Job. */
export function outputsOf(job: Job): ActionOutputs {
  const { uid } = job.metadata;
  return { jobRef: { ...keyOfJob(job), ...(uid !== undefined && { uid }) } };
}

/** A Job in messages. */
export const show = (job: Job): string => `Job ${job.metadata.namespace ?? 'default'}/${job.metadata.name}`;

/** The result of an attempt whose Job has ended. */
export async function conclude(
  job: Job,
  end: JobEnd,
  ttlSeconds: number | undefined,
  attempt: Attempt,
): Promise<Concluded> {
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
  const since = Number.isNaN(ended) ? 0 : Math.ceil((attempt.kube.now() - ended) / 1000);
  const ttl = Math.max(ttlSeconds, since + MIN_TTL_SECONDS);
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
