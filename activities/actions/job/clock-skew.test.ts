/** What an API server whose clock is not the worker's has written: bounds hold by the server's clock. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ANNOTATIONS } from '../../../api/core/group.js';
import { createEndpointClient } from '../../../kube/client.js';
import type { KubeClient } from '../../../kube/client.js';
import type { KubeObject } from '../../../kube/object.js';
import type { SettleCause } from '../../../workflows/plan/contract-tasks.js';
import type { Attempt } from '../../core/handler.js';
import { jobHandler } from './job.js';
import { deleteObject } from '../../core/object-delete.js';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const KINDS: Record<string, object> = {
  '/api/v1': { resources: [{ name: 'pods', kind: 'Pod', namespaced: true }] },
  '/apis/batch/v1': { resources: [{ name: 'jobs', kind: 'Job', namespaced: true }] },
};

/** An API server that keeps these pods and no Job, and whose clock is so far ahead of this machine's. */
async function serve(aheadMs: number, pods: (now: number) => KubeObject[]): Promise<KubeClient> {
  const now = (): number => Date.now() + aheadMs;
  const items = pods(now());
  const server = createServer(({ url = '' }, response) => {
    response.setHeader('date', new Date(now()).toUTCString());
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const named = items.find(({ metadata }) => pathname.endsWith(`/pods/${metadata.name}`));
    const list = { metadata: { resourceVersion: '1' }, items: pathname.endsWith('/pods') ? items : [] };
    // Nothing changes: a watch hears nothing.
    if (searchParams.get('watch') === 'true') response.flushHeaders();
    else response.end(JSON.stringify(KINDS[pathname] ?? named ?? list));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return createEndpointClient({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authenticate: () => Promise.resolve({ headers: {}, dispatcher: undefined }),
  });
}

const KEY = 'u/0/0/0/forward/0';
const terminating =
  (secondsAgo: number) =>
  (now: number): KubeObject[] => [
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'a',
        namespace: 'shop',
        uid: 'pod',
        deletionTimestamp: new Date(now - secondsAgo * 1000).toISOString(),
        annotations: { [ANNOTATIONS.key]: KEY },
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'job' }],
      },
      spec: { nodeName: 'n1' },
      status: { phase: 'Running' },
    },
  ];

describe.each([
  ['ahead of', 300_000],
  ['behind', -300_000],
])('an API server whose clock is five minutes %s that of the worker', (_, aheadMs) => {
  const toDelete = async (secondsAgo: number, finalizerWaitMs: number) =>
    deleteObject(
      await serve(aheadMs, terminating(secondsAgo)),
      { key: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'a' } },
      {
        signal: AbortSignal.timeout(5_000),
        finalizerWaitMs,
        // An attempt ends 1.5 s before it.
        deadline: Date.now() + 1_700,
        beforeEffect: () => undefined,
      },
    );

  it('tells how long finalizers have been waited for [F9]', async () => {
    expect(await toDelete(60, 120_000)).toMatchObject({ kind: 'terminating', final: false });
    expect(await toDelete(65, 30_000)).toMatchObject({
      kind: 'terminating',
      final: true,
      message: expect.stringMatching(/after 1m\S* it is still Terminating/),
    });
  });

  const settled = async (secondsAgo: number, because?: SettleCause) => {
    const said: string[] = [];
    const attempt = {
      task: {
        type: 'Job',
        direction: 'forward',
        run: { uid: 'u', name: 'run', plan: { namespace: 'shop', name: 'p' } },
        at: { stage: 0, workflow: 0, action: 0 },
        name: 'act',
        timeoutMs: 60_000,
        stop: { waitMs: 10_000, tries: 5, ...(because !== undefined && { because }) },
      },
      action: { name: 'act', type: 'Job', job: { namespace: 'shop', template: {} } },
      scope: {},
      key: KEY,
      kube: await serve(aheadMs, terminating(secondsAgo)),
      signal: AbortSignal.timeout(300),
      remember: () => undefined,
      remembered: undefined,
      say: (message: string) => said.push(message),
    } as unknown as Attempt;
    return { result: await jobHandler.settle(attempt), said };
  };

  it('tells how long the pods of a Job may still take [F9]', async () => {
    const { result, said } = await settled(5, 'cancelled');
    expect(result).toMatchObject({ kind: 'retry', reason: 'PodsRemain' });
    expect(said[0]).toBe(
      'Job shop/j is gone, its action was cancelled; waits until its pods are gone: pod shop/a on node n1',
    );
    expect((await settled(15, 'stageEnded')).result).toMatchObject({
      kind: 'failed',
      outputs: { stopUnconfirmed: ['pod shop/a on node n1'] },
      message: expect.stringMatching(
        /^StopUnconfirmed: Job shop\/j is gone, its stage was ended from outside, but 10s/,
      ),
    });
  });

  it('counts for a run that an earlier release began, too, which does not say why [F9]', async () => {
    expect((await settled(15)).result).toMatchObject({
      message: expect.stringMatching(/^StopUnconfirmed: Job shop\/j is gone, but 10s after their grace/),
    });
  });
});
