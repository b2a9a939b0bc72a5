import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startTimer } from './long-timer.js';

const DAY_MS = 24 * 3_600_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('[F26] calls back after 30 days, which is more than a timer of Node takes, and once', () => {
  const fire = vi.fn();
  startTimer(30 * DAY_MS, fire);
  vi.advanceTimersByTime(30 * DAY_MS - 1);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fire).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(30 * DAY_MS);
  expect(fire).toHaveBeenCalledOnce();
});

it('[F26] can be ended, in its second part too', () => {
  const fire = vi.fn();
  const end = startTimer(30 * DAY_MS, fire);
  vi.advanceTimersByTime(26 * DAY_MS);
  end();
  vi.advanceTimersByTime(30 * DAY_MS);
  expect(fire).not.toHaveBeenCalled();
});
