import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createKeyTimers } from './key-timers.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setup() {
  const fired: string[] = [];
  return { fired, timers: createKeyTimers((key) => fired.push(key)) };
}

it('fires a key once, at the sooner of two times', () => {
  const { fired, timers } = setup();
  timers.set('a', 200);
  timers.set('a', 100);
  timers.set('a', 300);
  timers.set('b', 150);
  vi.advanceTimersByTime(100);
  expect(fired).toEqual(['a']);
  vi.advanceTimersByTime(1000);
  expect(fired).toEqual(['a', 'b']);
});

it('may be set again when a key fires', () => {
  const { fired, timers } = setup();
  timers.set('a', 100);
  vi.advanceTimersByTime(100);
  timers.set('a', 100);
  vi.advanceTimersByTime(100);
  expect(fired).toEqual(['a', 'a']);
});

it('never fires a key that was cleared', () => {
  const { fired, timers } = setup();
  for (const key of ['a', 'b', 'c']) timers.set(key, 100);
  timers.clear('a');
  timers.clear('unknown');
  vi.advanceTimersByTime(99);
  timers.clearAll();
  vi.advanceTimersByTime(1000);
  expect(fired).toEqual([]);
});
