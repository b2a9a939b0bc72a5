import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../../api/core/backoff.js';
import type { KubeClient } from '../../../kube/client.js';
import { isRetryable, KubeError } from '../../../kube/error.js';
import { isExpired, listAndWatch } from '../../../kube/list-and-watch.js';
import { endOf, keyOfJob, troubleOf } from './job-state.js';
import type { Job, JobEnd } from './job-state.js';

/** Wait before the API is asked again after it failed. */
const RETRY_MS = 1000;

/** How the wait for a Job ended. */
export type Waited = { kind: 'ended'; job: Job; end: JobEnd } | { kind: 'gone' } | { kind: 'aborted' };

/**
 * Waits until a Job has ended, by watch. Goes on through outages of the API for as long as the attempt lasts.
 *
 * @throws KubeError that is not retryable, such as a right that is missing
 */
export async function waitForJob(kube: KubeClient, created: Job, signal: AbortSignal): Promise<Waited> {
  const key = keyOfJob(created);
  const { apiVersion, kind, namespace, name } = key;
  const isOurs = (job: Pick<Job, 'metadata'>): boolean => job.metadata.uid === created.metadata.uid;
  const ended = (job: Job): Waited | undefined => {
    const end = endOf(job);
    return end === undefined ? undefined : { kind: 'ended', job, end };
  };
  const known = ended(created);
  if (known !== undefined) return known;
  const steps = listAndWatch({
    known: created.metadata.resourceVersion ?? '0',
    // Who may watch a Job by its name need not have the right to list Jobs.
    read: async () => {
      const job = await kube.get<Job>(key, { signal });
      return { job, version: job?.metadata.resourceVersion ?? '0' };
    },
    watch: (version) =>
      kube.watch<Job>(
        { apiVersion, kind },
        { namespace, fieldSelector: `metadata.name=${name}`, resourceVersion: version, signal },
      ),
    // A token is renewed while the wait goes on.
    goesOn: (error) =>
      isRetryable(error) || isExpired(error) || (error instanceof KubeError && error.code === 401),
    backoff: { minMs: RETRY_MS, maxMs: RETRY_MS },
    signal,
  });
  for await (const step of steps) {
    if (step.kind === 'failed') continue;
    if (step.kind === 'read') {
      const { job } = step.state;
      if (job === undefined || !isOurs(job)) return { kind: 'gone' };
      const found = ended(job);
      if (found !== undefined) return found;
      continue;
    }
    const { event } = step;
    if (event.type === 'BOOKMARK' || !isOurs(event.object)) continue;
    // A Job that its TTL removes has ended before; its last state shows how.
    const found = ended(event.object);
    if (found !== undefined) return found;
    if (event.type === 'DELETED') return { kind: 'gone' };
  }
  return { kind: 'aborted' };
}

/** The pauses between two looks at a Job that does not run. */
const TROUBLE_PAUSES = { minMs: 3_000, maxMs: 30_000 };

/**
 * Reports, while a Job does not run, what keeps it from running. Ends when the signal is aborted. Pods are looked at
 * only while some are not ready.
 */
export async function tellTrouble(
  kube: KubeClient,
  created: Job,
  { say, signal }: { say: (message: string) => void; signal: AbortSignal },
): Promise<void> {
  const shown = `Job ${created.metadata.namespace ?? 'default'}/${created.metadata.name}`;
  for (let looks = 1; ; looks += 1) {
    await pause(backoffMs(TROUBLE_PAUSES, looks), signal);
    if (signal.aborted) return;
    const job = await kube.get<Job>(keyOfJob(created), { signal }).catch(() => undefined);
    if (job === undefined) continue;
    if (job.spec?.suspend === true) say(`${shown} waits: ${SUSPENDED}`);
    else if ((job.status?.ready ?? 0) < (job.status?.active ?? 0)) {
      const trouble = await troubleOf(kube, job);
      if (trouble !== '' && !signal.aborted) say(`${shown} waits: ${trouble}`);
    }
  }
}

/** What is said of a Job that somebody has suspended. */
export const SUSPENDED = 'somebody has suspended it (spec.suspend is true); it goes on once that is false';

/** How a delete of a Job ended: `gone`, it was not there any more; `unanswered`, the signal was aborted before. */
export type JobDeletion = 'deleted' | 'gone' | 'unanswered';

/**
 * Deletes this very Job in the background. Goes on until `signal` is aborted.
 *
 * @throws KubeError when the delete is refused
 */
export async function deleteJob(kube: KubeClient, job: Job, signal: AbortSignal): Promise<JobDeletion> {
  const { uid } = job.metadata;
  // A delete without an answer may have taken effect.
  let absent: JobDeletion = 'gone';
  while (!signal.aborted) {
    try {
      const existed = await kube.delete(keyOfJob(job), {
        ...(uid !== undefined && { uid }),
        propagationPolicy: 'Background',
        signal,
      });
      return existed ? 'deleted' : absent;
    } catch (error) {
      if (signal.aborted) break;
      // Another object has that name by now, so ours is gone.
      if (error instanceof KubeError && error.code === 409) return absent;
      if (!isRetryable(error)) throw error;
      absent = 'deleted';
      await pause(RETRY_MS, signal);
    }
  }
  return 'unanswered';
}

const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  sleep(milliseconds, undefined, { signal }).catch(() => undefined);
