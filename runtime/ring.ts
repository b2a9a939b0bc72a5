import { setTimeout as sleep } from 'node:timers/promises';

/** Wait between two attempts at the first reading, in milliseconds. */
const FIRST_READING_MS = 1_000;

/** Something that is read again and again while programs run, so that it can be changed under them, such as a ring of keys. */
export interface Ring<T> {
  /** As it was last read. */
  current(): T;
  /** When that was, in milliseconds since the epoch: a reading that fails does not count. */
  knownAt(): number;
  /**
   * Reads anew, unless that was done a moment ago. If the reading fails, `onFault` is called, and this resolves to what
   * was read before, which stays in use.
   */
  again(): Promise<T>;
  /** Stops reading. */
  close(): void;
}

/**
 * Opens a ring.
 *
 * @param options.maxAgeMs how often it is read anew, in milliseconds (default 30 s)
 * @param options.minAgeMs least time between two readings that {@link Ring.again} asks for (default 1 s): a caller that
 *   names unknown keys must not make the programs read without end
 * @param options.onWait called with the error when the first reading has failed; it is tried again every second until
 * it succeeds
 * @throws what the first reading throws, without `onWait`
 */
export async function openRing<T>(options: {
  read: () => Promise<T>;
  maxAgeMs?: number;
  minAgeMs?: number;
  now?: () => number;
  onWait?: (error: unknown) => void;
  onFault: (error: unknown) => void;
}): Promise<Ring<T>> {
  const { read, maxAgeMs = 30_000, minAgeMs = 1_000, now = Date.now, onWait, onFault } = options;
  let known: T = await (onWait === undefined ? read() : readAtLast(read, onWait));
  let knownAt = now();
  let readAt = knownAt;
  let reading: Promise<T> | undefined;

  const readAnew = (): Promise<T> =>
    (reading ??= read()
      .then((found): T => {
        knownAt = now();
        return (known = found);
      })
      .catch((error: unknown) => {
        onFault(error);
        return known;
      })
      .finally(() => {
        readAt = now();
        reading = undefined;
      }));

  const timer = setInterval(() => void readAnew(), maxAgeMs);
  timer.unref();
  return {
    current: () => known,
    knownAt: () => knownAt,
    again: () => (reading === undefined && now() - readAt < minAgeMs ? Promise.resolve(known) : readAnew()),
    close: () => {
      clearInterval(timer);
    },
  };
}

async function readAtLast<T>(read: () => Promise<T>, onWait: (error: unknown) => void): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      onWait(error);
    }
    await sleep(FIRST_READING_MS);
  }
}
