import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from './client.js';
import { KubeError } from './error.js';

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
  /** Only on what `trim` has reduced so far that it is enough to decide by, not to write from. */
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
  /** Takes in the answer of an own write, so that the next read sees it without waiting for the watch. */
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
  /** Reduces what is kept of an object; gets a private copy. */
  trim?: (object: T) => T;
  /** Told about every failed list or watch. */
  onError?: (error: unknown) => void;
  /** First and longest wait between two attempts, in milliseconds (default 200 and 10,000). */
  backoff?: { minMs: number; maxMs: number };
}

const PAGE_SIZE = 500;
const TOMBSTONES = 4096;

/** An informer over a raw client. */
export function createInformer<T extends Cacheable>(options: InformerOptions<T>): Informer<T> {
  const { kube, apiVersion, kind } = options;
  const selected = options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector };
  const { minMs, maxMs } = options.backoff ?? { minMs: 200, maxMs: 10_000 };
  const objects = new Map<string, T>();
  const handlers: ((change: Change<T>) => void)[] = [];
  // Uids never come back, so a late answer of a write must not bring a deleted object back either.
  const tombstones = new Set<string>();
  const waiting: (() => void)[] = [];
  let synced = false;

  const emit = (change: Change<T>): void => {
    for (const handler of handlers) handler(change);
  };

  function set(raw: T): void {
    const uid = raw.metadata.uid;
    if (uid !== undefined && tombstones.has(uid)) return;
    const key = keyOf(raw.metadata.namespace, raw.metadata.name);
    const previous = objects.get(key);
    const sameUid = previous !== undefined && previous.metadata.uid === uid;
    if (sameUid && !isNewer(raw.metadata.resourceVersion, previous.metadata.resourceVersion)) return;
    // Lists leave out the type of their items.
    const typed: T = { ...raw, apiVersion, kind };
    const object = options.trim === undefined ? typed : options.trim(typed);
    objects.set(key, object);
    if (previous !== undefined && !sameUid) emit({ kind: 'gone', object: previous });
    emit({ kind: 'set', object, ...(sameUid && { previous }) });
  }

  function remove(object: T): void {
    if (object.metadata.uid !== undefined) {
      tombstones.add(object.metadata.uid);
      if (tombstones.size > TOMBSTONES) tombstones.delete(tombstones.values().next().value ?? '');
    }
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const known = objects.get(key);
    if (known === undefined || known.metadata.uid !== object.metadata.uid) return;
    objects.delete(key);
    emit({ kind: 'gone', object: known });
  }

  async function list(signal: AbortSignal): Promise<string> {
    const present = new Set<string | undefined>();
    let version: string;
    let next: string | undefined;
    do {
      const page = await kube.list<T>(
        { apiVersion, kind },
        { ...selected, limit: PAGE_SIZE, signal, ...(next !== undefined && { continue: next }) },
      );
      // Page by page, so that no more than one of them is ever held whole.
      for (const object of page.items) {
        present.add(object.metadata.uid);
        set(object);
      }
      version = page.metadata.resourceVersion;
      next = page.metadata.continue || undefined;
    } while (next !== undefined);
    for (const object of [...objects.values()]) {
      // What an own write added after the list was taken stays.
      if (!present.has(object.metadata.uid) && !isNewer(object.metadata.resourceVersion, version))
        remove(object);
    }
    if (!synced) {
      synced = true;
      for (const resolve of waiting.splice(0)) resolve();
    }
    return version;
  }

  async function follow(
    from: string,
    signal: AbortSignal,
    onProgress: (version: string) => void,
  ): Promise<void> {
    let version = from;
    while (!signal.aborted) {
      for await (const event of kube.watch<T>(
        { apiVersion, kind },
        { ...selected, resourceVersion: version, signal },
      )) {
        version = event.object.metadata.resourceVersion ?? version;
        onProgress(version);
        if (event.type === 'DELETED') remove(event.object);
        else if (event.type !== 'BOOKMARK') set(event.object);
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
      let version: string | undefined;
      let wait = minMs;
      while (!signal.aborted) {
        try {
          version ??= await list(signal);
          await follow(version, signal, (seen) => {
            version = seen;
            wait = minMs;
          });
        } catch (error) {
          if (signal.aborted) return;
          // What was missed cannot be told any more: start over with a list.
          if (error instanceof KubeError && (error.code === 410 || error.reason === 'KindNotFound'))
            version = undefined;
          if (!(error instanceof KubeError && error.code === 410)) options.onError?.(error);
          await sleep(wait * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
          wait = Math.min(wait * 2, maxMs);
        }
      }
    },
  };
}

const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

/** Resource versions of one server are integers of growing size; a longer one is a later one. */
export function isNewer(candidate: string | undefined, known: string | undefined): boolean {
  if (candidate === undefined || known === undefined) return true;
  return candidate.length === known.length ? candidate > known : candidate.length > known.length;
}
