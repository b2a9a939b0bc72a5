import type { KubeClient } from '../../../kube/client.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import { printable } from '../../core/text.js';

/** A Job as far as it is read. */
export interface Job extends KubeObject {
  spec?: { suspend?: boolean; template?: { spec?: unknown } };
  status?: {
    active?: number;
    ready?: number;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
  };
}

/** Names a Job. */
export function keyOfJob(job: Job): ObjectKey & { namespace: string } {
  const { name, namespace } = job.metadata;
  return { apiVersion: 'batch/v1', kind: 'Job', namespace: namespace ?? 'default', name };
}

/** How a Job ended. */
export type JobEnd = { kind: 'complete' } | { kind: 'failed'; reason: string; message: string };

/** Whether a Job has ended, by `Complete` and `Failed`: the conditions that the server sets before them are no end. */
export function endOf(job: Job): JobEnd | undefined {
  for (const condition of job.status?.conditions ?? []) {
    if (condition.status !== 'True') continue;
    if (condition.type === 'Complete') return { kind: 'complete' };
    if (condition.type === 'Failed') {
      return { kind: 'failed', reason: condition.reason ?? 'Failed', message: condition.message ?? '' };
    }
  }
  return undefined;
}

/** A pod as far as it is read. */
export interface Pod extends KubeObject {
  spec?: { nodeName?: string; terminationGracePeriodSeconds?: number };
  status?: {
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    phase?: string;
    reason?: string;
    message?: string;
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

interface ContainerStatus {
  name: string;
  state?: {
    terminated?: { exitCode?: number; reason?: string; message?: string };
    waiting?: { reason?: string; message?: string };
  };
}

const LOG_LINES = 10;
const LOG_BYTES = 2000;
const LOOK_MS = 3000;

/** Enough pods to say what is wrong with a Job. */
const SAMPLE = 100;

/**
 * Pods that belong to a Job.
 *
 * @param options.limit most pods to return; all by default, as some of them cannot show whether a Job has stopped
 */
export async function podsOf(
  kube: KubeClient,
  job: Job,
  { signal, limit }: { signal: AbortSignal; limit?: number },
): Promise<Pod[]> {
  const { items } = await kube.list<Pod>(
    { apiVersion: 'v1', kind: 'Pod' },
    {
      namespace: job.metadata.namespace ?? '',
      labelSelector: `batch.kubernetes.io/controller-uid=${job.metadata.uid}`,
      ...(limit !== undefined && { limit }),
      signal,
    },
  );
  return items;
}

/**
 * Why a Job's pods failed, in one line, with the last lines of their log: best effort, at most a few seconds, empty when
 * nothing can be learnt.
 */
export async function explainPods(kube: KubeClient, job: Job): Promise<string> {
  const signal = AbortSignal.timeout(LOOK_MS);
  try {
    const pods = await podsOf(kube, job, { signal, limit: SAMPLE });
    const newestFirst = pods.sort((a, b) =>
      (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''),
    );
    const pod = newestFirst.find(({ status }) => status?.phase === 'Failed') ?? newestFirst[0];
    if (pod === undefined) return '';
    const { said, container } = describePod(pod);
    const log = container === undefined ? '' : await lastLines(kube, pod, container, signal);
    return `${said}${log === '' ? '' : `; last log lines: ${log}`}`;
  } catch {
    return '';
  }
}

/** Whether a pod may still do something. One that is terminal may stay for a while after its Job. */
export const isLive = ({ status }: Pod): boolean =>
  status?.phase !== 'Succeeded' && status?.phase !== 'Failed';

/** States of waiting that containers leave by themselves. */
const ORDINARY = new Set(['ContainerCreating', 'PodInitializing']);

/**
 * What keeps the pods of a Job from running, in the scheduler's and the kubelet's own words; empty when nothing is
 * known. Best effort.
 */
export async function troubleOf(kube: KubeClient, job: Job): Promise<string> {
  try {
    const pods = (await podsOf(kube, job, { signal: AbortSignal.timeout(LOOK_MS), limit: SAMPLE })).filter(
      isLive,
    );
    const told = pods.map((pod) => waitingOf(pod)).find((said) => said !== undefined);
    return told ?? '';
  } catch {
    return '';
  }
}

/** What a pod waits for that it does not go through by itself. */
function waitingOf({ metadata, status }: Pod): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') {
    const why = [scheduled.reason, scheduled.message].filter(Boolean).join(': ');
    return `pod ${metadata.name} is not scheduled${why === '' ? '' : ` (${why})`}`;
  }
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  for (const { name, state } of containers) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || ORDINARY.has(reason)) continue;
    return `pod ${metadata.name}, container ${name} waits: ${[reason, message].filter(Boolean).join(': ')}`;
  }
  return undefined;
}

function describePod(pod: Pod): { said: string; container?: string } {
  const { status } = pod;
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const failed = containers.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  if (failed?.state?.terminated !== undefined) {
    const { exitCode, reason, message } = failed.state.terminated;
    const why = [reason, message?.trim()].filter(Boolean).join(': ');
    return {
      said: `pod ${pod.metadata.name}, container ${failed.name} exited ${exitCode}${why === '' ? '' : ` (${why})`}`,
      container: failed.name,
    };
  }
  const waiting = containers.find(({ state }) => state?.waiting?.reason !== undefined);
  if (waiting?.state?.waiting !== undefined) {
    const { reason, message } = waiting.state.waiting;
    return {
      said: `pod ${pod.metadata.name}, container ${waiting.name} waits: ${[reason, message].filter(Boolean).join(': ')}`,
    };
  }
  const trouble = waitingOf(pod);
  if (trouble !== undefined) return { said: trouble };
  const why =
    [status?.reason, status?.message].filter(Boolean).join(': ') || (status?.phase ?? 'in an unknown phase');
  return { said: `pod ${pod.metadata.name}: ${why}` };
}

async function lastLines(
  kube: KubeClient,
  pod: Pod,
  container: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    const { namespace, name } = pod.metadata;
    const text = await kube.text(
      {
        method: 'GET',
        path: `/api/v1/namespaces/${encodeURIComponent(namespace ?? '')}/pods/${encodeURIComponent(name)}/log`,
        query: { container, tailLines: LOG_LINES, limitBytes: LOG_BYTES },
        headers: { accept: 'text/plain, */*' },
        signal,
      },
      LOG_BYTES,
    );
    return text
      .split('\n')
      .map(printable)
      .filter((line) => line !== '')
      .join(' | ');
  } catch {
    return '';
  }
}
