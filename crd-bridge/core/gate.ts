import type { Log } from './log.js';
import { pause } from './pause.js';

/** What a gate is made of. */
export interface GateOptions {
  /** Finds what keeps the gate closed; undefined when nothing does. Rejects, saying so, when it cannot find out. */
  look: () => Promise<string | undefined>;
  /** Time between two looks while it is open, in milliseconds. */
  openMs: number;
  /** Time between two looks while it is closed. */
  closedMs: number;
  log: Log;
}

/** Keeps a bridge from beginning anything while it would do harm. */
export interface Gate {
  /** Why nothing may be begun; undefined when something may. */
  closed(): string | undefined;
  /** Resolves once the gate is open, or once the signal of `run` has aborted. */
  whenOpen(): Promise<void>;
  /** Calls the handler each time it opens. */
  onOpen(handler: () => void): void;
  /** Looks until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * A gate that is closed until the first look has found nothing. A failed look leaves it open or closed as it was: it
 * must neither open a gate nor stop a failover.
 */
export function createGate(options: GateOptions): Gate {
  const { log } = options;
  const handlers: (() => void)[] = [];
  const waiting: (() => void)[] = [];
  let reason: string | undefined = 'not looked yet whether executions may begin';

  const release = (): void => {
    for (const resolve of waiting.splice(0)) resolve();
  };

  async function look(): Promise<void> {
    let found: string | undefined;
    try {
      found = await options.look();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (reason !== message) log.warn({ err: error }, message);
      if (reason !== undefined) reason = message;
      return;
    }
    const before = reason;
    reason = found;
    if (found === before) return;
    if (found !== undefined) {
      log.warn({}, `nothing is begun: ${found}`);
      return;
    }
    log.info({}, 'nothing is in the way: executions may begin');
    for (const handler of handlers) handler();
    release();
  }

  return {
    closed: () => reason,
    whenOpen: () =>
      reason === undefined ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
    onOpen(handler) {
      handlers.push(handler);
    },
    async run(signal) {
      signal.addEventListener('abort', release, { once: true });
      while (!signal.aborted) {
        await look();
        await pause(reason === undefined ? options.openMs : options.closedMs, signal);
      }
      release();
    },
  };
}
