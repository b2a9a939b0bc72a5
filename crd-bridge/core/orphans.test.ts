import { expect, it, vi } from 'vitest';
import type { RunMemo } from '../../client/runs/runs.js';
import { createOrphanSweep } from './orphans.js';
import type { OrphanSweepOptions } from './orphans.js';

const memo = (name: string): RunMemo => ({
  namespace: 'ns',
  name,
  uid: name,
  snapshot: { name: '', namespace: 'ns', digest: '', parts: 1 },
});

/** A sweep over the runs that the test has open in Temporal and the objects that it has in Kubernetes. */
function setup(times: Partial<Pick<OrphanSweepOptions, 'intervalMs' | 'confirmMs' | 'now'>> = {}) {
  const world = {
    now: 0,
    open: new Set<string>(),
    cached: new Set<string>(),
    live: new Set<string>(),
    unreachable: false,
    cancelled: [] as string[],
    asked: 0,
  };
  const runs: Parameters<typeof createOrphanSweep>[0]['runs'] = {
    async *listOpen() {
      for (const name of world.open)
        yield await Promise.resolve({ workflowId: `dr/c/${name}`, memo: memo(name) });
    },
    stop: (workflowId) => {
      world.cancelled.push(workflowId);
      return Promise.resolve('accepted');
    },
  };
  const silent = (): void => undefined;
  const orphans = createOrphanSweep({
    runs: runs,
    workflowType: 'work',
    idPrefix: 'dr/c/',
    isKnown: ({ name }) => world.cached.has(name),
    exists: ({ name }) => {
      world.asked += 1;
      return world.unreachable
        ? Promise.reject(new Error('no answer'))
        : Promise.resolve(world.live.has(name));
    },
    intervalMs: 60_000,
    confirmMs: 30_000,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    now: () => world.now,
    ...times,
  });
  const at = async (seconds: number): Promise<void> => {
    world.now = seconds * 1000;
    await orphans.sweep();
  };
  return { world, orphans, at };
}

it('cancels a run only when its object was gone twice, 30 s apart [S5.44]', async () => {
  const { world, at } = setup();
  world.open.add('lost');
  await at(0);
  await at(29);
  expect(world.cancelled).toEqual([]);
  await at(30);
  expect(world.cancelled).toEqual(['dr/c/lost']);
});

it('looks at its start, and again when the time between the two looks is over, not at the next sweep [F12] [S5.44]', async () => {
  const { world, orphans } = setup({ intervalMs: 600_000, confirmMs: 30, now: Date.now });
  world.open.add('lost');
  const stop = new AbortController();
  const running = orphans.run(stop.signal);
  await vi.waitFor(() => {
    expect(world.cancelled).toEqual(['dr/c/lost']);
  });
  stop.abort();
  await running;
  expect(world.asked).toBe(2);
});

it('sends a cancel again only at the next sweep', async () => {
  const { world, at } = setup();
  world.open.add('lost');
  await at(0);
  await at(30);
  await at(60);
  expect(world.cancelled).toHaveLength(1);
  await at(90);
  expect(world.cancelled).toHaveLength(2);
});

it('starts anew when the object was there in between, or the API server did not answer', async () => {
  const { world, at } = setup();
  world.open.add('lost');
  await at(0);
  world.live.add('lost');
  await at(20);
  world.live.delete('lost');
  await at(40);
  expect(world.cancelled).toEqual([]);
  world.unreachable = true;
  await at(80);
  world.unreachable = false;
  await at(90);
  expect(world.cancelled).toEqual([]);
  await at(120);
  expect(world.cancelled).toEqual(['dr/c/lost']);
});

it('asks nothing about runs whose object is in the cache', async () => {
  const { world, at } = setup();
  for (let n = 0; n < 100; n += 1) {
    world.open.add(`e${n}`);
    world.cached.add(`e${n}`);
  }
  await at(0);
  await at(60);
  expect(world.asked).toBe(0);
  expect(world.cancelled).toEqual([]);
});
