/** Runs one piece of work at a time for each key, in the order of asking. */
export interface KeyedMutex {
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/** How much a mutex has to do. */
export interface MutexLoad {
  /** Pieces of work that run: one a key at most. */
  held: number;
  /** Pieces of work that wait for another one of their key. */
  waiting: number;
  /** How long the piece of work that has run longest runs already, in milliseconds; 0 while none runs. */
  longestHeldMs: number;
}

/** A mutex that tells how much it has to do. */
export interface WatchedMutex extends KeyedMutex {
  load(): MutexLoad;
}

interface Lane {
  tail: Promise<unknown>;
  /** Pieces of work that run or wait. */
  pending: number;
  /** When the one that runs has begun, in milliseconds since the epoch. */
  since: number;
}

/**
 * A mutex by key. Reconciles, mirrors and finishes of one object share it, so that one process never argues with
 * itself about resource versions. Take the lock of an execution before that of its plan, never the other way round.
 */
export function createKeyedMutex(now: () => number = Date.now): WatchedMutex {
  const lanes = new Map<string, Lane>();

  function laneOf(key: string): Lane {
    const known = lanes.get(key);
    if (known !== undefined) return known;
    const lane: Lane = { tail: Promise.resolve(), pending: 0, since: now() };
    lanes.set(key, lane);
    return lane;
  }

  return {
    run(key, work) {
      const lane = laneOf(key);
      lane.pending += 1;
      const begin = (): ReturnType<typeof work> => {
        lane.since = now();
        return work();
      };
      const end = (): void => {
        lane.pending -= 1;
        if (lane.pending === 0) lanes.delete(key);
      };
      const result = lane.tail.then(begin, begin);
      lane.tail = result.then(end, end);
      return result;
    },
    load() {
      let pending = 0;
      let since = Number.POSITIVE_INFINITY;
      for (const lane of lanes.values()) {
        pending += lane.pending;
        since = Math.min(since, lane.since);
      }
      const held = lanes.size;
      return { held, waiting: pending - held, longestHeldMs: held === 0 ? 0 : Math.max(0, now() - since) };
    },
  };
}
