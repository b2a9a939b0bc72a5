import { describe, expect, it } from 'vitest';
import { nearNames } from './near.js';

const names = ['shop-switchover', 'shop-failover', 'billing', 'web'];

describe('near names', () => {
  it('finds a name behind typing errors, best first', () => {
    expect(nearNames('shop-swichover', names)[0]).toBe('shop-switchover');
    expect(nearNames('biling', names)).toEqual(['billing']);
  });

  it('counts two swapped letters as one error', () => {
    expect(nearNames('wbe', names)).toEqual(['web']);
  });

  it('finds what contains it, and nothing for a strange name', () => {
    expect(nearNames('shop', names)).toEqual(['shop-failover', 'shop-switchover']);
    expect(nearNames('zzzzzz', names)).toEqual([]);
  });

  it('gives at most the limit', () => {
    expect(nearNames('a', ['a1', 'a2', 'a3', 'a4'], 2)).toEqual(['a1', 'a2']);
  });
});
