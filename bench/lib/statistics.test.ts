import { describe, expect, it } from 'vitest';
import { median, percentile, ratio, sum } from './statistics.js';

describe('median', () => {
  it('takes the middle one whatever the order', () => {
    expect(median([9, 1, 5])).toBe(5);
  });
  it('takes the mean of the two in the middle', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });
  it('has no middle of nothing', () => {
    expect(median([])).toBeNaN();
  });
  it('sorts by number, not by text, and leaves the values in their order', () => {
    const values = [100, 9, 20];
    expect(median(values)).toBe(20);
    expect(values).toEqual([100, 9, 20]);
  });
});

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  it('is the nearest rank', () => {
    expect(percentile(hundred, 90)).toBe(90);
    expect(percentile(hundred, 99)).toBe(99);
    expect(percentile(hundred, 100)).toBe(100);
  });
  it('is the largest of few, so that a p99 hides nothing', () => {
    expect(percentile([10, 20, 30], 99)).toBe(30);
    expect(percentile([10, 20, 30], 50)).toBe(20);
    expect(percentile([10, 20, 30], 0)).toBe(10);
  });
  it('is nothing of nothing', () => {
    expect(percentile([], 50)).toBeNaN();
  });
});

describe('ratio', () => {
  it('divides by the earlier one', () => {
    expect(ratio(150, 100)).toBe(1.5);
  });
  it('says nothing about nothing', () => {
    expect(ratio(5, 0)).toBeUndefined();
    expect(ratio(Number.NaN, 1)).toBeUndefined();
    expect(ratio(1, Number.NaN)).toBeUndefined();
  });
});

it('sums any iterable', () => {
  expect(sum(new Set([1, 2, 3]))).toBe(6);
});
