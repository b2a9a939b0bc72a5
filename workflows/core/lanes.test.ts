import { describe, expect, it } from 'vitest';
import { inLanes, runInTurn } from './lanes.js';
import type { Turn } from './lanes.js';

/** Work that a test ends when it wants to. */
function createWork() {
  const open = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  const begun: number[] = [];
  const settle = async (index: number, how: 'resolve' | 'reject'): Promise<void> => {
    const entry = open.get(index);
    if (entry === undefined) throw new Error(`${index} does not run`);
    open.delete(index);
    if (how === 'resolve') entry.resolve();
    else entry.reject(new Error(`${index} broke`));
    // Everything that follows from it happens in microtasks.
    await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    begun,
    running: () => [...open.keys()],
    body: (index: number) =>
      new Promise<void>((resolve, reject) => {
        begun.push(index);
        open.set(index, { resolve, reject });
      }),
    end: (index: number) => settle(index, 'resolve'),
    fail: (index: number) => settle(index, 'reject'),
  };
}

describe('inLanes', () => {
  it('runs at most as many at once as there are lanes, in order', async () => {
    const work = createWork();
    const all = inLanes([0, 1, 2, 3], 2, work.body);
    expect(work.running()).toEqual([0, 1]);
    await work.end(1);
    expect(work.running()).toEqual([0, 2]);
    await work.end(0);
    await work.end(3);
    await work.end(2);
    await all;
    expect(work.begun).toEqual([0, 1, 2, 3]);
  });

  it('needs no lane for nothing, and no more lanes than items', async () => {
    await inLanes([], 5, () => Promise.reject(new Error('nothing was to be done')));
    const work = createWork();
    const all = inLanes([0], 5, work.body);
    expect(work.running()).toEqual([0]);
    await work.end(0);
    await all;
  });

  it('rejects when one item does', async () => {
    const work = createWork();
    const all = inLanes([0, 1], 1, work.body);
    const seen = expect(all).rejects.toThrow('0 broke');
    await work.fail(0);
    await seen;
    expect(work.begun).toEqual([0]);
  });
});

describe('runInTurn', () => {
  /** Items of which each waits for those named, with a limit. */
  function begin(
    needs: readonly (readonly number[])[],
    { limit = 10, stopped, refused }: { limit?: number; stopped?: () => boolean; refused?: number } = {},
  ) {
    const work = createWork();
    const items = needs.map(() => ({ phase: 'Pending' }));
    const set = (index: number, phase: string): void => {
      const item = items[index];
      if (item !== undefined) item.phase = phase;
    };
    let rounds = 0;
    const judge = (index: number): Turn => {
      if (stopped?.() === true || index === refused) return { reason: 'Stopped', message: 'stopped' };
      const phases = (needs[index] ?? []).map((need) => items[need]?.phase);
      if (phases.includes('Skipped')) return { reason: 'DependencyFailed', message: 'a need was skipped' };
      return phases.every((phase) => phase === 'Succeeded') ? 'start' : 'wait';
    };
    const done = runInTurn({
      items,
      limit,
      judge: () => judge,
      start: async (index) => {
        set(index, 'Running');
        await work.body(index);
        set(index, 'Succeeded');
      },
      skip: (index) => set(index, 'Skipped'),
      ended: () => (rounds += 1),
    });
    return { work, done, phases: () => items.map(({ phase }) => phase), rounds: () => rounds };
  }

  it('starts what has nothing to wait for, and the rest as its needs end', async () => {
    const { work, done } = begin([[], [0], [], [1, 2]]);
    expect(work.running()).toEqual([0, 2]);
    await work.end(0);
    expect(work.running()).toEqual([2, 1]);
    await work.end(2);
    await work.end(1);
    expect(work.running()).toEqual([3]);
    await work.end(3);
    await done;
  });

  it('lets an item wait for a free lane', async () => {
    const { work, done } = begin([[], [], []], { limit: 2 });
    expect(work.running()).toEqual([0, 1]);
    await work.end(1);
    expect(work.running()).toEqual([0, 2]);
    await work.end(0);
    await work.end(2);
    await done;
  });

  it('skips what is left after a stop, and lets what runs end', async () => {
    let stop = false;
    const { work, done, phases } = begin([[], [], [0]], { stopped: () => stop });
    stop = true;
    await work.end(0);
    expect(phases()).toEqual(['Succeeded', 'Running', 'Skipped']);
    await work.end(1);
    await done;
    expect(work.begun).toEqual([0, 1]);
  });

  it('decides dependants that stand earlier in the list at once', async () => {
    const { work, done, phases } = begin([[2], [0], [3], []], { refused: 3 });
    await done;
    expect(work.begun).toEqual([]);
    expect(phases()).toEqual(['Skipped', 'Skipped', 'Skipped', 'Skipped']);
  });

  it('tells of every end before the next item begins', async () => {
    const { work, done, rounds } = begin([[], [0]], { limit: 1 });
    await work.end(0);
    expect(rounds()).toBe(1);
    await work.end(1);
    await done;
    expect(rounds()).toBe(2);
  });

  it('ends where everything waits for what never comes', async () => {
    const { work, done, phases } = begin([[1], [0]]);
    await done;
    expect(work.begun).toEqual([]);
    expect(phases()).toEqual(['Pending', 'Pending']);
  });
});
