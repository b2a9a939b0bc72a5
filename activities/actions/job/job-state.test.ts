import { describe, expect, it } from 'vitest';
import type { KubeClient } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import { explainPods, isLive, podsOf, troubleOf } from './job-state.js';
import type { Job, Pod } from './job-state.js';

const job: Job = { metadata: { name: 'j', namespace: 'shop', uid: 'u' } };
const podOf = (status: Pod['status']): Pod => ({
  metadata: { name: 'j-1', namespace: 'shop' },
  status: status ?? {},
});

/** An API with these pods, or one that refuses to list them: what a kubelet says cannot be had from a fake node. */
const api = (pods: Pod[] | KubeError): KubeClient =>
  ({
    list: () => (pods instanceof KubeError ? Promise.reject(pods) : Promise.resolve({ items: pods })),
    text: () => Promise.resolve(''),
  }) as unknown as KubeClient;

const waiting = (reason: string, message?: string) => ({
  name: 'c',
  state: { waiting: { reason, ...(message !== undefined && { message }) } },
});

describe('what keeps the pods of a Job from running [F13] [S3.28]', () => {
  it.each<[string, Pod['status'], string]>([
    [
      'the scheduler',
      {
        phase: 'Pending',
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'Unschedulable',
            message: '0/3 nodes are available',
          },
        ],
      },
      'pod j-1 is not scheduled (Unschedulable: 0/3 nodes are available)',
    ],
    [
      'the kubelet, of an image',
      { phase: 'Pending', containerStatuses: [waiting('ErrImagePull', 'no such host')] },
      'pod j-1, container c waits: ErrImagePull: no such host',
    ],
    [
      'the kubelet, of an init container',
      {
        phase: 'Pending',
        initContainerStatuses: [waiting('CrashLoopBackOff')],
        containerStatuses: [waiting('PodInitializing')],
      },
      'pod j-1, container c waits: CrashLoopBackOff',
    ],
  ])('is said by %s, while it waits and when it ends', async (_who, status, said) => {
    const kube = api([podOf({ phase: 'Succeeded' }), podOf(status)]);
    expect(await troubleOf(kube, job)).toBe(said);
    expect(await explainPods(api([podOf(status)]), job)).toBe(said);
  });

  it('is nothing while a pod starts, and where pods may not be listed', async () => {
    const starting = podOf({ phase: 'Pending', containerStatuses: [waiting('ContainerCreating')] });
    expect(await troubleOf(api([starting]), job)).toBe('');
    const forbidden = new KubeError('no', { code: 403, reason: 'Forbidden' });
    expect(await troubleOf(api(forbidden), job)).toBe('');
  });
});

it('[F9] sees a pod that runs behind a hundred that have ended', async () => {
  const pods = [
    ...Array.from({ length: 100 }, () => podOf({ phase: 'Succeeded' })),
    podOf({ phase: 'Running' }),
  ];
  const kube = {
    list: (_type: unknown, { limit = Infinity }: { limit?: number }) =>
      Promise.resolve({ items: pods.slice(0, limit) }),
  } as unknown as KubeClient;
  const found = await podsOf(kube, job, { signal: AbortSignal.timeout(1000) });
  expect(found.filter(isLive)).toHaveLength(1);
});
