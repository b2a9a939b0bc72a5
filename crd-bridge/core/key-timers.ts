/** At most one timer per key. */
export interface KeyTimers {
  /** Fires after a time in milliseconds, unless the key's timer fires sooner: the later of the two is dropped. */
  set(key: string, ms: number): void;
  clear(key: string): void;
  clearAll(): void;
}

/**
 * Timers in memory.
 *
 * @param fire called with a key whose time has come, once its timer is gone
 */
export function createKeyTimers(fire: (key: string) => void): KeyTimers {
  const timers = new Map<string, { due: number; timer: NodeJS.Timeout }>();

  function clear(key: string): void {
    clearTimeout(timers.get(key)?.timer);
    timers.delete(key);
  }

  return {
    set(key, ms) {
      const due = Date.now() + ms;
      const known = timers.get(key);
      if (known !== undefined && known.due <= due) return;
      clear(key);
      const timer = setTimeout(() => {
        timers.delete(key);
        fire(key);
      }, ms);
      timers.set(key, { due, timer });
    },
    clear,
    clearAll() {
      for (const key of [...timers.keys()]) clear(key);
    },
  };
}
