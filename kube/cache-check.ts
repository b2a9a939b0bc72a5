import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient, ListOptions } from './client.js';
import { keyOf } from './object-store.js';
import type { Cacheable, Listed, ObjectStore } from './object-store.js';
import { listPages } from './pages.js';

/**
 * A watch can lose an event without breaking off: a faulty proxy or server does that. So names and versions of all
 * objects are listed from time to time, and what the cache has missed is read anew and reported.
 */
export interface CacheCheck {
  /** Time between two checks, in milliseconds; each is up to a tenth shorter or longer, so that replicas spread. */
  everyMs: number;
  /** How far a watch may be behind the list before it counts as having lost something, in milliseconds (default 5,000). */
  graceMs?: number;
  /** Called with the objects whose changes the watch has missed, as `namespace/name`. */
  onRepair?: (objects: readonly string[]) => void;
}

/** The cache that is checked. */
export interface CheckedCache<T extends Cacheable> {
  kube: KubeClient;
  type: { apiVersion: string; kind: string };
  /** Which objects of that kind the cache has. */
  selected: Pick<ListOptions, 'labelSelector'>;
  store: ObjectStore<T>;
  /** The newest version that a list or the watch has reported. */
  latest: () => string | undefined;
  /** Reads everything anew. */
  list: (signal: AbortSignal) => Promise<unknown>;
  /** The server's storage was set back. */
  setBack: () => void;
}

/** If more objects than this have to be read anew, a whole list is cheaper. */
const MAX_READ = 200;
const GRACE_MS = 5000;

/** Compares a cache with the API server from time to time, until the signal aborts. Never rejects. */
export async function keepChecking<T extends Cacheable>(
  cache: CheckedCache<T>,
  how: CacheCheck,
  {
    signal,
    isReady,
    onError,
  }: { signal: AbortSignal; isReady: () => boolean; onError?: ((error: unknown) => void) | undefined },
): Promise<void> {
  while (!signal.aborted) {
    try {
      await sleep(how.everyMs * (0.9 + Math.random() / 5), undefined, { signal });
      if (isReady()) await check(cache, how, signal);
    } catch (error) {
      if (!signal.aborted) onError?.(error);
    }
  }
}

/** One comparison with the API server. */
async function check<T extends Cacheable>(
  cache: CheckedCache<T>,
  { graceMs = GRACE_MS, onRepair }: CacheCheck,
  signal: AbortSignal,
): Promise<void> {
  const { kube, type, store } = cache;
  const { items, version } = await listVersions(cache, signal);
  // Changes that are under way still arrive by themselves.
  await sleep(graceMs, undefined, { signal });
  const { missed, left, isSetBack } = store.compare(items, version);
  for (const object of left) store.remove(object, version);
  if (isSetBack) cache.setBack();
  if (isSetBack || missed.length > MAX_READ) await cache.list(signal);
  else {
    for (const { namespace, name, uid } of missed) {
      const key = { ...type, name, ...(namespace !== undefined && { namespace }) };
      const live = await kube.get<T>(key, { signal });
      // If it is gone since the list, or another one by now, the watch reports that.
      if (live !== undefined && live.metadata.uid === uid) store.set(live);
    }
  }
  const repaired = [...left.map(({ metadata }) => metadata), ...missed];
  if (repaired.length > 0) onRepair?.(repaired.map(({ namespace, name }) => keyOf(namespace, name)));
}

/** Names and versions of all objects, from the server's own cache, which may not be older than ours. */
async function listVersions<T extends Cacheable>(
  { kube, type, selected, latest }: CheckedCache<T>,
  signal: AbortSignal,
): Promise<{ items: Listed[]; version: string }> {
  const items: Listed[] = [];
  let version = '';
  const from = latest();
  const since =
    from === undefined ? {} : { resourceVersion: from, resourceVersionMatch: 'NotOlderThan' as const };
  const options = { ...selected, ...since, metadataOnly: true, signal };
  for await (const page of listPages<T>(kube, type, options)) {
    for (const { metadata } of page.items) {
      const { namespace, name, uid, resourceVersion } = metadata;
      items.push({ namespace, name, uid, resourceVersion });
    }
    version = page.metadata.resourceVersion;
  }
  return { items, version };
}
