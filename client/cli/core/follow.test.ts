import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeClient } from '../../../kube/client.js';
import { createKubeClient } from '../../../kube/kubeconfig-client.js';
import { follow, type FollowEvent } from './follow.js';

const PATH = '/apis/dr.bkbcs.tencent.com/v1alpha1';
const execution = (version: number, phase: string, uid = 'u1') => ({
  metadata: { name: 'web-1', namespace: 'default', uid, resourceVersion: String(version) },
  spec: { planRef: 'web', operationType: 'Execute' },
  status: { phase },
});

/** Answers list and watch requests one after the other, as told. */
type Answer = (response: ServerResponse) => void;

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(script: { lists: Answer[]; watches: Answer[] }): Promise<KubeClient> {
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    if (url.pathname === PATH) {
      const resources = [{ name: 'drplanexecutions', kind: 'DRPlanExecution', namespaced: true }];
      return void response.end(JSON.stringify({ resources }));
    }
    if (url.pathname === '/readyz') return void response.end('ok');
    expect(url.searchParams.get('fieldSelector')).toBe('metadata.name=web-1');
    const queue = url.searchParams.get('watch') === 'true' ? script.watches : script.lists;
    const answer = queue.shift();
    if (answer === undefined) throw new Error(`unexpected request ${request.url}`);
    answer(response);
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: 'test',
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      skipTLSVerify: true,
    },
    { name: 'test' },
  );
  return createKubeClient(config);
}

const list =
  (version: number, ...items: object[]): Answer =>
  (response) =>
    response.end(JSON.stringify({ metadata: { resourceVersion: String(version) }, items }));
const watch =
  (...events: object[]): Answer =>
  (response) =>
    response.end(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
const status =
  (code: number, reason: string): Answer =>
  (response) => {
    response.statusCode = code;
    response.end(JSON.stringify({ kind: 'Status', message: reason, reason, code }));
  };

async function take(kube: KubeClient, key = { namespace: 'default', name: 'web-1' }): Promise<string[]> {
  const told: string[] = [];
  const end = new AbortController();
  for await (const event of follow(kube, key, end.signal)) {
    told.push(describeEvent(event));
    if (event.kind === 'state' && event.execution.status?.phase === 'Succeeded') break;
  }
  return told;
}

const describeEvent = (event: FollowEvent): string =>
  event.kind === 'state' ? (event.execution.status?.phase ?? '') : event.kind;

describe('following an execution', () => {
  it('tells the present state and every change', async () => {
    const kube = await serve({
      lists: [list(5, execution(4, 'Pending'))],
      watches: [
        watch(
          { type: 'MODIFIED', object: execution(6, 'Running') },
          { type: 'BOOKMARK', object: { metadata: { resourceVersion: '7' } } },
          { type: 'MODIFIED', object: execution(8, 'Succeeded') },
        ),
      ],
    });
    expect(await take(kube)).toEqual(['Pending', 'Running', 'Succeeded']);
  });

  it('goes on after a watch that ended, and tells an unchanged state once', async () => {
    const kube = await serve({
      lists: [list(5, execution(4, 'Running')), list(6, execution(4, 'Running'))],
      watches: [watch(), watch({ type: 'MODIFIED', object: execution(7, 'Succeeded') })],
    });
    expect(await take(kube)).toEqual(['Running', 'Succeeded']);
  });

  it('lists again when its version is too old, and catches up', async () => {
    const kube = await serve({
      lists: [list(5, execution(4, 'Running')), list(90, execution(80, 'Succeeded'))],
      watches: [watch({ type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'too old' } })],
    });
    expect(await take(kube)).toEqual(['Running', 'Succeeded']);
  });

  it('tells once that the server does not answer, and goes on when it does', async () => {
    const kube = await serve({
      lists: [
        status(503, 'ServiceUnavailable'),
        status(503, 'ServiceUnavailable'),
        list(5, execution(4, 'Succeeded')),
      ],
      watches: [],
    });
    expect(await take(kube)).toEqual(['unreachable', 'Succeeded']);
  });

  it('tells a delete, and another one of the same name', async () => {
    const gone = await serve({
      lists: [list(5, execution(4, 'Running'))],
      watches: [watch({ type: 'DELETED', object: execution(6, 'Running') })],
    });
    expect(await take(gone)).toEqual(['Running', 'deleted']);
    server?.close();
    const replaced = await serve({
      lists: [list(5, execution(4, 'Running')), list(9, execution(8, 'Running', 'u2'))],
      watches: [watch()],
    });
    expect(await take(replaced)).toEqual(['Running', 'deleted']);
  });

  it('gives up where waiting does not help', async () => {
    const kube = await serve({ lists: [status(403, 'Forbidden'), status(403, 'Forbidden')], watches: [] });
    await expect(take(kube)).rejects.toThrow('Forbidden');
  });
});
