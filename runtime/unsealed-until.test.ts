import { expect, it } from 'vitest';
import { readUnsealedUntil } from './unsealed-until.js';

const now = new Date('2026-11-29T10:00:00Z');

it('[F17] runs without seals go on until a moment that is at most 24 hours ahead', () => {
  const day = new Date('2026-11-30T10:00:00Z');
  expect(readUnsealedUntil('2026-11-30T10:00:00Z', now)).toEqual(day);
  expect(readUnsealedUntil('2026-11-30T12:00:00+02:00', now)).toEqual(day);
  expect(readUnsealedUntil('2020-01-01T00:00:00Z', now)).toEqual(new Date('2020-01-01T00:00:00Z'));
  expect(readUnsealedUntil('2026-11-30T10:00:01Z', now)).toEqual({
    problem: expect.stringMatching(/24 hours/),
  });
  for (const text of ['', 'forever', '24h', '7', '2026-11-30']) {
    expect(readUnsealedUntil(text, now), text).toEqual({
      problem: 'must be a moment such as 2026-11-29T10:00:00Z',
    });
  }
});
