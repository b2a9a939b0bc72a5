import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sha256 } from './sha256.js';

const expected = (text: string): string => createHash('sha256').update(text).digest('hex');

it('is what Node makes of the same text, at every length around the edges of a block', () => {
  for (let length = 0; length <= 200; length += 1) {
    const text = 'x'.repeat(length);
    expect(sha256(text), String(length)).toBe(expected(text));
  }
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
      expect(sha256(text)).toBe(expected(text));
    }),
  );
});

it('takes the largest input of a run in a small part of the time of a workflow task', () => {
  const text = 'ä{"key": "value"}'.repeat(125_000);
  const begun = performance.now();
  expect(sha256(text)).toBe(expected(text));
  expect(performance.now() - begun).toBeLessThan(1500);
});
