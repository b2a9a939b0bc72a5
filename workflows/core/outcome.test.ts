import { expect, it } from 'vitest';
import { skip, strongest, writeOutcome } from './outcome.js';
import type { EffectStatus } from './outcome.js';

const counts = { round: 1, retryCount: 2 };

it('writes how something ended, with its counts', () => {
  const status: EffectStatus = { phase: 'Running', reason: 'Old', message: 'waits' };
  writeOutcome(status, { phase: 'Succeeded', message: 'done', ...counts });
  expect(status).toMatchObject({ phase: 'Succeeded', message: 'done', effect: 'Done', ...counts });
  expect(status.reason).toBeUndefined();
  expect(Date.parse(status.completionTime ?? '')).not.toBeNaN();
});

it('takes away a message that the outcome does not repeat', () => {
  const status: EffectStatus = { phase: 'Running', message: 'waits' };
  writeOutcome(status, { phase: 'Succeeded', round: 0, retryCount: 0 });
  expect(status).not.toHaveProperty('message');
  expect(status).not.toHaveProperty('retryCount');
});

it('says nothing of an effect where something was skipped', () => {
  const status: EffectStatus = { phase: 'Running' };
  writeOutcome(status, { phase: 'Skipped', reason: 'WhenFalse', message: 'no', ...counts });
  expect(status).toMatchObject({ phase: 'Skipped', reason: 'WhenFalse' });
  expect(status).not.toHaveProperty('effect');
});

it.each([
  [undefined, 'None', 'None'],
  ['Unknown', 'None', 'Unknown'],
  ['Done', 'None', 'Done'],
  ['Done', 'Unknown', 'Done'],
  ['None', 'Unknown', 'Unknown'],
] as const)('after effect %s, a failure of effect %s leaves %s', (before, effect, expected) => {
  const status: EffectStatus = { phase: 'Running', ...(before !== undefined && { effect: before }) };
  writeOutcome(status, { phase: 'Failed', reason: 'Broken', effect, ...counts });
  expect(status.effect).toBe(expected);
});

it('takes the strongest of several effects', () => {
  expect(strongest([])).toBe('None');
  expect(strongest(['None', 'Unknown'])).toBe('Unknown');
  expect(strongest(['Unknown', 'Done', 'None'])).toBe('Done');
});

it('marks what never began', () => {
  const status: EffectStatus = { phase: 'Pending' };
  skip(status, { reason: 'FailFast', message: 'another failed' });
  expect(status).toMatchObject({ phase: 'Skipped', reason: 'FailFast', message: 'another failed' });
  expect(status.completionTime).toBeDefined();
});
