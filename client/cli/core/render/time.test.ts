import { describe, expect, it } from 'vitest';
import { age, elapsed } from './time.js';

const NOW = Date.parse('2026-01-10T00:00:00Z');
const ago = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString();

describe('ages', () => {
  it.each([
    [0, '0s'],
    [119, '119s'],
    [120, '2m'],
    [7199, '119m'],
    [7200, '2h'],
    [12_000, '3h20m'],
    [86_400, '1d'],
    [5 * 86_400, '5d'],
  ])('%i seconds are %s', (seconds, text) => {
    expect(age(ago(seconds), NOW)).toBe(text);
  });

  it('are empty without a time, and never negative', () => {
    expect(age(undefined, NOW)).toBe('');
    expect(age(ago(-30), NOW)).toBe('0s');
  });
});

describe('time elapsed', () => {
  it('is exact once ended and in whole seconds before', () => {
    expect(elapsed({ startTime: ago(10), completionTime: ago(7.5) }, NOW)).toBe('2.5s');
    expect(elapsed({ startTime: ago(7.7) }, NOW)).toBe('7s');
    expect(elapsed({}, NOW)).toBe('');
  });
});
