import { expect, it } from 'vitest';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { KubeObject } from '../../kube/object.js';
import { createSnapshotStore } from './snapshot-store.js';

const snapshot = {
  plan: { name: 'p', namespace: 'ns', uid: 'plan', generation: 1, spec: { stages: [] } },
  workflows: {},
  params: [],
  operation: 'Execute' as const,
  runMode: 'Planned',
};
const refused = (code: number, reason: string) => new KubeError(reason, { code, reason });

/** What a server does about one name, with something that removes the object right after the first refused create. */
function server(options: { removedAfterRefusal?: boolean } = {}) {
  const stored = new Map<string, KubeObject>();
  let removed = false;
  const kube = {
    create: (object: KubeObject) => {
      if (!stored.has(object.metadata.name)) {
        stored.set(object.metadata.name, structuredClone(object));
        return Promise.resolve(object);
      }
      if (options.removedAfterRefusal === true && !removed) {
        stored.delete(object.metadata.name);
        removed = true;
      }
      return Promise.reject(refused(409, 'AlreadyExists'));
    },
    patch: (key: { name: string }, patch: KubeObject, { kind }: { kind: string }) => {
      const found = stored.get(key.name);
      if (found === undefined) return Promise.reject(refused(404, 'NotFound'));
      expect(kind).toBe('strategic');
      const added = patch.metadata.ownerReferences ?? [];
      const kept = (found.metadata.ownerReferences ?? []).filter(
        (one) => !added.some(({ uid }) => uid === one.uid),
      );
      found.metadata.ownerReferences = [...kept, ...added];
      return Promise.resolve(found);
    },
  } as unknown as KubeClient;
  const writes: string[] = [];
  const store = createSnapshotStore(kube, ({ verb, result }) => writes.push(`${verb} ${result}`));
  const write = async (name: string) => {
    const located = store.locate(snapshot);
    if (!located.ok) throw new Error(located.refusal.message);
    await located.write({ name, uid: name });
  };
  const owners = () =>
    [...stored.values()].map(({ metadata }) => metadata.ownerReferences?.map((one) => one.uid));
  return { write, owners, writes };
}

it('is owned by every execution that runs it, and one write is all that a first run costs', async () => {
  const { write, owners, writes } = server();
  await write('one');
  expect(writes).toEqual(['create ok']);
  await write('two');
  await write('two');
  expect(owners()).toEqual([['one', 'two']]);
});

it('is written again when garbage collection was faster', async () => {
  const { write, owners } = server({ removedAfterRefusal: true });
  await write('one');
  await write('two');
  expect(owners()).toEqual([['two']]);
});
