import type { KeyedMutex } from './mutex.js';

/** What batches are written by. */
export interface BatchOptions<U> {
  mutex: KeyedMutex;
  /** Writes updates of one key, oldest first. When it rejects, all of them have failed. */
  write: (updates: readonly U[]) => Promise<void>;
}

interface Pending<U> {
  update: U;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Updates of one key that arrive while a write of that key is under way go out together in the next.
 *
 * @returns a function that resolves once the update is written
 */
export function createBatches<U>({
  mutex,
  write,
}: BatchOptions<U>): (key: string, update: U) => Promise<void> {
  const waiting = new Map<string, Pending<U>[]>();

  async function flush(key: string): Promise<void> {
    const batch = waiting.get(key) ?? [];
    waiting.delete(key);
    if (batch.length === 0) return;
    try {
      await write(batch.map(({ update }) => update));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return async (key, update) => {
    const done = new Promise<void>((resolve, reject) => {
      const pending = { update, resolve, reject };
      const others = waiting.get(key);
      if (others === undefined) waiting.set(key, [pending]);
      else others.push(pending);
    });
    await Promise.all([done, mutex.run(key, () => flush(key))]);
  };
}
