import { expect, it } from 'vitest';
import { aboutActivity, failureOf } from './contract-about.js';

const run = { namespace: 'ns', name: 'e', plan: { name: 'p' }, operation: 'Execute', seal: 'secret' };
const task = {
  run,
  at: { stage: 0, workflow: 1, action: 2 },
  name: 'call',
  type: 'HTTP',
  direction: 'forward',
  body: { action: { http: { url: 'secret' } } },
};
const about = { execution: 'ns/e', plan: 'p', operation: 'Execute' };

it('names the run and the action of whatever an activity is given, and nothing that they hold', () => {
  const action = { ...about, action: 'call', 'action.type': 'HTTP', direction: 'forward', position: '0/1/2' };
  expect(aboutActivity(task)).toEqual(action);
  expect(aboutActivity({ task })).toEqual(action);
  expect(aboutActivity({ run, expression: 'secret' })).toEqual(about);
  expect(aboutActivity({ kind: 'DRPlanExecution', update: { run, phase: 'Running' } })).toEqual(about);
  expect(aboutActivity({ ...task, at: { ...task.at, cluster: 'ns/c' } })).toEqual({
    ...action,
    cluster: 'ns/c',
  });
});

it('reads what anybody may have sent', () => {
  for (const input of [
    undefined,
    null,
    7,
    'x',
    [],
    { run: 'x' },
    { run: { namespace: {}, name: 1 } },
    { name: {} },
  ])
    expect(aboutActivity(input), JSON.stringify(input)).toEqual({});
});

it('tells a failure by its reason', () => {
  expect(failureOf({ phase: 'Failed', reason: 'HTTPStatus', message: 'secret' })).toBe('HTTPStatus');
  expect(failureOf({ kind: 'failed' })).toBe('Failed');
  for (const result of [undefined, { phase: 'Succeeded' }, { kind: 'none' }, 'x'])
    expect(failureOf(result)).toBeUndefined();
});
