import { expect, it } from 'vitest';
import { createSlots } from './slots.js';

it('gives so many turns at once, the others in order as turns end', async () => {
  const slots = createSlots({ atOnce: 2, waiting: 5, timeoutMs: 5000 });
  const [first, second] = [await slots.take(), await slots.take()];
  const order: string[] = [];
  const third = slots.take().then((end) => {
    order.push('third');
    return end;
  });
  const fourth = slots.take().then((end) => {
    order.push('fourth');
    return end;
  });
  await Promise.resolve();
  expect(order).toEqual([]);
  first?.();
  // Ending a turn twice frees it once.
  first?.();
  await third;
  expect(order).toEqual(['third']);
  second?.();
  await fourth;
  expect(order).toEqual(['third', 'fourth']);
});

it('turns away who would wait too long, or behind too many', async () => {
  const slots = createSlots({ atOnce: 1, waiting: 1, timeoutMs: 10 });
  const first = await slots.take();
  const late = slots.take();
  expect(await slots.take()).toBeUndefined();
  expect(await late).toBeUndefined();
  first?.();
  expect(await slots.take()).toBeDefined();
});
