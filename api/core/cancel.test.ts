import { expect, it } from 'vitest';
import { cancelAsked } from './cancel.js';
import { ANNOTATIONS } from './group.js';

it.each([
  ['true', 'cancel'],
  ['terminate', 'terminate'],
  ['temporal-lost', 'temporalLost'],
  ['yes', undefined],
  ['false', undefined],
  ['', undefined],
])('the cancel annotation %j asks for %s', (value, asked) => {
  expect(cancelAsked({ [ANNOTATIONS.cancel]: value })).toBe(asked);
});

it('an object without the annotation asks for nothing', () => {
  expect(cancelAsked({})).toBeUndefined();
  expect(cancelAsked(undefined)).toBeUndefined();
});
