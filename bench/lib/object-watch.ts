import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { Cacheable } from '../../kube/informer.js';
import type { KubeObject } from '../../kube/object.js';
import type { WatchEvent } from '../../kube/watch.js';

/** An object as it was seen, and when by `performance.now()`. */
export interface Seen<T> {
  object: T;
  at: number;
}

/** One watch over the objects of a kind in a namespace. */
export interface ObjectWatch<T> {
  /** The newest state of each object, by name. */
  readonly objects: ReadonlyMap<string, Seen<T>>;
  /** Resolves with the first state of an object, from now on or already seen, that is as asked for. */
  until(name: string, what: (object: T) => boolean): Promise<Seen<T>>;
  /** Hears of every change; returns how to stop. */
  onChange(listener: (seen: Seen<T>) => void): () => void;
  /** Times the watch had to list anew: what happened meanwhile was seen late. */
  readonly gaps: number;
  /** Ends the watch. @throws what broke it */
  close(): Promise<void>;
}

interface Waiter<T> {
  what: (object: T) => boolean;
  resolve: (seen: Seen<T>) => void;
  reject: (error: unknown) => void;
}

/** Lists once and watches from that resourceVersion on. */
export async function watchObjects<T extends Cacheable>(
  kube: KubeClient,
  type: { apiVersion: string; kind: string },
  namespace: string,
): Promise<ObjectWatch<T>> {
  const objects = new Map<string, Seen<T>>();
  const waiters = new Map<string, Set<Waiter<T>>>();
  const listeners = new Set<(seen: Seen<T>) => void>();
  const stop = new AbortController();
  const state = { gaps: 0, broken: undefined as unknown };

  const see = (object: T): void => {
    const seen = { object, at: performance.now() };
    const { name } = object.metadata;
    objects.set(name, seen);
    for (const listener of listeners) listener(seen);
    const waiting = waiters.get(name);
    for (const waiter of waiting ?? []) {
      if (!waiter.what(object)) continue;
      waiting?.delete(waiter);
      waiter.resolve(seen);
    }
    if (waiting?.size === 0) waiters.delete(name);
  };
  const listAll = async (): Promise<string> => {
    const { metadata, items } = await kube.list<T>(type, { namespace });
    for (const item of items) see(item);
    return metadata.resourceVersion;
  };
  const follow = async (from: string): Promise<void> => {
    for (let resourceVersion = from; !stop.signal.aborted;) {
      try {
        for await (const event of kube.watch<T>(type, { namespace, resourceVersion, signal: stop.signal })) {
          resourceVersion =
            (event as WatchEvent<KubeObject>).object.metadata.resourceVersion ?? resourceVersion;
          if (event.type === 'ADDED' || event.type === 'MODIFIED') see(event.object);
          else if (event.type === 'DELETED') objects.delete(event.object.metadata.name);
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        if (!(error instanceof KubeError) || (error.code !== 410 && error.code !== 0)) throw error;
        state.gaps += 1;
        resourceVersion = await listAll();
      }
    }
  };
  const following = follow(await listAll()).catch((error: unknown) => {
    state.broken = error;
    for (const waiting of waiters.values()) for (const { reject } of waiting) reject(error);
  });

  return {
    objects,
    get gaps() {
      return state.gaps;
    },
    until(name, what) {
      const known = objects.get(name);
      if (known !== undefined && what(known.object)) return Promise.resolve(known);
      if (state.broken !== undefined)
        return Promise.reject(new Error(`the watch of ${type.kind} is broken`, { cause: state.broken }));
      return new Promise((resolve, reject) => {
        const waiting = waiters.get(name) ?? new Set();
        waiters.set(name, waiting.add({ what, resolve, reject }));
      });
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      stop.abort();
      await following;
      if (state.broken !== undefined)
        throw new Error(`the watch of ${type.kind} is broken`, { cause: state.broken });
    },
  };
}
