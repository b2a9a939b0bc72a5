import { describe, expect, it } from 'vitest';
import { encodeSnapshot } from '../../api/plan/snapshot/snapshot.js';
import type { Snapshot } from '../../api/plan/snapshot/snapshot.js';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { SnapshotRef } from '../../workflows/plan/contract.js';
import { createSnapshotStore } from './snapshots.js';

const snapshot: Snapshot = {
  plan: { name: 'p', namespace: 'dr', uid: 'u', generation: 1, spec: { stages: [] } },
  workflows: {},
  params: [],
  operation: 'Execute',
  runMode: 'Planned',
};
const encoded = encodeSnapshot(snapshot);
if (!encoded.ok) throw new Error('cannot be encoded');
const ref: SnapshotRef = {
  name: 'p-1',
  namespace: 'dr',
  digest: encoded.digest,
  parts: encoded.parts.length,
};

/** A store over what `get` answers, and how often it was asked. */
function storeOver(get: (call: number) => unknown): {
  read: () => Promise<Snapshot>;
  asked: () => number;
} {
  let calls = 0;
  const kube = {
    get: () => {
      calls += 1;
      return Promise.resolve().then(() => get(calls));
    },
  } as unknown as KubeClient;
  const store = createSnapshotStore(kube);
  return { read: () => store.read(ref), asked: () => calls };
}
const stored = { data: encoded.parts[0] };

describe('snapshots', () => {
  it('are read once for all actions of a run', async () => {
    const store = storeOver(() => stored);
    expect(await Promise.all([store.read(), store.read()])).toEqual([snapshot, snapshot]);
    await store.read();
    expect(store.asked()).toBe(1);
  });

  it('are asked for again after the API was away', async () => {
    const store = storeOver((call) => {
      if (call === 1) throw new KubeError('away', { code: 0, reason: 'Unreachable' });
      return stored;
    });
    await expect(store.read()).rejects.toBeInstanceOf(KubeError);
    expect(await store.read()).toEqual(snapshot);
  });

  it.each([
    ['is gone', () => undefined, 'ControllerRevision dr/p-1'],
    [
      'was changed',
      () => ({ data: { encoding: 'json', snapshot: { ...snapshot, runMode: 'Drill' } } }),
      'SHA-256',
    ],
    [
      'may not be read',
      () => {
        throw new KubeError('forbidden', { code: 403, reason: 'Forbidden' });
      },
      'grant the worker',
    ],
  ])('that one %s is said for a person [SEC3]', async (_what, get, word) => {
    const error: unknown = await storeOver(get)
      .read()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'SnapshotError', message: expect.stringContaining(word) as string });
  });
});
