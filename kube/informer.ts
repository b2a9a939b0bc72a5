import type { Backoff } from '../api/core/backoff.js';
import { keepChecking } from './cache-check.js';
import type { CacheCheck, CheckedCache } from './cache-check.js';
import type { KubeClient } from './client.js';
import { KubeError } from './error.js';
import { isExpired, listAndWatch } from './list-and-watch.js';
import { createObjectStore, isNewer } from './object-store.js';
import type { Cacheable, Change } from './object-store.js';
import { listPages } from './pages.js';
import type { WatchEvent } from './watch.js';

export type { CacheCheck } from './cache-check.js';
export type { Cacheable, Change } from './object-store.js';

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
  /** How many objects there are. */
  readonly size: number;
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
  /** Called for every complete list and for every event of a watch; a quiet server sends a bookmark about once a minute. */
  onHeard?: (by: 'list' | 'watch') => void;
  /** First and longest wait between two attempts, in milliseconds (default 200 and 10,000). */
  backoff?: Backoff;
  /** Compares the cache with the API server from time to time; without it, a lost event goes unnoticed. */
  check?: CacheCheck;
}

/** An informer over a raw client. */
export function createInformer<T extends Cacheable>(options: InformerOptions<T>): Informer<T> {
  const { apiVersion, kind, onError, check } = options;
  const store = createObjectStore<T>({ apiVersion, kind, trim: options.trim ?? withoutManagers });
  const synced = createLatch();
  const mirror = createMirror(options, store, synced.open);
  return {
    apiVersion,
    kind,
    get synced() {
      return synced.isOpen();
    },
    whenSynced: synced.whenOpen,
    get: store.get,
    list: store.list,
    get size() {
      return store.size();
    },
    learn: store.set,
    onChange: store.onChange,
    async run(signal) {
      const checking =
        check === undefined
          ? undefined
          : keepChecking(mirror, check, { signal, isReady: synced.isOpen, onError });
      await mirror.follow(signal);
      await checking;
    },
  };
}

/** Something that happens once. */
interface Latch {
  open: () => void;
  isOpen: () => boolean;
  whenOpen: () => Promise<void>;
}

function createLatch(): Latch {
  let isOpen = false;
  const waiting: (() => void)[] = [];
  return {
    open() {
      isOpen = true;
      for (const resolve of waiting.splice(0)) resolve();
    },
    isOpen: () => isOpen,
    whenOpen: () => (isOpen ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}

/** Keeps a store as the API server has it. */
interface StoreMirror<T extends Cacheable> extends CheckedCache<T> {
  /** Lists and watches until the signal aborts. */
  follow: (signal: AbortSignal) => Promise<void>;
}

/** @param onListed called with every complete list */
function createMirror<T extends Cacheable>(
  options: InformerOptions<T>,
  store: StoreMirror<T>['store'],
  onListed: () => void,
): StoreMirror<T> {
  const { kube, apiVersion, kind, backoff = { minMs: 200, maxMs: 10_000 } } = options;
  const type = { apiVersion, kind };
  const selected = options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector };
  /** The newest version that a list or the watch has reported: a later list must not be older. */
  let latest: string | undefined;

  async function list(signal: AbortSignal): Promise<{ version: string }> {
    const present = new Set<string | undefined>();
    let version = '';
    // Page by page, so that no more than one of them is ever held whole.
    for await (const page of listPages<T>(kube, type, { ...selected, signal })) {
      for (const object of page.items) {
        present.add(object.metadata.uid);
        store.set(object);
      }
      version = page.metadata.resourceVersion;
    }
    store.keepOnly(present, version);
    latest = version;
    options.onHeard?.('list');
    onListed();
    return { version };
  }

  function take(event: WatchEvent<T>): void {
    const { resourceVersion } = event.object.metadata;
    latest = resourceVersion ?? latest;
    if (event.type === 'DELETED') store.remove(event.object, resourceVersion);
    else if (event.type !== 'BOOKMARK') store.set(event.object);
  }

  function setBack(): void {
    latest = undefined;
    store.setBack();
  }

  /**
   * A server whose storage was restored from a backup has not reached the version yet that a watch would go on from,
   * and reports nothing until it does: changes in between would be missed. The restore restarted it, so the watch broke
   * off.
   */
  async function refuseFuture(version: string, signal: AbortSignal): Promise<void> {
    const { metadata } = await kube.list(type, { ...selected, limit: 1, metadataOnly: true, signal });
    if (!isNewer(version, metadata.resourceVersion)) return;
    setBack();
    throw new KubeError(
      `the server's storage was set back from version ${version} to ${metadata.resourceVersion}`,
      { code: 410, reason: 'SetBack' },
    );
  }

  async function follow(signal: AbortSignal): Promise<void> {
    const steps = listAndWatch({
      read: () => list(signal),
      watch: (version) => kube.watch<T>(type, { ...selected, resourceVersion: version, signal }),
      resume: (version) => refuseFuture(version, signal),
      goesOn: () => true,
      backoff,
      signal,
    });
    for await (const step of steps) {
      try {
        if (step.kind === 'event') {
          options.onHeard?.('watch');
          take(step.event);
        } else if (step.kind === 'failed' && !isExpired(step.error)) options.onError?.(step.error);
      } catch (error) {
        // A handler that throws keeps nothing else from being heard of.
        options.onError?.(error);
      }
    }
  }

  return { kube, type, selected, store, latest: () => latest, list, setBack, follow };
}

function withoutManagers<T extends Cacheable>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { managedFields?: unknown };
  return { ...object, metadata };
}
