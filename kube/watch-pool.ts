import { AsyncLocalStorage } from 'node:async_hooks';
import type { KubeClient } from './client.js';
import { startTimer } from './long-timer.js';
import type { KubeObject, ObjectKey } from './object.js';
import { feed, observe } from './observe.js';

/** Whose watch it is: two that may see different things never share one. */
export interface WatchOwner {
  kube: KubeClient;
  /** Tells identity and cluster apart, such as the user name and the server's address. */
  id: string;
}

/** Watches that are shared by many waits for single objects. */
export interface WatchPool {
  /**
   * Waits until `check` finds what it looks for in one object; it is called with the first state and after every change,
   * with undefined while there is no such object.
   *
   * A few waits have a watch each, which sees nothing but their object. Where one owner waits for more objects of a
   * kind in a namespace, one watch of all of them serves these waits; an owner that may not watch them all keeps one
   * each.
   *
   * @returns what `check` gave, or undefined when the time was up
   * @throws the reason of the signal, and KubeError for an object that cannot be read at all
   */
  until<T>(
    owner: WatchOwner,
    key: ObjectKey,
    check: (object: KubeObject | undefined) => T | undefined,
    options: { signal: AbortSignal; timeoutMs: number },
  ): Promise<T | undefined>;
}

/** This many waits for objects of a kind in a namespace have a watch each. */
const SINGLE_WATCHES = 4;

interface Group {
  waits: number;
  shared?: Shared;
}

interface Shared {
  users: number;
  stop: AbortController;
  /** Undefined until the first list. */
  objects: ReadonlyMap<string, KubeObject> | undefined;
  isBroken: boolean;
  /** Called with the name of what changed; undefined: anything may have. */
  listeners: Set<(name: string | undefined) => void>;
}

/** Watches of one process. */
export function createWatchPool(): WatchPool {
  const groups = new Map<string, Group>();
  // A shared watch outlives the wait that began it, and is no part of its trace.
  const apart = AsyncLocalStorage.snapshot();

  function join(group: Group, owner: WatchOwner, key: ObjectKey): Shared {
    const known = group.shared;
    if (known !== undefined && !known.isBroken) {
      known.users += 1;
      return known;
    }
    const shared: Shared = {
      users: 1,
      stop: new AbortController(),
      objects: undefined,
      isBroken: false,
      listeners: new Set(),
    };
    group.shared = shared;
    const { apiVersion, kind, namespace } = key;
    apart(feed, owner.kube, { apiVersion, kind, namespace }, shared.stop.signal, (objects, changed) => {
      shared.objects = objects;
      for (const listener of [...shared.listeners]) listener(changed?.metadata.name);
    }).catch(() => {
      // Its users go on with watches of their own.
      shared.isBroken = true;
      for (const listener of [...shared.listeners]) listener(undefined);
    });
    return shared;
  }

  function leave(group: Group, shared: Shared): void {
    shared.users -= 1;
    if (shared.users > 0) return;
    shared.stop.abort();
    if (group.shared === shared) delete group.shared;
  }

  return {
    async until(owner, key, check, options) {
      const id = JSON.stringify([owner.id, key.apiVersion, key.kind, key.namespace ?? '']);
      const group = groups.get(id) ?? { waits: 0 };
      groups.set(id, group);
      group.waits += 1;
      const until = Date.now() + options.timeoutMs;
      try {
        if (group.waits > SINGLE_WATCHES) {
          const shared = join(group, owner, key);
          try {
            const found = await follow(shared, key.name, check, options);
            if (found !== BROKEN) return found;
          } finally {
            leave(group, shared);
          }
        }
        return await observe(owner.kube, { object: key }, ({ object: [found] }) => check(found), {
          signal: options.signal,
          timeoutMs: until - Date.now(),
        });
      } finally {
        group.waits -= 1;
        if (group.waits === 0) groups.delete(id);
      }
    },
  };
}

const BROKEN = Symbol('the shared watch has ended');

/** One object of a shared watch. */
function follow<T>(
  shared: Shared,
  name: string,
  check: (object: KubeObject | undefined) => T | undefined,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<T | undefined | typeof BROKEN> {
  return new Promise((resolve, reject) => {
    const end = (finish: () => void): void => {
      endTimer();
      shared.listeners.delete(look);
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    const onAbort = (): void => {
      end(() => {
        reject(signal.reason as Error);
      });
    };
    const look = (changed: string | undefined): void => {
      if (changed !== undefined && changed !== name) return;
      if (shared.isBroken) {
        end(() => {
          resolve(BROKEN);
        });
        return;
      }
      if (shared.objects === undefined) return;
      try {
        const found = check(nameIn(shared.objects, name));
        if (found !== undefined)
          end(() => {
            resolve(found);
          });
      } catch (error) {
        end(() => {
          reject(error instanceof Error ? error : new Error(String(error)));
        });
      }
    };
    const endTimer = startTimer(timeoutMs, () => {
      end(() => {
        resolve(undefined);
      });
    });
    signal.addEventListener('abort', onAbort, { once: true });
    shared.listeners.add(look);
    if (signal.aborted) onAbort();
    else look(undefined);
  });
}

function nameIn(objects: ReadonlyMap<string, KubeObject>, name: string): KubeObject | undefined {
  for (const object of objects.values()) if (object.metadata.name === name) return object;
  return undefined;
}
