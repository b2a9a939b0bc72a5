import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createQueue } from './queue.js';
import type { QueueOptions, QueueRank, WorkQueue } from './queue.js';

const backoff = { minMs: 100, maxMs: 1000 };
const open: WorkQueue[] = [];
const make = (options: Partial<QueueOptions> & Pick<QueueOptions, 'handle'>): WorkQueue => {
  const queue = createQueue({
    concurrency: 4,
    backoff,
    onError: () => undefined,
    random: () => 1,
    ...options,
  });
  open.push(queue);
  return queue;
};

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((queue) => queue.stop()));
  vi.useRealTimers();
});

/** Each turn of the faked clock takes a millisecond. */
const rounded = (ms: number): number => Math.round(ms / 20) * 20;

/** Work that ends when told to. */
function latch() {
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    running,
    handle: (key: string) =>
      new Promise<undefined>((resolve) => {
        running.push(key);
        ends.set(key, () => {
          resolve(undefined);
        });
      }),
    end: async (key: string) => {
      ends.get(key)?.();
      await vi.advanceTimersByTimeAsync(0);
    },
  };
}

describe('queue', () => {
  it('works apart from whoever adds a key, such as his trace', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: [string, string | undefined][] = [];
    const queue = make({
      concurrency: 1,
      handle: (key) => {
        seen.push([key, storage.getStore()]);
        return Promise.resolve(undefined);
      },
    });
    storage.run('a run', () => {
      queue.add('a');
      queue.add('b');
      queue.addAfter('c', 10);
    });
    await vi.advanceTimersByTimeAsync(20);
    expect(seen).toEqual([
      ['a', undefined],
      ['b', undefined],
      ['c', undefined],
    ]);
  });

  it('never handles a key twice at once, and once more when it came up meanwhile', async () => {
    const work = latch();
    const queue = make({ handle: work.handle });
    queue.add('a');
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    queue.add('a');
    queue.add('a');
    expect(work.running).toEqual(['a']);
    await work.end('a');
    expect(work.running).toEqual(['a', 'a']);
    await work.end('a');
    expect(work.running).toEqual(['a', 'a']);
    expect(queue.depth).toBe(0);
  });

  it('handles no more keys at once than allowed, and the others in order [S5.17]', async () => {
    const work = latch();
    const queue = make({ handle: work.handle, concurrency: 2 });
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await vi.advanceTimersByTimeAsync(0);
    expect(work.running).toEqual(['a', 'b']);
    await work.end('b');
    expect(work.running).toEqual(['a', 'b', 'c']);
    await work.end('a');
    await work.end('c');
    await work.end('d');
    expect(queue.depth).toBe(0);
  });

  it('handles urgent keys before all others and in places of their own, and then what goes on before what begins [S6.13]', async () => {
    const work = latch();
    const ranks: Record<string, QueueRank> = { urgent: 0, other: 0, third: 0, goes: 1, cancelled: 2 };
    const queue = make({ handle: work.handle, concurrency: 4, rank: (key) => ranks[key] ?? 2 });
    const waiting = Array.from({ length: 1000 }, (_, index) => `start-${index}`);
    for (const key of ['a', 'b', 'c', 'd', ...waiting, 'cancelled', 'goes', 'urgent', 'other', 'third'])
      queue.add(key);
    await vi.advanceTimersByTimeAsync(0);
    expect(work.running).toEqual(['a', 'b', 'c', 'd', 'urgent']);
    ranks.cancelled = 0;
    queue.add('cancelled');
    for (const key of ['a', 'b', 'c', 'd', 'urgent', 'other']) await work.end(key);
    expect(work.running.slice(5)).toEqual(['other', 'third', 'cancelled', 'goes', 'start-0']);
    const stopped = queue.stop();
    for (const key of work.running) await work.end(key);
    await stopped;
  });

  it('lets others have their turn between keys that need nothing', async () => {
    vi.useRealTimers();
    let handled = 0;
    const queue = make({
      handle: () => {
        handled += 1;
        return Promise.resolve(undefined);
      },
    });
    for (let index = 0; index < 1000; index += 1) queue.add(`key-${index}`);
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(handled).toBeLessThan(1000);
    await vi.waitUntil(() => handled === 1000, { timeout: 20_000 });
  });

  it('waits as long as a server has asked for, when that is longer [S6.13]', async () => {
    const times: number[] = [];
    const started = Date.now();
    const queue = make({
      handle: () => {
        times.push(Date.now() - started);
        return Promise.reject(new Error('too many requests'));
      },
      atLeastMs: () => (times.length === 1 ? 700 : undefined),
    });
    queue.add('a');
    await vi.advanceTimersByTimeAsync(1000);
    expect(times.map(rounded)).toEqual([0, 700, 900]);
  });

  it('puts off a key that fails longer and longer, up to a limit, while others go on', async () => {
    const times: number[] = [];
    const started = Date.now();
    let good = 0;
    const queue = make({
      concurrency: 1,
      handle: (key) => {
        if (key === 'good') good += 1;
        else {
          times.push(Date.now() - started);
          throw new Error('poisoned');
        }
        return Promise.resolve(undefined);
      },
    });
    queue.add('bad');
    await vi.advanceTimersByTimeAsync(50);
    queue.add('good');
    await vi.advanceTimersByTimeAsync(0);
    expect(good).toBe(1);
    await vi.advanceTimersByTimeAsync(5000);
    // 100, 200, 400, 800, then 1000 each.
    expect(times.slice(0, 6).map(rounded)).toEqual([0, 100, 300, 700, 1500, 2500]);
  });

  it('starts the waits anew after a success', async () => {
    let failures = 3;
    const times: number[] = [];
    const queue = make({
      handle: () => {
        times.push(Date.now());
        failures -= 1;
        return failures >= 0 ? Promise.reject(new Error('no')) : Promise.resolve(undefined);
      },
    });
    queue.add('a');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(times).toHaveLength(4);
    failures = 1;
    queue.add('a');
    await vi.advanceTimersByTimeAsync(150);
    expect(times).toHaveLength(6);
  });

  it('looks again when asked to, and at the sooner of two times', async () => {
    const times: number[] = [];
    const started = Date.now();
    const queue = make({
      handle: () => {
        times.push(Date.now() - started);
        return Promise.resolve(times.length === 1 ? 500 : undefined);
      },
    });
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    queue.addAfter('a', 2000);
    queue.addAfter('a', 200);
    await vi.advanceTimersByTimeAsync(5000);
    expect(times.map(rounded)).toEqual([0, 200]);
  });

  it('waits for what is under way when it stops, and takes nothing more', async () => {
    const work = latch();
    const queue = make({ handle: work.handle });
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    let stopped = false;
    const stop = queue.stop().then(() => {
      stopped = true;
    });
    queue.add('b');
    await vi.advanceTimersByTimeAsync(0);
    expect(stopped).toBe(false);
    await work.end('a');
    await stop;
    expect(work.running).toEqual(['a']);
  });
});
