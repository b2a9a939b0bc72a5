/** What a start room is made of. */
export interface StartRoomOptions {
  /** Runs that may be started and not taken up yet, at most. */
  places: number;
  /** A run that nobody takes up gives its place away after so long, in milliseconds: others are not to wait for it. */
  holdMs: number;
  /** A run that is taken up at once says nothing for so long, in milliseconds (0). */
  quietMs?: () => number;
  /** Brings an object up whose turn has come. */
  wake: (key: string) => void;
  now?: () => number;
}

/**
 * There are so many places at first, and where nothing is taken up in time: what a worker on two cores begins within some
 * three seconds, which is how long a cancel then waits behind them.
 */
const LEAST = 40;
/** A run that is taken up within this time did not wait for others, in milliseconds. */
const PROMPT_MS = 2000;
const LATE_MS = 5000;

/**
 * Bounds how many runs are started and not taken up by a worker yet. What waits here costs nothing, and is cancelled at
 * once. What waits in Temporal stands in the queue of its tasks, before the tasks of runs that go on, of cancels among
 * them, and none of it can be taken out of turn. How many places there are follows from how soon runs are taken up:
 * each that is taken up promptly makes one more, each that is late takes a twentieth away.
 */
export interface StartRoom {
  /**
   * Takes a place for the run of an object, or keeps the one it has. Who finds none waits, in the order of asking, and
   * is woken with a place.
   */
  enter(uid: string, key: string): boolean;
  /** A worker has taken the run up: its place goes to the next who waits. */
  takenUp(uid: string): void;
  /** It has ended, or was never started: the same. */
  leave(uid: string): void;
  /** The object does not wait any more. A place that it has it keeps. */
  giveUp(uid: string): void;
  /** Objects that wait. */
  readonly waiting: number;
}

/** A room in memory. A bridge that starts anew counts from nothing, and so does each replica. */
export function createStartRoom(options: StartRoomOptions): StartRoom {
  const { now = Date.now, quietMs = () => 0 } = options;
  const taken = new Map<string, { timer: NodeJS.Timeout; since: number }>();
  const waiting = new Map<string, string>();
  const least = Math.min(LEAST, options.places);
  let places = least;

  function take(uid: string): void {
    const timer = setTimeout(() => {
      leave(uid);
    }, options.holdMs);
    // No reason to keep a process that wants to end.
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
      else if (ms >= LATE_MS) places = Math.max(least, places * 0.95);
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
