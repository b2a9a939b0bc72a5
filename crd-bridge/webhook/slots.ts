/** A bounded number of things at once, and a bounded number that wait for their turn. */
export interface Slots {
  /**
   * Waits for a turn.
   *
   * @returns a function that ends the turn; undefined when too many wait already, or the turn has not come in time
   */
  take(): Promise<(() => void) | undefined>;
}

/** Turns are given in the order they were asked for. */
export function createSlots(options: { atOnce: number; waiting: number; timeoutMs: number }): Slots {
  const queue = new Set<() => void>();
  let free = options.atOnce;

  function give(): () => void {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const [next] = queue;
      if (next === undefined) free += 1;
      else {
        queue.delete(next);
        next();
      }
    };
  }

  return {
    take() {
      if (free > 0) {
        free -= 1;
        return Promise.resolve(give());
      }
      if (queue.size >= options.waiting) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        const start = (): void => {
          clearTimeout(timer);
          resolve(give());
        };
        const timer = setTimeout(() => {
          queue.delete(start);
          resolve(undefined);
        }, options.timeoutMs);
        queue.add(start);
      });
    },
  };
}
