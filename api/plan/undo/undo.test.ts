import { describe, expect, it } from 'vitest';
import type { ActionInput, StageInput } from '../snapshot/run.js';
import type { ActionStatus, StageStatus } from '../types.js';
import { leftOf, planUndo, undoneOf } from './undo.js';

const retry = { limit: 0, intervalMs: 1000, backoffMultiplier: 2, maxIntervalMs: 1000 };
const input = (name: string, more: Partial<ActionInput> = {}): ActionInput => ({
  name,
  type: 'Job',
  dependsOn: [],
  timeoutMs: 1000,
  retry,
  capture: false,
  interruptible: true,
  uses: [],
  ...more,
});
const stage = (name: string, actions: ActionInput[], index = 0): StageInput => ({
  index,
  name,
  parallel: false,
  dependsOn: [],
  failurePolicy: 'Stop',
  workflows: [{ ref: { name: 'wf', namespace: 'ns' }, failurePolicy: 'FailFast', actions }],
});
const ran = (name: string, actionStatuses: ActionStatus[], more: Partial<StageStatus> = {}): StageStatus => ({
  name,
  phase: 'Succeeded',
  order: 1,
  workflowExecutions: [{ workflowRef: { name: 'wf' }, phase: 'Succeeded', actionStatuses }],
  ...more,
});
const done = (name: string, order: number, more: Partial<ActionStatus> = {}): ActionStatus => ({
  name,
  phase: 'Succeeded',
  effect: 'Done',
  order,
  ...more,
});

describe('planUndo', () => {
  it('goes through stages and actions from the last to end to the first, the cut-short ones before all', () => {
    const undo = planUndo({
      stages: [
        stage('one', [input('a'), input('b')]),
        stage('two', [input('c')], 1),
        stage('three', [input('d')], 2),
      ],
      statuses: [
        ran('one', [done('a', 2), done('b', 1)], { order: 2 }),
        ran('two', [done('c', 1)], { order: 1 }),
        ran('three', [{ name: 'd', phase: 'Failed', effect: 'Unknown' }], {
          phase: 'Failed',
          order: undefined,
        }),
      ],
      undone: [],
    });
    expect(undo.map((item) => [item.name, item.steps.map((step) => step.input.name)])).toEqual([
      ['three', ['d']],
      ['one', ['a', 'b']],
      ['two', ['c']],
    ]);
  });

  it.each<[string, Partial<ActionInput>, ActionStatus, string[], string | undefined]>([
    ['what was not executed', {}, { name: 'a', phase: 'Skipped', reason: 'WhenFalse' }, [], 'NotExecuted'],
    ['what failed without an effect', {}, { name: 'a', phase: 'Failed', effect: 'None' }, [], 'NoEffect'],
    ['what is undone already', {}, done('a', 1), ['0/0/0'], 'AlreadyUndone'],
    ['an HTTP read', { type: 'HTTP', harmless: true }, done('a', 1), [], 'NothingToUndo'],
    ['an HTTP write without a rollback', { type: 'HTTP' }, done('a', 1), [], 'NoRollback'],
    [
      'what failed and may have had its effect',
      {},
      { name: 'a', phase: 'Failed', effect: 'Unknown' },
      [],
      undefined,
    ],
    [
      'what a person skipped after it may have had its effect',
      {},
      { name: 'a', phase: 'Skipped', reason: 'SkippedByUser', effect: 'Unknown' },
      [],
      undefined,
    ],
    [
      'an HTTP read with a rollback',
      { type: 'HTTP', harmless: true, rollback: { type: 'HTTP', timeoutMs: 1, retry } },
      done('a', 1),
      [],
      undefined,
    ],
  ])('decides about %s [S5.47]', (_, more, status, undone, reason) => {
    // A second action keeps the stage in the plan whatever becomes of the first.
    const undo = planUndo({
      stages: [stage('one', [input('a', more), input('z')])],
      statuses: [ran('one', [status, done('z', 9)])],
      undone,
    });
    const action = undo[0]?.status.workflowExecutions?.[0]?.actionStatuses?.[0];
    expect(undo[0]?.steps.some((step) => step.input.name === 'a')).toBe(reason === undefined);
    expect(action).toMatchObject(reason === undefined ? { phase: 'Pending' } : { phase: 'Skipped', reason });
  });

  it('takes along what an undo goes by: outputs that are read, and of the record no more than needed', () => {
    const resource = { kind: 'ConfigMap', name: 'c', uid: 'u' };
    const rich = (name: string, order: number) =>
      done(name, order, {
        message: 'applied',
        startTime: 't',
        round: 1,
        outputs: { resourceRef: resource, created: [resource], httpResponse: { statusCode: 200, body: 'b' } },
      });
    const [undo] = planUndo({
      stages: [
        stage('one', [
          input('plain'),
          input('reads', { uses: ['plain'] }),
          input('custom', { rollback: { type: 'HTTP', timeoutMs: 1, retry } }),
        ]),
      ],
      statuses: [ran('one', [rich('plain', 1), rich('reads', 2), rich('custom', 3)])],
      undone: [],
    });
    expect(undo?.steps.map((step) => [step.input.name, Object.keys(step.outputs)])).toEqual([
      ['custom', ['custom']],
      ['reads', ['plain']],
      ['plain', []],
    ]);
    expect(undo?.steps[0]?.outputs.custom?.httpResponse?.body).toBe('b');
    expect(undo?.steps[2]?.forward).toEqual({
      name: 'plain',
      phase: 'Succeeded',
      effect: 'Done',
      round: 1,
      outputs: { created: [resource] },
    });
  });

  it('leaves out a stage in which nothing is to be undone', () => {
    expect(
      planUndo({
        stages: [stage('one', [input('a')])],
        statuses: [ran('one', [{ name: 'a', phase: 'Skipped' }])],
        undone: [],
      }),
    ).toEqual([]);
  });

  it('puts the rollback hooks of a workflow around its steps', () => {
    const hook = (name: string, position: 'pre' | 'post') =>
      input(name, {
        hook: position,
        hookType: `${position}-rollback`,
        skip: { reason: 'OtherMode', message: '' },
      });
    const passed = (name: string): ActionStatus => ({ name, phase: 'Skipped', reason: 'OtherMode' });
    const actions = [hook('begin', 'pre'), input('a'), input('b'), hook('end', 'post')];
    const [undo] = planUndo({
      stages: [stage('one', actions)],
      statuses: [ran('one', [passed('begin'), done('a', 1), done('b', 2), passed('end')])],
      undone: [],
    });
    expect(undo?.steps.map((step) => [step.input.name, step.hook])).toEqual([
      ['begin', true],
      ['b', undefined],
      ['a', undefined],
      ['end', true],
    ]);
    const statuses = undo?.status.workflowExecutions?.[0]?.actionStatuses ?? [];
    expect(statuses.map((status) => status.hookType)).toEqual([
      'pre-rollback', undefined, undefined, 'post-rollback',
    ]); // oxfmt-ignore
    // Their ends are nothing that was undone, or was not.
    if (undo === undefined) throw new Error('no undo');
    for (const status of statuses) status.phase = status.name === 'end' ? 'Failed' : 'Succeeded';
    expect(undoneOf(0, undo.status)).toEqual(['0/0/1', '0/0/2']);
    expect(leftOf(0, undo.status)).toEqual([]);
  });

  it('runs no rollback hook where nothing was done, and undoes one that the run itself has carried out', () => {
    const begin = input('begin', { hook: 'pre', hookType: 'pre-rollback' });
    const plan = (forward: ActionStatus, other: ActionStatus) =>
      planUndo({
        stages: [stage('one', [begin, input('a')])],
        statuses: [ran('one', [forward, other])],
        undone: [],
      });
    expect(plan({ name: 'begin', phase: 'Skipped' }, { name: 'a', phase: 'Skipped' })).toEqual([]);
    const [undo] = plan(done('begin', 1), done('a', 2));
    expect(undo?.steps.map((step) => [step.input.name, step.hook])).toEqual([
      ['a', undefined],
      ['begin', undefined],
    ]);
  });
});
