import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEndpointClient } from '../../kube/client.js';
import type { KubeClient } from '../../kube/client.js';
import { createInformer } from '../../kube/informer.js';
import type { CacheCheck, Cacheable, Change, Informer } from '../../kube/informer.js';
import type { KubeObject } from '../../kube/object.js';
import { parseKubeconfig } from '../../local/kubeconfig.js';
import { startKubeProxy } from '../faults/kube-proxy.js';
import type { KubeProxy } from '../faults/kube-proxy.js';
import { servers } from '../support/servers.js';
import { openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

type ConfigMap = Cacheable & KubeObject & { status?: object; data?: Record<string, string> };

let stack: Stack;
let informer: Informer<ConfigMap>;
const abort = new AbortController();
const changes: Change<ConfigMap>[] = [];

beforeAll(async () => {
  stack = await openStack('informer');
  await write('before', 'x');
  informer = createInformer<ConfigMap>({ kube: stack.kube, apiVersion: 'v1', kind: 'ConfigMap' });
  informer.onChange((change) => {
    if (change.object.metadata.namespace === stack.namespace) changes.push(change);
  });
  void informer.run(abort.signal);
  await informer.whenSynced();
});
afterAll(async () => {
  abort.abort();
  await stack.close();
});

const key = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name });
const write = (name: string, value: string): Promise<ConfigMap> =>
  stack.kube.patch<ConfigMap>(
    key(name),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } },
    { kind: 'apply', fieldManager: 'test' },
  );
const cached = (name: string) => informer.get(stack.namespace, name);
const seen = (name: string, value: string | undefined) =>
  poll(
    () => Promise.resolve(cached(name)),
    (found) => found?.data?.value === value,
  );

it('holds what was there, and follows what comes, changes and goes', async () => {
  expect(cached('before')).toMatchObject({ kind: 'ConfigMap', data: { value: 'x' } });
  await write('later', '1');
  await seen('later', '1');
  await write('later', '2');
  await seen('later', '2');
  await stack.kube.delete(key('later'));
  await poll(
    () => Promise.resolve(cached('later')),
    (found) => found === undefined,
  );
  const story = changes.filter((change) => change.object.metadata.name === 'later');
  expect(story.map((change) => change.kind)).toEqual(['set', 'set', 'gone']);
});

it('sees an own write at once, tells it once, and never goes back to an older state', async () => {
  const first = await write('own', '1');
  await seen('own', '1');
  const second = await write('own', '2');
  informer.learn(second);
  expect(cached('own')?.data?.value).toBe('2');
  informer.learn(first);
  expect(cached('own')?.data?.value).toBe('2');
  await write('after', 'x');
  await seen('after', 'x');
  expect(changes.filter((change) => change.object.metadata.name === 'own')).toHaveLength(2);
});

it('does not bring back what is deleted when the answer of a write comes late', async () => {
  const late = await write('ghost', '1');
  await seen('ghost', '1');
  await stack.kube.delete(key('ghost'));
  await poll(
    () => Promise.resolve(cached('ghost')),
    (found) => found === undefined,
  );
  informer.learn(late);
  expect(cached('ghost')).toBeUndefined();
});

it('takes an object of the same name for another one', async () => {
  const first = await write('twin', '1');
  await seen('twin', '1');
  await stack.kube.delete(key('twin'));
  const second = await write('twin', '2');
  await seen('twin', '2');
  expect(cached('twin')?.metadata.uid).toBe(second.metadata.uid);
  const story = changes.filter((change) => change.object.metadata.name === 'twin');
  expect(story.map((change) => [change.kind, change.object.metadata.uid])).toEqual([
    ['set', first.metadata.uid],
    ['gone', first.metadata.uid],
    ['set', second.metadata.uid],
  ]);
});

/** An informer of this file's namespace behind a proxy that can lose events, with its story. */
async function behindProxy(
  options: { check?: CacheCheck; labelSelector?: string },
  work: (it: {
    proxy: KubeProxy;
    informer: Informer<ConfigMap>;
    /** What was told of an object: its value, or that it is gone. */
    story: (name: string) => (string | undefined)[];
  }) => Promise<void>,
): Promise<void> {
  const proxy = await startKubeProxy({
    role: 'bridge',
    source: 'informer',
    upstream: parseKubeconfig(await readFile(servers.kubeconfig, 'utf8')),
    referee: () => Promise.resolve({ kind: 'pass' }),
    random: Math.random,
  });
  const authenticate = () => Promise.resolve({ headers: {}, dispatcher: undefined });
  const direct = createEndpointClient({ server: proxy.url, authenticate });
  // Only what this file does is to be swallowed.
  const kube: KubeClient = {
    ...direct,
    watch: (type, more) => direct.watch(type, { ...more, namespace: stack.namespace }),
    list: (type, more) => direct.list(type, { ...more, namespace: stack.namespace }),
  };
  const stop = new AbortController();
  const lossy = createInformer<ConfigMap>({ kube, apiVersion: 'v1', kind: 'ConfigMap', ...options });
  const told: Change<ConfigMap>[] = [];
  lossy.onChange((change) => told.push(change));
  const running = lossy.run(stop.signal);
  try {
    await lossy.whenSynced();
    await write('watched', '1');
    await poll(
      () => Promise.resolve(lossy.get(stack.namespace, 'watched')),
      (found) => found !== undefined || options.labelSelector !== undefined,
    );
    const story = (name: string) =>
      told
        .filter(({ object }) => object.metadata.name === name)
        .map(({ kind, object }) => (kind === 'gone' ? undefined : object.data?.value));
    await work({ proxy, informer: lossy, story });
  } finally {
    stop.abort();
    await running;
    await proxy.close();
  }
}

it('finds out by itself what a watch has lost without breaking off, and tells it once', async () => {
  const repairs: string[] = [];
  const check = { everyMs: 1000, graceMs: 500, onRepair: (all: readonly string[]) => repairs.push(...all) };
  await behindProxy({ check }, async ({ proxy, informer: lossy, story }) => {
    const lose = async (work: () => Promise<unknown>): Promise<void> => {
      expect(proxy.strikeWatches({ kind: 'swallow' })).toBe(1);
      await work();
    };
    const is = (name: string, value: string | undefined) =>
      poll(
        () => Promise.resolve(lossy.get(stack.namespace, name)),
        (found) => found?.data?.value === value,
      );
    await write('doomed', '1');
    await is('doomed', '1');

    await lose(() => write('new', '1'));
    await is('new', '1');
    await lose(() => write('new', '2'));
    await is('new', '2');
    await lose(() => stack.kube.delete(key('doomed')));
    await is('doomed', undefined);
    // The watch itself goes on.
    await write('after', '1');
    await is('after', '1');

    expect(story('new')).toEqual(['1', '2']);
    expect(story('doomed')).toEqual(['1', undefined]);
    const names = ['new', 'new', 'doomed'].map((name) => `${stack.namespace}/${name}`);
    expect(repairs).toEqual(expect.arrayContaining(names));
  });
});

it('finds out that the last object is gone', async () => {
  const check = { everyMs: 500, graceMs: 200 };
  const set = (value: string) =>
    stack.kube.patch(
      key('alone'),
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'alone', labels: { alone: 'yes' } },
        data: { value },
      },
      { kind: 'apply', fieldManager: 'test' },
    );
  await set('1');
  await behindProxy({ check, labelSelector: 'alone=yes' }, async ({ proxy, informer: lossy, story }) => {
    const is = (value: string | undefined) =>
      poll(
        () => Promise.resolve(lossy.get(stack.namespace, 'alone')),
        (found) => found?.data?.value === value,
      );
    // Told by the watch, which is there therefore.
    await set('2');
    await is('2');
    expect(proxy.strikeWatches({ kind: 'swallow' })).toBe(1);
    await stack.kube.delete(key('alone'));
    await is(undefined);
    expect(story('alone')).toEqual(['1', '2', undefined]);
  });
});

it('takes back an object that comes to match its selector again', async () => {
  const label = (value: string | null) =>
    stack.kube.patch(key('labelled'), { metadata: { labels: { wanted: value } } }, { kind: 'merge' });
  await write('labelled', '1');
  await behindProxy({ labelSelector: 'wanted=yes' }, async ({ informer: selecting, story }) => {
    const matches = (expected: boolean) =>
      poll(
        () => Promise.resolve(selecting.get(stack.namespace, 'labelled')),
        (found) => (found !== undefined) === expected,
      );
    await label('yes');
    await matches(true);
    await label(null);
    await matches(false);
    await label('yes');
    await matches(true);
    expect(story('labelled')).toEqual(['1', undefined, '1']);
  });
});
