import { afterAll, beforeAll, expect, it } from 'vitest';
import { createInformer } from '../../kube/informer.js';
import type { Cacheable, Change, Informer } from '../../kube/informer.js';
import type { KubeObject } from '../../kube/object.js';
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
