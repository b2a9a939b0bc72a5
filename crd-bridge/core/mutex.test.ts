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
