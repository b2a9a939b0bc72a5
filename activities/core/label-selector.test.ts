import { describe, expect, it } from 'vitest';
import { evaluateSelector } from './label-selector.js';

const labels = { site: 'a', tier: 'web' };
const expression = (key: string, operator: string, values?: string[]) => ({
  matchExpressions: [{ key, operator, ...(values !== undefined && { values }) }],
});

describe('evaluateSelector', () => {
  it.each([
    ['an empty selector', {}, true],
    ['an equal label', { matchLabels: { site: 'a' } }, true],
    ['one of two labels', { matchLabels: { site: 'a', tier: 'db' } }, false],
    ['In', expression('site', 'In', ['b', 'a']), true],
    ['In, missing label', expression('zone', 'In', ['a']), false],
    ['NotIn', expression('site', 'NotIn', ['a']), false],
    ['NotIn, missing label', expression('zone', 'NotIn', ['a']), true],
    ['Exists', expression('site', 'Exists'), true],
    ['DoesNotExist', expression('site', 'DoesNotExist'), false],
    ['a name of the prototype', expression('constructor', 'Exists'), false],
    [
      'labels and expressions together',
      { matchLabels: { site: 'a' }, ...expression('tier', 'In', ['db']) },
      false,
    ],
  ])('%s', (_name, selector, matches) => {
    expect(evaluateSelector(selector, labels)).toEqual({ ok: true, matches });
  });

  it.each([
    ['no map', 'site=a'],
    ['an unknown field', { matchLabel: { site: 'a' } }],
    ['a number as a value', { matchLabels: { site: 1 } }],
    ['an unknown operator', expression('site', 'Gt', ['1'])],
    ['In without values', expression('site', 'In')],
    ['Exists with values', expression('site', 'Exists', ['a'])],
    ['an expression without a key', { matchExpressions: [{ operator: 'Exists' }] }],
  ])('refuses %s, whatever the labels are', (_name, selector) => {
    expect(evaluateSelector(selector, labels).ok).toBe(false);
    expect(evaluateSelector(selector, {}).ok).toBe(false);
  });
});
