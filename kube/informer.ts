import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from './client.js';
import { KubeError } from './error.js';
import { listPages } from './pages.js';

/** What a cache needs to know of an object, however it is typed. */
export interface Cacheable {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
  };
  status?: object;
  /** Only on an object that `trim` has reduced so far that it is enough to decide by, but not to write from. */
  stub?: object;
}

/** What happened to an object of a cache. */
export type Change<T> = { kind: 'set'; object: T; previous?: T } | { kind: 'gone'; object: T };

/** A local copy of all objects of one kind, kept fresh by a watch. */
export interface Informer<T extends Cacheable = Cacheable> {
  readonly apiVersion: string;
  readonly kind: string;
  /** Whether the first list is in. */
  readonly synced: boolean;
  /** Resolves with the first complete list. */
  whenSynced(): Promise<void>;
  get(namespace: string | undefined, name: string): T | undefined;
  list(): T[];
  /** Takes in the answer to a write of our own, so that the next read sees it without waiting for the watch. */
  learn(object: T): void;
  /** Calls the handler for every object there is, and for every change from now on. */
  onChange(handler: (change: Change<T>) => void): void;
  /** Lists and watches until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** What an informer is made of. */
export interface InformerOptions<T extends Cacheable> {
  kube: KubeClient;
  apiVersion: string;
  kind: string;
  /** Only objects with these labels; one that loses them is gone. */
  labelSelector?: string;
  /** Reduces what is kept of an object; gets a private copy. Without it all but `metadata.managedFields` is kept. */
  trim?: (object: T) => T;
  /** Called for failed lists, watches and checks. */
  onError?: (error: unknown) => void;
  /** First and longest wait between two attempts, in milliseconds (default 200 and 10,000). */
  backoff?: { minMs: number; maxMs: number };
  /** Compares the cache with the API server from time to time; without it, a lost event goes unnoticed. */
  check?: CacheCheck;
}

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

/** If more objects than this have to be read anew, a whole list is cheaper. */
const MAX_READ = 200;
const GRACE_MS = 5000;
const TOMBSTONES = 4096;

/** An informer over a raw client. */
export function createInformer<T extends Cacheable>(options: InformerOptions<T>): Informer<T> {
  const { kube, apiVersion, kind, trim = withoutManagers } = options;
  const selected = options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector };
  const { minMs, maxMs } = options.backoff ?? { minMs: 200, maxMs: 10_000 };
  const objects = new Map<string, T>();
  const handlers: ((change: Change<T>) => void)[] = [];
  // By uid, the version at which an object disappeared: a late answer to a write must not bring it back. An object that
  // only stopped matching the selector may come back, with a newer version.
  const tombstones = new Map<string, string>();
  const waiting: (() => void)[] = [];
  let synced = false;
  /** The newest version that a list or the watch has reported: a later list must not be older. */
  let latest: string | undefined;
  /** Whether earlier versions mean nothing: the server's storage was set back, and counts on from there. */
  let wasSetBack = false;

  const emit = (change: Change<T>): void => {
    for (const handler of handlers) handler(change);
  };

  const isGone = ({
    uid,
    resourceVersion,
  }: {
    uid?: string | undefined;
    resourceVersion?: string | undefined;
  }): boolean => {
    const goneAt = uid === undefined ? undefined : tombstones.get(uid);
    return goneAt !== undefined && !isNewer(resourceVersion, goneAt);
  };

  function set(raw: T): void {
    const { uid } = raw.metadata;
    if (isGone(raw.metadata)) return;
    const key = keyOf(raw.metadata.namespace, raw.metadata.name);
    const previous = objects.get(key);
    const sameUid = previous !== undefined && previous.metadata.uid === uid;
    if (sameUid && !wasSetBack && !isNewer(raw.metadata.resourceVersion, previous.metadata.resourceVersion))
      return;
    // Lists leave out the type of their items.
    const typed: T = { ...raw, apiVersion, kind };
    const object = trim(typed);
    objects.set(key, object);
    if (previous !== undefined && !sameUid) emit({ kind: 'gone', object: previous });
    emit({ kind: 'set', object, ...(sameUid && { previous }) });
  }

  /** @param at version at which it was seen to be gone */
  function remove(object: T, at: string | undefined): void {
    if (object.metadata.uid !== undefined && at !== undefined) {
      tombstones.set(object.metadata.uid, at);
      if (tombstones.size > TOMBSTONES) tombstones.delete(tombstones.keys().next().value ?? '');
    }
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const known = objects.get(key);
    if (known === undefined || known.metadata.uid !== object.metadata.uid) return;
    objects.delete(key);
    emit({ kind: 'gone', object: known });
  }

  async function list(signal: AbortSignal): Promise<string> {
    const present = new Set<string | undefined>();
    let version = '';
    // Page by page, so that no more than one of them is ever held whole.
    for await (const page of listPages<T>(kube, { apiVersion, kind }, { ...selected, signal })) {
      for (const object of page.items) {
        present.add(object.metadata.uid);
        set(object);
      }
      version = page.metadata.resourceVersion;
    }
    for (const object of [...objects.values()]) {
      // What a write of our own added after the list was taken stays.
      const isLater = !wasSetBack && isNewer(object.metadata.resourceVersion, version);
      if (!present.has(object.metadata.uid) && !isLater) remove(object, version);
    }
    wasSetBack = false;
    latest = version;
    if (!synced) {
      synced = true;
      for (const resolve of waiting.splice(0)) resolve();
    }
    return version;
  }

  /**
   * A server whose storage was restored from a backup has not reached the version yet that a watch would go on from,
   * and reports nothing until it does: changes in between would be missed. The restore restarted it, so the watch broke
   * off.
   */
  async function refuseFuture(version: string, signal: AbortSignal): Promise<void> {
    const { metadata } = await kube.list(
      { apiVersion, kind },
      { ...selected, limit: 1, metadataOnly: true, signal },
    );
    if (!isNewer(version, metadata.resourceVersion)) return;
    setBack();
    throw new KubeError(
      `the server's storage was set back from version ${version} to ${metadata.resourceVersion}`,
      { code: 410, reason: 'SetBack' },
    );
  }

  function setBack(): void {
    wasSetBack = true;
    latest = undefined;
    tombstones.clear();
  }

  async function watch(
    from: { version: string; isListed: boolean },
    signal: AbortSignal,
    onProgress: (version: string) => void,
  ): Promise<void> {
    let { version } = from;
    for (let isListed = from.isListed; !signal.aborted; isListed = false) {
      if (!isListed) await refuseFuture(version, signal);
      for await (const event of kube.watch<T>(
        { apiVersion, kind },
        { ...selected, resourceVersion: version, signal },
      )) {
        version = event.object.metadata.resourceVersion ?? version;
        latest = version;
        onProgress(version);
        if (event.type === 'DELETED') remove(event.object, event.object.metadata.resourceVersion);
        else if (event.type !== 'BOOKMARK') set(event.object);
      }
    }
  }

  async function follow(signal: AbortSignal): Promise<void> {
    let version: string | undefined;
    let wait = minMs;
    while (!signal.aborted) {
      try {
        const isListed = version === undefined;
        version ??= await list(signal);
        await watch({ version, isListed }, signal, (seen) => {
          version = seen;
          wait = minMs;
        });
      } catch (error) {
        if (signal.aborted) return;
        // The missed changes cannot be had any more: start over with a list.
        if (error instanceof KubeError && (error.code === 410 || error.reason === 'KindNotFound'))
          version = undefined;
        if (!(error instanceof KubeError && error.code === 410)) options.onError?.(error);
        await sleep(wait * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
        wait = Math.min(wait * 2, maxMs);
      }
    }
  }

  /** Names and versions of all objects, from the server's own cache, which may not be older than ours. */
  async function listVersions(signal: AbortSignal): Promise<{ items: Known[]; version: string }> {
    const items: Known[] = [];
    let version = '';
    const since =
      latest === undefined ? {} : { resourceVersion: latest, resourceVersionMatch: 'NotOlderThan' as const };
    const options = { ...selected, ...since, metadataOnly: true, signal };
    for await (const page of listPages<T>(kube, { apiVersion, kind }, options)) {
      for (const { metadata } of page.items) {
        const { namespace, name, uid, resourceVersion } = metadata;
        items.push({ namespace, name, uid, resourceVersion });
      }
      version = page.metadata.resourceVersion;
    }
    return { items, version };
  }

  /** One comparison with the API server. */
  async function check({ graceMs = GRACE_MS, onRepair }: CacheCheck, signal: AbortSignal): Promise<void> {
    const { items, version } = await listVersions(signal);
    // Changes that are under way still arrive by themselves.
    await sleep(graceMs, undefined, { signal });
    let isSetBack = false;
    const missed = items.filter((item) => {
      const known = objects.get(keyOf(item.namespace, item.name))?.metadata;
      if (known === undefined) return !isGone(item);
      if (known.uid === item.uid) {
        if (isNewer(item.resourceVersion, known.resourceVersion)) return true;
        // The list should have had this version: the server was set back and has counted on past it since.
        const isUndone = item.resourceVersion !== known.resourceVersion;
        if (!isUndone || isNewer(known.resourceVersion, version)) return false;
        return (isSetBack = true);
      }
      return !isNewer(known.resourceVersion, version);
    });
    const present = new Set(items.map(({ uid }) => uid));
    const left = [...objects.values()].filter(
      ({ metadata }) => !present.has(metadata.uid) && !isNewer(metadata.resourceVersion, version),
    );
    for (const object of left) remove(object, version);
    if (isSetBack) setBack();
    if (isSetBack || missed.length > MAX_READ) await list(signal);
    else {
      for (const { namespace, name, uid } of missed) {
        const key = { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
        const live = await kube.get<T>(key, { signal });
        // If it is gone since the list, or another one by now, the watch reports that.
        if (live !== undefined && live.metadata.uid === uid) set(live);
      }
    }
    const repaired = [...left.map(({ metadata }) => metadata), ...missed];
    if (repaired.length > 0) onRepair?.(repaired.map(({ namespace, name }) => keyOf(namespace, name)));
  }

  async function keepChecking(how: CacheCheck, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await sleep(how.everyMs * (0.9 + Math.random() / 5), undefined, { signal });
        if (synced) await check(how, signal);
      } catch (error) {
        if (!signal.aborted) options.onError?.(error);
      }
    }
  }

  return {
    apiVersion,
    kind,
    get synced() {
      return synced;
    },
    whenSynced: () => (synced ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    get: (namespace, name) => objects.get(keyOf(namespace, name)),
    list: () => [...objects.values()],
    learn: set,
    onChange(handler) {
      handlers.push(handler);
      for (const object of objects.values()) handler({ kind: 'set', object });
    },
    async run(signal) {
      const checking = options.check === undefined ? undefined : keepChecking(options.check, signal);
      await follow(signal);
      await checking;
    },
  };
}

/** An object as a check sees it. */
interface Known {
  namespace: string | undefined;
  name: string;
  uid: string | undefined;
  resourceVersion: string | undefined;
}

function withoutManagers<T extends Cacheable>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { managedFields?: unknown };
  return { ...object, metadata };
}

const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

/** Resource versions of one server are integers of growing size; a longer one is a later one. */
export function isNewer(candidate: string | undefined, known: string | undefined): boolean {
  if (candidate === undefined || known === undefined) return true;
  return candidate.length === known.length ? candidate > known : candidate.length > known.length;
}
