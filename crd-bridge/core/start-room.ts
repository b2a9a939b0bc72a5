/** What a start room is made of. */
export interface StartRoomOptions {
  /** Most runs that may be started and not taken up yet. */
  places: number;
  /**
   * A run that nobody takes up loses its place after this long, in milliseconds, so that others need not wait for it.
   */
  holdMs: number;
  /** How long a run sends nothing even if it is taken up at once, in milliseconds (default 0). */
  quietMs?: () => number;
  /** Brings an object up whose turn has come. */
  wake: (key: string) => void;
  now?: () => number;
}

/**
 * Number of places at first, and the least when runs are taken up late: as many runs as a worker on two cores begins
 * within about three seconds, which is how long a cancel then waits behind them.
 */
const MIN_PLACES = 40;
/** A run that is taken up within this time did not wait for others, in milliseconds. */
const PROMPT_MS = 2000;
const LATE_MS = 5000;

/**
 * Bounds how many runs are started and not yet taken up by a worker. A run that waits here costs nothing and is
 * cancelled at once. A run that waits in Temporal stands in its task queue, ahead of the tasks of runs already under
 * way, cancels among them, and cannot be taken out of turn. The number of places follows how soon runs are taken up:
 * each prompt one adds a place, each late one takes a twentieth away.
 */
export interface StartRoom {
  /**
   * Takes a place for the run of an object, or keeps the one it has. Returns false if none is free: the object then
   * waits, in the order of asking, and is woken once it has a place.
   */
  enter(uid: string, key: string): boolean;
  /** A worker has taken the run up: its place goes to the next object that waits. */
  takenUp(uid: string): void;
  /** The run has ended or was never started: its place is passed on, too. */
  leave(uid: string): void;
  /** The object no longer waits. It keeps a place that it already has. */
  giveUp(uid: string): void;
  /** Objects that wait. */
  readonly waiting: number;
}

/** A room in memory. Each replica has its own, and a bridge that restarts begins with an empty one. */
export function createStartRoom(options: StartRoomOptions): StartRoom {
  const { now = Date.now, quietMs = () => 0 } = options;
  const taken = new Map<string, { timer: NodeJS.Timeout; since: number }>();
  const waiting = new Map<string, string>();
  const minPlaces = Math.min(MIN_PLACES, options.places);
  let places = minPlaces;

  function take(uid: string): void {
    const timer = setTimeout(() => {
      leave(uid);
    }, options.holdMs);
    // Must not keep a process alive that wants to end.
    timer.unref();
    taken.set(uid, { timer, since: now() + quietMs() });
  }

  function leave(uid: string): void {
    waiting.delete(uid);
    const place = taken.get(uid);
    if (place === undefined) return;
    clearTimeout(place.timer);
    taken.delete(uid);
    for (const [next, key] of waiting) {
      if (taken.size >= places) return;
      waiting.delete(next);
      take(next);
      options.wake(key);
    }
  }

  return {
    enter(uid, key) {
      if (taken.has(uid)) return true;
      if (taken.size >= places) {
        waiting.set(uid, key);
        return false;
      }
      take(uid);
      return true;
    },
    takenUp(uid) {
      const place = taken.get(uid);
      if (place === undefined) return;
      const ms = now() - place.since;
      if (ms <= PROMPT_MS) places = Math.min(options.places, places + 1);
      else if (ms >= LATE_MS) places = Math.max(minPlaces, places * 0.95);
      leave(uid);
    },
    leave,
    giveUp: (uid) => {
      waiting.delete(uid);
    },
    get waiting() {
      return waiting.size;
    },
  };
}
