import { expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../../api/core/group.js';
import type { KubeClient } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import type { KubeObject } from '../../../kube/object.js';
import { createSnapshotStore } from './snapshot-store.js';

const snapshot = {
  plan: { name: 'p', namespace: 'ns', uid: 'plan', generation: 1, spec: { stages: [] } },
  workflows: {},
  params: [],
  operation: 'Execute' as const,
  runMode: 'Planned',
};
const refused = (code: number, reason: string) => new KubeError(reason, { code, reason });

interface Revision extends KubeObject {
  data?: unknown;
}

/**
 * What a server does about one name. `data` cannot be changed, and in whichever order it is stored: only a merge patch
 * leaves its bytes alone.
 */
function server(options: { removedAfterRefusal?: boolean } = {}) {
  const stored = new Map<string, Revision>();
  const deleted: string[] = [];
  let removed = false;
  let version = 0;
  const put = (object: Revision): Revision => {
    version += 1;
    const { metadata } = object;
    const uid = metadata.uid ?? `uid-${version}`;
    stored.set(metadata.name, {
      ...object,
      metadata: { ...metadata, uid, resourceVersion: String(version) },
    });
    return structuredClone(stored.get(metadata.name)!);
  };
  const kube = {
    get: ({ name }: { name: string }) => Promise.resolve(structuredClone(stored.get(name))),
    create: (object: Revision) => {
      const { name } = object.metadata;
      if (!stored.has(name)) return Promise.resolve(put(structuredClone(object)));
      if (options.removedAfterRefusal === true && !removed) {
        stored.delete(name);
        removed = true;
      }
      return Promise.reject(refused(409, 'AlreadyExists'));
    },
    patch: ({ name }: { name: string }, patch: KubeObject, { kind }: { kind: string }) => {
      const found = stored.get(name);
      if (found === undefined) return Promise.reject(refused(404, 'NotFound'));
      if (kind !== 'merge' || found.metadata.labels?.spoiled === 'true')
        return Promise.reject(refused(422, 'Invalid'));
      const { ownerReferences, annotations } = patch.metadata;
      const metadata = { ...found.metadata, annotations: { ...found.metadata.annotations, ...annotations } };
      if (ownerReferences === null) delete metadata.ownerReferences;
      return Promise.resolve(put({ ...found, metadata }));
    },
    delete: (
      { name }: { name: string },
      { uid, resourceVersion }: { uid: string; resourceVersion: string },
    ) => {
      const found = stored.get(name)?.metadata;
      if (found?.uid !== uid || found.resourceVersion !== resourceVersion)
        return Promise.reject(refused(409, 'Conflict'));
      stored.delete(name);
      deleted.push(name);
      return Promise.resolve(true);
    },
  } as unknown as KubeClient;
  const writes: string[] = [];
  let clock = 0;
  const store = createSnapshotStore(
    kube,
    ({ verb, result }) => writes.push(`${verb} ${result}`),
    () => new Date((clock += 60_000)),
  );
  const write = async () => {
    const located = store.locate(snapshot);
    if (!located.ok) throw new Error(located.refusal.message);
    await located.write();
    return located.ref;
  };
  return { write, read: store.read.bind(store), stored, put, writes, deleted };
}

const only = <T>(values: Iterable<T>): T => {
  const [first, ...others] = values;
  if (first === undefined || others.length > 0) throw new Error('expected one');
  return first;
};

it('[F1] costs one write at first, and the next run only says that it is used [S5.18] [S5.19]', async () => {
  const { write, stored, writes } = server();
  await write();
  expect(writes).toEqual(['create ok']);
  const first = structuredClone(only(stored.values()));
  expect(first.metadata.annotations).toEqual({ [ANNOTATIONS.used]: '1970-01-01T00:01:00.000Z' });
  for (let run = 0; run < 3; run += 1) await write();
  expect(writes.slice(1)).toEqual(Array(3).fill(['create conflict', 'patch ok']).flat());
  const { data, metadata } = only(stored.values());
  expect(JSON.stringify(data)).toBe(JSON.stringify(first.data));
  expect(metadata).toEqual({
    ...first.metadata,
    resourceVersion: '4',
    annotations: { [ANNOTATIONS.used]: '1970-01-01T00:04:00.000Z' },
  });
});

it('[F1] takes the owners off one that an earlier release has stored, in whichever order [S6.15]', async () => {
  const { write, read, stored, put } = server();
  const ref = await write();
  const { data, ...rest } = only(stored.values());
  const reordered = Object.fromEntries(Object.entries(data as object).reverse());
  const owner = { apiVersion: API_VERSION, kind: 'DRPlanExecution', name: 'one', uid: 'one' };
  put({ ...rest, metadata: { ...rest.metadata, ownerReferences: [owner] }, data: reordered });
  await write();
  const renewed = only(stored.values());
  expect(renewed.metadata).not.toHaveProperty('ownerReferences');
  expect(JSON.stringify(renewed.data)).toBe(JSON.stringify(reordered));
  expect(await read(ref)).toEqual(snapshot);
});

it.each<[string, { metadata?: Partial<Revision['metadata']>; data?: unknown }]>([
  ['cannot be patched', { metadata: { labels: { spoiled: 'true' } } }],
  ['holds something else', { data: { encoding: 'json', snapshot: {} } }],
])('[F1] is written anew where what is there %s', async (_, spoilt) => {
  const { write, read, stored, put, deleted } = server();
  const ref = await write();
  const found = only(stored.values());
  put({ ...found, ...spoilt, metadata: { ...found.metadata, ...spoilt.metadata } });
  await write();
  expect(deleted).toEqual([ref.name]);
  expect(await read(ref)).toEqual(snapshot);
});

it('is written again when whoever removes it was faster', async () => {
  const { write, stored } = server({ removedAfterRefusal: true });
  await write();
  await write();
  expect(only(stored.values()).metadata.annotations).toEqual({
    [ANNOTATIONS.used]: '1970-01-01T00:02:00.000Z',
  });
});
