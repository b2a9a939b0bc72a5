import type { Cause } from './outcome.js';

/** Runs `body` for each item, in order, up to `limit` at once. Rejects when one of them does. */
export async function inLanes<Item>(
  items: readonly Item[],
  limit: number,
  body: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const lane = async (): Promise<void> => {
    // All lanes draw from the one iterator.
    for (const item of queue) await body(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
}

/** What becomes of an item that has not begun: it begins as soon as a lane is free, waits, or never begins and why. */
export type Turn = 'start' | 'wait' | Cause;

/** Items that begin when it is their turn, and how. */
export interface Turns {
  /** In list order. Only those whose phase is Pending are looked at: `start` and `skip` change it before they return. */
  items: readonly { readonly phase: string }[];
  /** Most items that run at once. */
  limit: number;
  /** Called before each pass over the items, for what stays the same during the pass. */
  judge: () => (index: number) => Turn;
  start: (index: number) => Promise<void>;
  skip: (index: number, cause: Cause) => void;
  /** Some item has ended; called before the pass that follows. */
  ended?: () => void;
}

/**
 * Starts items as their turn comes and a lane is free, until none runs and none may begin. What to wait for, and when to
 * stop, is for `judge` to say: after a stop it answers a cause for every item that is left.
 */
export async function runInTurn({ items, limit, judge, start, skip, ended }: Turns): Promise<void> {
  const running = new Map<number, Promise<void>>();
  for (;;) {
    let skipped = false;
    const turnOf = judge();
    for (const [index, item] of items.entries()) {
      if (item.phase !== 'Pending') continue;
      const turn = turnOf(index);
      if (turn === 'wait' || (turn === 'start' && running.size >= limit)) continue;
      if (turn === 'start') {
        running.set(
          index,
          start(index).finally(() => running.delete(index)),
        );
      } else {
        skip(index, turn);
        skipped = true;
      }
    }
    // Dependants that stand earlier in the list are decided in another pass.
    if (skipped) continue;
    if (running.size === 0) return;
    await Promise.race(running.values());
    ended?.();
  }
}
