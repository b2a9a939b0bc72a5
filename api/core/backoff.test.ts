import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.js';

const backoff = { minMs: 100, maxMs: 1000 };

describe('the wait before the next attempt', () => {
  it('doubles with each failure up to the longest one', () => {
    expect([1, 2, 3, 4, 5, 1_000_000].map((failures) => backoffMs(backoff, failures, 1))).toEqual([
      100, 200, 400, 800, 1000, 1000,
    ]);
  });

  it('is up to half shorter by chance', () => {
    expect(backoffMs(backoff, 3, 0)).toBe(200);
    const waits = Array.from({ length: 200 }, () => backoffMs(backoff, 3));
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(200);
    expect(Math.max(...waits)).toBeLessThanOrEqual(400);
    expect(new Set(waits).size).toBeGreaterThan(100);
  });
});
