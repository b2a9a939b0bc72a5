/** The store of states, plans and records of operations: its rules are here, written once for every place it may be in. */
import { EventEmitter } from 'node:events';
import { LRUCache } from 'lru-cache';
import { KeyRingError, type KeyRing } from '../runtime/encryption/key-ring.js';
import type { Backend } from './backend.js';
import { createContents, type Contents } from './contents.js';
import { createTransact } from './documents.js';
import { createOperations, type Operations } from './operations.js';
import { sweep } from './retention.js';
import { createRuns, type Runs } from './runs.js';
import { createSeals } from './seals.js';
import { createSlots, type Slots } from './slots.js';
import { createVersions, type Versions } from './versions.js';

/** A store. What it refuses it throws as `StoreRefused`; while it is away, everything throws `StoreUnavailable`. */
export interface StateStore {
  slots: Slots;
  versions: Versions;
  runs: Runs;
  operations: Operations;
  contents: Contents;
  /** Calls back after this process has changed an operation. @returns ends that */
  onChange(operation: string, listener: () => void): () => void;
  /** Whether it can be reached: throws StoreUnavailable where it cannot. */
  look(): Promise<void>;
  /** Removes what is kept no longer, and notes a key that the ring has got. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

/** Records that are of no workspace. */
const ITSELF = 'store';
const MAX_KNOWN_RUNS = 10_000;
const WORKSPACE = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Opens a store. The backend is closed with it, and also where it cannot be opened.
 *
 * @param options.ring keys that contents are encrypted with. One that was ever used must be in it
 * @param options.streams of the logs of operations
 * @throws KeyRingError where a key that contents are encrypted with is lost or another one
 */
export async function openStateStore(options: {
  backend: Backend;
  ring: KeyRing;
  streams: readonly string[];
  /** Of one stream of the log of an operation. */
  maxLogBytes: number;
  now?: () => Date;
}): Promise<StateStore> {
  const { ring, streams, maxLogBytes, now = () => new Date() } = options;
  const backend = rememberRuns(options.backend);
  const seals = createSeals(ring);
  const transact = createTransact(backend, seals);
  const contents = createContents(backend, seals);
  const changes = new EventEmitter();
  changes.setMaxListeners(0);
  try {
    await checkKeys(backend, ring);
  } catch (error) {
    await backend.close();
    throw error;
  }
  return {
    slots: createSlots(transact, now),
    versions: createVersions(transact, contents, now),
    runs: createRuns({ backend, transact, contents, now }),
    operations: createOperations({
      ...{ backend, transact, streams, maxLogBytes, now },
      onChange: (id) => changes.emit(id),
    }),
    contents,
    onChange(operation, listener) {
      changes.on(operation, listener);
      return () => changes.off(operation, listener);
    },
    async look() {
      await backend.workspaceOf(ITSELF);
    },
    async sweep() {
      await checkKeys(backend, ring);
      await sweep({ backend, transact, isWorkspace: (uid) => WORKSPACE.test(uid) }, now().getTime());
    },
    close: () => backend.close(),
  };
}

/** Which workspace a run is of never changes: it is read once. */
function rememberRuns(backend: Backend): Backend {
  const known = new LRUCache<string, string>({ max: MAX_KNOWN_RUNS });
  return {
    ...backend,
    async workspaceOf(run) {
      const found = known.get(run) ?? (await backend.workspaceOf(run));
      if (found !== undefined) known.set(run, found);
      return found;
    },
  };
}

/** Every key that was ever used has left something that only it opens. */
async function checkKeys(backend: Backend, ring: KeyRing): Promise<void> {
  const seals = createSeals(ring);
  await backend.transact(ITSELF, async (records) => {
    const known = new Set<string>();
    for (const { key, value } of await records.entries('key')) {
      const id = decodeURIComponent(key.slice('key/'.length));
      known.add(id);
      if ((await ring.find(id)) === undefined) {
        throw new KeyRingError(
          `contents of the store are encrypted with the key "${id}", which is not in the ring: put it back; without it they are lost`,
        );
      }
      await seals.openRecord(key, value).catch((error: unknown) => {
        throw new KeyRingError(`the key "${id}" is another one than that which the store was written with`, {
          cause: error,
        });
      });
    }
    const { id } = await ring.active();
    const key = `key/${encodeURIComponent(id)}`;
    if (!known.has(id)) await records.put(key, await seals.sealRecord(key, Buffer.from(id)));
  });
}
