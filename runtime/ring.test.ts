import { afterEach, describe, expect, it, vi } from 'vitest';
import { openRing } from './ring.js';
import type { Ring } from './ring.js';

let ring: Ring<number> | undefined;
afterEach(() => {
  ring?.close();
  vi.useRealTimers();
});

describe('a ring', () => {
  it('is read anew by itself', async () => {
    vi.useFakeTimers();
    let content = 1;
    ring = await openRing({ read: () => Promise.resolve(content), maxAgeMs: 1000, onFault: fail });
    content = 2;
    expect(ring.current()).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(ring.current()).toBe(2);
  });

  it('is read anew when it is asked for, but not again and again', async () => {
    let now = 0;
    let reads = 0;
    ring = await openRing({
      read: () => Promise.resolve((reads += 1)),
      minAgeMs: 1000,
      now: () => now,
      onFault: fail,
    });
    now = 999;
    expect(await ring.again()).toBe(1);
    now = 1000;
    expect(await Promise.all([ring.again(), ring.again()])).toEqual([2, 2]);
    expect(await ring.again()).toBe(2);
    expect(ring.current()).toBe(2);
  });

  it('keeps what it has when it cannot be read any more, and says so', async () => {
    const faults: unknown[] = [];
    const readings = [Promise.resolve(7), Promise.reject(new Error('gone'))];
    let now = 1;
    ring = await openRing({
      read: () => readings.shift() ?? Promise.resolve(8),
      minAgeMs: 0,
      now: () => now,
      onFault: (error) => faults.push(error),
    });
    now = 2;
    expect(await ring.again()).toBe(7);
    expect(faults).toEqual([new Error('gone')]);
    expect(ring.knownAt()).toBe(1);
    now = 3;
    expect(await ring.again()).toBe(8);
    expect(ring.knownAt()).toBe(3);
  });

  it('is waited for where it may still come', async () => {
    const waits: unknown[] = [];
    const readings = [Promise.reject(new Error('not yet')), Promise.resolve(7)];
    ring = await openRing({
      read: () => readings.shift() ?? Promise.resolve(8),
      onWait: (error) => waits.push(error),
      onFault: fail,
    });
    expect(ring.current()).toBe(7);
    expect(waits).toEqual([new Error('not yet')]);
  });

  it('is not opened where it cannot be read at first', async () => {
    await expect(openRing({ read: () => Promise.reject(new Error('gone')), onFault: fail })).rejects.toThrow(
      'gone',
    );
  });
});

function fail(error: unknown): void {
  throw error;
}
