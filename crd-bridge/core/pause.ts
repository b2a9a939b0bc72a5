import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a time in milliseconds, or until the signal aborts. Never rejects. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/** A time that is up to a tenth shorter or longer, so that replicas do not do the same at the same moment. */
export const spread = (ms: number): number => ms * (0.9 + Math.random() / 5);
