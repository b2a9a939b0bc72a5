import { describe, expect, it } from 'vitest';
import { verbsForRun } from './authority.js';

describe('verbs for a run', () => {
  it.each([
    ['one that applies, by default', {}, ['plan', 'apply']],
    ['one that only plans', { type: 'plan_only' }, ['plan']],
    ['a plan by its older name', { type: 'plan' }, ['plan']],
    ['a check for drift', { type: 'drift_check' }, ['plan']],
    ['one that takes all down', { isDestroy: true }, ['plan', 'apply', 'destroy']],
    ['the plan of taking all down', { type: 'plan_only', isDestroy: true }, ['plan', 'destroy']],
  ] as const)('%s', (_, spec, verbs) => {
    expect(verbsForRun(spec)).toEqual(verbs);
  });
});
