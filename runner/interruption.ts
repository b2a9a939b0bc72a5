/** The one interrupt that an operation gets, and a kill after it (T7.7). */
import type { InterruptCause } from '../api/terraform/operation-result.js';

/** Whether an operation is to end early. The first cause counts; what comes later changes nothing. */
export interface Interruption {
  cause(): InterruptCause | undefined;
  killReason(): string | undefined;
  interrupt(cause: Omit<InterruptCause, 'at'>): void;
  kill(reason: string): void;
  /** Called at each change, and at once where there was one already. @returns takes the listener off */
  watch(listener: () => void): () => void;
}

/** An operation that nobody has interrupted yet. */
export function createInterruption(now: () => Date = () => new Date()): Interruption {
  const listeners = new Set<() => void>();
  let cause: InterruptCause | undefined;
  let reason: string | undefined;
  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };
  return {
    cause: () => cause,
    killReason: () => reason,
    interrupt(first) {
      if (cause !== undefined) return;
      cause = { ...first, at: now().toISOString() };
      tell();
    },
    kill(why) {
      if (reason !== undefined) return;
      reason = why;
      tell();
    },
    watch(listener) {
      listeners.add(listener);
      if (cause !== undefined || reason !== undefined) listener();
      return () => void listeners.delete(listener);
    },
  };
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * From now on signals interrupt the operation instead of ending the process. All but the first are swallowed: a second
 * SIGINT would make the engine give up what it has not saved.
 */
export function interruptOnSignals(
  interruption: Interruption,
  process: Pick<NodeJS.Process, 'on'> = globalThis.process,
): void {
  for (const signal of SIGNALS) {
    process.on(signal, () =>
      interruption.interrupt({ by: 'outside', reason: `the runner was sent ${signal}` }),
    );
  }
}
