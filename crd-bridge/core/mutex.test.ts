import { expect, it } from 'vitest';
import { createKeyedMutex } from './mutex.js';

it('runs one piece of work at a time for a key, in order, whatever fails', async () => {
  const mutex = createKeyedMutex();
  const log: string[] = [];
  const work = (name: string, ms: number, fail = false) =>
    mutex.run('a', async () => {
      log.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, ms));
      log.push(`${name} ends`);
      if (fail) throw new Error(name);
      return name;
    });
  const other = mutex.run('b', () => Promise.resolve(log.push('other key')));
  const results = await Promise.allSettled([work('one', 20), work('two', 1, true), work('three', 1), other]);
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(log.filter((line) => line !== 'other key')).toEqual([
    'one begins',
    'one ends',
    'two begins',
    'two ends',
    'three begins',
    'three ends',
  ]);
  expect(log.indexOf('other key')).toBeLessThan(log.indexOf('one ends'));
});

it('tells what runs, what waits, and for how long the slowest runs', async () => {
  let now = 1000;
  const mutex = createKeyedMutex(() => now);
  expect(mutex.load()).toEqual({ held: 0, waiting: 0, longestHeldMs: 0 });
  let release = (): void => undefined;
  const held = mutex.run('a', () => new Promise<void>((resolve) => (release = resolve)));
  const next = mutex.run('a', () => Promise.resolve());
  await mutex.run('b', () => Promise.resolve());
  now = 1500;
  expect(mutex.load()).toEqual({ held: 1, waiting: 1, longestHeldMs: 500 });
  release();
  await Promise.all([held, next]);
  await Promise.resolve();
  expect(mutex.load()).toEqual({ held: 0, waiting: 0, longestHeldMs: 0 });
});
