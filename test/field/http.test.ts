/** What an HTTP server answers is told as it is, and what was asked of one server goes to no other. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { actionAt, http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
/** The origin that others are redirected to. */
let elsewhere: Recorder;
let odd: { url: string; server: Server };
let banner: { url: string; server: TcpServer };

async function listen<T extends TcpServer>(server: T): Promise<{ url: string; server: T }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

beforeAll(async () => {
  [stack, recorder, elsewhere, odd, banner] = await Promise.all([
    openStack('http'),
    startRecorder(),
    startRecorder(),
    listen(
      createServer((request, response) => {
        if (request.url === '/empty') response.writeHead(200).end();
        else if (request.url === '/tomorrow')
          response.writeHead(429, { 'retry-after': '86400' }).end('tomorrow');
        else response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"ok":true}'));
      }),
    ),
    listen(
      createTcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.end('SSH-2.0-OpenSSH_9.0\r\n');
      }),
    ),
  ]);
});
afterAll(async () => {
  odd.server.close();
  odd.server.closeAllConnections();
  banner.server.close();
  await Promise.all([recorder.close(), elsewhere.close(), stack.close()]);
});

/** By name of the action. */
const statusOf = (ended: DRPlanExecution, actions: readonly Action[], name: string) =>
  actionAt(
    ended,
    0,
    0,
    actions.findIndex((action) => action.name === name),
  );
const to = (path: string, location: string): string =>
  `${recorder.url}${path}&location=${encodeURIComponent(location)}`;
const get = (name: string, url: string, more: Partial<Action> = {}): Action => ({
  name,
  type: 'HTTP',
  http: { url },
  ...more,
});

describe('HTTP', () => {
  it('tells redirects, bodies and what is no HTTP as they are [F15] [S3.21]', async () => {
    const actions: Action[] = [
      http('login', to('/post?status=302', '/login')),
      {
        name: 'away',
        type: 'HTTP',
        http: { url: to('/away?status=307', `${elsewhere.url}/taken`), method: 'POST', body: 'promote' },
      },
      {
        name: 'with-header',
        type: 'HTTP',
        http: {
          url: to('/key?status=302', `${elsewhere.url}/taken`),
          headers: { 'x-api-key': 'canary-key' },
        },
      },
      get('plain-away', to('/plain?status=302', `${elsewhere.url}/reached`)),
      {
        ...get('is-the-answer', to('/answer?status=302', '/login')),
        http: { url: to('/answer?status=302', '/login'), successCodes: [302] },
      },
      get('empty', `${odd.url}/empty`),
      get('reads-empty', `${recorder.url}/reads?body=%5B{{ .outputs.empty.httpResponse.body }}%5D`),
      get(
        'has-default',
        `${recorder.url}/default?body={{ .outputs.empty.httpResponse.body | default "none" }}`,
      ),
      get('asks-empty', `${recorder.url}/asks`, { when: 'outputs.empty.httpResponse.body == ""' }),
      get('packed', `${odd.url}/packed`),
      get('banner', banner.url, { retryPolicy: { limit: 3, interval: '100ms' } }),
      get('no-tls', recorder.url.replace('http:', 'https:'), {
        retryPolicy: { limit: 3, interval: '100ms' },
      }),
    ];
    await stack.simplePlan('answers', actions, { workflow: { failurePolicy: 'Continue' } });
    const ended = await stack.ended(await stack.execute('answers'));
    const of = (name: string) => statusOf(ended, actions, name);

    expect(of('login')).toMatchObject({ phase: 'Failed', reason: 'RedirectRefused' });
    expect(of('away')).toMatchObject({ phase: 'Failed', reason: 'RedirectRefused' });
    expect(of('with-header')).toMatchObject({ phase: 'Failed', reason: 'RedirectRefused' });
    expect(of('with-header')?.message).toContain('header x-api-key');
    expect(recorder.of('/login')).toEqual([]);
    expect(elsewhere.requests.map(({ path }) => path)).toEqual(['/reached']);
    expect(of('plain-away')).toMatchObject({ phase: 'Succeeded' });
    expect(of('is-the-answer')).toMatchObject({
      phase: 'Succeeded',
      outputs: { httpResponse: { statusCode: 302 } },
    });

    expect(of('empty')).toMatchObject({ phase: 'Succeeded', outputs: { httpResponse: { body: '' } } });
    expect(of('reads-empty')?.outputs?.httpResponse?.body).toBe('[]');
    expect(of('has-default')).toMatchObject({ phase: 'Succeeded' });
    expect(of('asks-empty')).toMatchObject({ phase: 'Succeeded' });
    expect(of('packed')?.outputs?.httpResponse?.body).toBe('{"ok":true}');

    // At the first attempt: nothing gets better by waiting.
    expect(of('banner')).toMatchObject({ phase: 'Failed', reason: 'InvalidResponse' });
    expect(of('banner')?.message).toContain('SSH-2.0');
    expect(of('no-tls')).toMatchObject({ phase: 'Failed', reason: 'TLSError' });
    expect(of('no-tls')?.message).toMatch(/does not speak TLS; use http/);
    for (const name of ['banner', 'no-tls']) expect(of(name)?.retryCount ?? 0).toBe(0);
  });

  it('takes no password in a URL, written or rendered, and shows it nowhere [F15] [S3.22]', async () => {
    const host = new URL(recorder.url).host;
    await expect(
      stack.workflow('written', { actions: [get('a', `http://admin:canary-word@${host}/`)] }),
    ).rejects.toThrow(/user name or a password/);
    await expect(
      stack.workflow('other-host', {
        actions: [
          { name: 'a', type: 'HTTP', http: { url: recorder.url, headers: { host: 'other.example' } } },
        ],
      }),
    ).rejects.toThrow(/header "host" differs/);
    await stack.simplePlan('rendered', [get('a', 'http://{{ .params.host }}/rendered')], {
      workflow: { parameters: [{ name: 'host', default: host }] },
    });
    const params = [{ name: 'host', value: `admin:canary-word@${host}` }];
    const ended = await stack.ended(await stack.execute('rendered', { params }));
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Failed', reason: 'InvalidURL' });
    expect(JSON.stringify(ended.status)).not.toContain('canary-word');
    expect(recorder.of('/rendered')).toEqual([]);
    const events = await stack.kube.list({ apiVersion: 'v1', kind: 'Event' }, { namespace: stack.namespace });
    expect(JSON.stringify(events.items)).not.toContain('canary-word');
  });

  it('that was told to come back tomorrow says so at once, and when it goes on [F13] [F15]', async () => {
    await stack.simplePlan('later', [
      get('a', `${odd.url}/tomorrow`, { retryPolicy: { limit: 3, interval: '1s' } }),
    ]);
    const execution = await stack.execute('later');
    const waiting = await stack.until(execution, (now) => actionAt(now, 0, 0, 0)?.message !== undefined);
    expect(actionAt(waiting, 0, 0, 0)).toMatchObject({ phase: 'Running' });
    expect(actionAt(waiting, 0, 0, 0)?.message).toMatch(/429.*tomorrow/);
    await stack.kube.delete({
      apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
      kind: 'DRPlanExecution',
      namespace: stack.namespace,
      name: execution.metadata.name,
    });
    await poll(
      () => stack.getPlan('later'),
      (plan) => plan.status?.currentExecution === undefined,
    );
  });
});
