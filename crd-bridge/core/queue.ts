import { AsyncLocalStorage } from 'node:async_hooks';
import { backoffMs } from '../../api/core/backoff.js';
import type { Backoff } from '../../api/core/backoff.js';
import { createKeyTimers } from './key-timers.js';

/** 0: must not wait behind anything; 1: goes on with something; 2: begins something. */
export type QueueRank = 0 | 1 | 2;

/** What a queue is made of. */
export interface QueueOptions {
  /** Keys that are handled at the same time; keys of rank 0 may exceed this by a quarter. */
  concurrency: number;
  /** Waits between two attempts of one key. */
  backoff: Backoff;
  /** Handles a key. Returns after how many milliseconds to look at it again, if at all. */
  handle: (key: string) => Promise<number | undefined>;
  /** Called for each failed attempt, before the next one is scheduled. */
  onError: (key: string, error: unknown, attempt: number) => void;
  /** Rank of a key, asked each time it is queued; lower ranks go first. Default: all keys have the same rank. */
  rank?: (key: string) => QueueRank;
  /** Least wait after a failed attempt, in milliseconds: what the server has asked for. */
  atLeastMs?: (error: unknown) => number | undefined;
  /** Between 0 and 1; for tests. */
  random?: () => number;
}

/**
 * Ordered work by key: a key is never handled twice at once, never lost, and one that keeps failing is put off
 * longer and longer without holding up another.
 */
export interface WorkQueue {
  /** Handles the key as soon as there is room; once more if it is being handled now. */
  add(key: string): void;
  /** Handles the key after a time, unless it comes up sooner. */
  addAfter(key: string, ms: number): void;
  /** Keys that wait for room or are being handled. */
  readonly depth: number;
  /** Accepts no more keys and waits for those that are being handled. */
  stop(): Promise<void>;
}

/** A queue in memory. */
export function createQueue(options: QueueOptions): WorkQueue {
  const ready: readonly Set<string>[] = [new Set(), new Set(), new Set()];
  const rankOf = options.rank ?? (() => 1);
  // Keys that occupy all places must not hold up urgent ones.
  const places = [options.concurrency + Math.ceil(options.concurrency / 4)];
  const active = new Map<string, Promise<void>>();
  const again = new Set<string>();
  const attempts = new Map<string, number>();
  const timers = createKeyTimers(add);
  const random = options.random ?? Math.random;
  // Whoever adds a key wakes the queue, and what it does then is no part of his trace.
  const apart = AsyncLocalStorage.snapshot();
  let stopped = false;

  function pump(): void {
    for (const [rank, keys] of ready.entries()) {
      for (const key of keys) {
        if (active.size >= (places[rank] ?? options.concurrency)) break;
        keys.delete(key);
        active.set(key, apart(work, key));
      }
    }
  }

  async function work(key: string): Promise<void> {
    // Leaves the caller's stack first, so that a handler never runs inside an informer's callback. It also gives other
    // work its turn: a pass over thousands of objects that need nothing would otherwise run in one piece.
    await new Promise<void>((resolve) => setImmediate(resolve));
    try {
      const after = await options.handle(key);
      attempts.delete(key);
      if (after !== undefined) addAfter(key, after);
    } catch (error) {
      const attempt = (attempts.get(key) ?? 0) + 1;
      attempts.set(key, attempt);
      options.onError(key, error, attempt);
      const waitMs = backoffMs(options.backoff, attempt, random());
      addAfter(key, Math.max(waitMs, options.atLeastMs?.(error) ?? 0));
    } finally {
      active.delete(key);
      if (again.delete(key)) enqueue(key);
      if (!stopped) pump();
    }
  }

  function add(key: string): void {
    if (stopped) return;
    timers.clear(key);
    if (active.has(key)) {
      again.add(key);
      return;
    }
    enqueue(key);
    pump();
  }

  function enqueue(key: string): void {
    const rank = rankOf(key);
    for (const [other, keys] of ready.entries()) if (other !== rank) keys.delete(key);
    ready[rank]?.add(key);
  }

  function addAfter(key: string, ms: number): void {
    if (!stopped) timers.set(key, ms);
  }

  return {
    add,
    addAfter,
    get depth() {
      return ready.reduce((sum, keys) => sum + keys.size, active.size);
    },
    async stop() {
      stopped = true;
      for (const keys of ready) keys.clear();
      timers.clearAll();
      await Promise.all(active.values());
    },
  };
}
