import { expect, it } from 'vitest';
import { accountOf } from './account.js';
import { Refused } from './refused.js';

const plan = (serviceAccountName?: string) => ({ name: 'p', spec: { serviceAccountName } });
const settings = { controllerIdentity: false };

it('is the plan’s, else the default of the bridge, else the controller’s where that is allowed [S1.5]', () => {
  expect(accountOf(plan('own'), { ...settings, defaultServiceAccount: 'default' })).toBe('own');
  expect(accountOf(plan(), { ...settings, defaultServiceAccount: 'default' })).toBe('default');
  expect(accountOf(plan(), { controllerIdentity: true })).toBeUndefined();
  expect(() => accountOf(plan(), settings)).toThrow(Refused);
});

it('is for a revert the one that acted, whatever the plan says now', () => {
  expect(accountOf(plan('new'), settings, { serviceAccountName: 'old' })).toBe('old');
  expect(accountOf(plan('new'), settings, {})).toBe('new');
});

it.each([
  '',
  ' ',
  '\t',
  'a b',
  'Upper',
  'a:b',
  'a/b',
  '../a',
  'a\nb',
  'a..b',
  '-a',
  '{{ .params.x }}',
  'a'.repeat(254),
])('is nobody for the name %j, whatever the installation allows [SEC1]', (name) => {
  const generous = { controllerIdentity: true, defaultServiceAccount: 'default' };
  expect(() => accountOf(plan(name), generous)).toThrow(Refused);
  expect(() => accountOf(plan(), generous, { serviceAccountName: name })).toThrow(Refused);
});
