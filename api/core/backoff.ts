/** First and longest wait between two attempts, in milliseconds. */
export interface Backoff {
  minMs: number;
  maxMs: number;
}

/** Doublings after which every longest wait is reached; more would leave the numbers that are exact. */
const MAX_DOUBLINGS = 30;

/**
 * How long to wait before the next attempt, in milliseconds: twice as long after each failure, and up to half shorter by
 * chance, so that what failed together does not come back together.
 *
 * @param failures attempts that have failed one after the other, 1 or more
 * @param random between 0 and 1
 */
export function backoffMs({ minMs, maxMs }: Backoff, failures: number, random = Math.random()): number {
  const doublings = Math.min(failures - 1, MAX_DOUBLINGS);
  return Math.min(maxMs, minMs * 2 ** doublings) * (0.5 + random / 2);
}
