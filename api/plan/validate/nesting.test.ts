import { describe, expect, it } from 'vitest';
import type { Action, DRPlan, DRWorkflow } from '../types.js';
import { validatePlan } from './plan.js';

/** Plans by name, each with the names of the plans that its one workflow runs. */
type World = Record<string, string[]>;

const nest = (name: string): Action => ({ name: `run-${name.length}`, type: 'Plan', plan: { name } });

function workflowOf(names: readonly string[], more: Partial<DRWorkflow['spec']> = {}): DRWorkflow['spec'] {
  const actions = names.map((name, index) => ({ ...nest(name), name: `a${index}` }));
  const wait: Action = { name: 'wait', type: 'Wait', wait: { duration: '1s' } };
  return { actions: [...actions, wait], ...more };
}

function check(
  world: World,
  name: string,
  more: { invalid?: string[]; spec?: object; workflow?: object } = {},
) {
  const plan = (of: string): DRPlan | undefined =>
    world[of] === undefined
      ? undefined
      : {
          metadata: { name: of, namespace: 'dr' },
          spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: of } }] }], ...more.spec },
          ...(more.invalid?.includes(of) === true && { status: { phase: 'Invalid' } }),
        };
  const problems = validatePlan(
    plan(name),
    (namespace, of) => ({
      metadata: { name: of, namespace },
      spec: workflowOf(world[of] ?? [], of === name ? more.workflow : {}),
    }),
    { plan: (_, of) => plan(of) },
  );
  return problems.map(({ severity, reason, path, message }) => ({ severity, reason, path, message }));
}

const PATH = 'spec.stages[0].workflows[0].workflowRef(dr/a).spec.actions[0].plan.name';

describe('plans that run plans', () => {
  it('say nothing where all is well, and the same plan may stand twice', () => {
    expect(check({ a: ['b', 'c'], b: ['c'], c: [] }, 'a')).toEqual([]);
  });

  it('need the plans that they run, and valid ones', () => {
    expect(check({ a: ['b'] }, 'a')).toMatchObject([
      { severity: 'error', reason: 'NestedPlanNotFound', path: PATH },
    ]);
    expect(check({ a: ['b'], b: [] }, 'a', { invalid: ['b'] })).toMatchObject([
      { severity: 'error', reason: 'NestedPlanInvalid', path: PATH },
    ]);
  });

  it.each<[string, World, string]>([
    ['itself', { a: ['a'] }, 'a → a'],
    ['itself through others', { a: ['b'], b: ['x', 'c'], c: ['a'], x: [] }, 'a → b → c → a'],
    ['a cycle below it', { a: ['b'], b: ['c'], c: ['b'] }, 'a → b → c → b'],
  ])('may not run %s [S3.58]', (_, world, chain) => {
    const found = check(world, 'a');
    expect(found).toMatchObject([{ severity: 'error', reason: 'PlanCycle', path: PATH }]);
    expect(found[0]?.message).toContain(chain);
  });

  it('nest five levels and no more', () => {
    const chain = { b: ['c'], c: ['d'], d: ['e'], e: ['f'], f: [] };
    expect(check({ a: ['b'], ...chain }, 'a')).toEqual([]);
    expect(check({ a: ['b'], ...chain, f: ['g'], g: [] }, 'a')).toMatchObject([
      { severity: 'error', reason: 'NestingTooDeep', path: PATH },
    ]);
  });

  it('warn only where an execution can still name another plan, and skip what only it can know', () => {
    const workflow = { parameters: [{ name: 'next', default: 'a' }] };
    expect(check({ a: ['{{ .params.next }}'] }, 'a', { workflow })).toMatchObject([
      { severity: 'warning', reason: 'PlanCycle', path: PATH },
    ]);
    const spec = { globalParams: [{ name: 'next', value: 'nowhere' }] };
    expect(check({ a: ['{{ .params.next }}'] }, 'a', { workflow, spec })).toMatchObject([
      { severity: 'warning', reason: 'NestedPlanNotFound' },
    ]);
    expect(check({ a: ['x-{{ .executionName }}'] }, 'a')).toEqual([]);
    expect(check({ a: ['{{ .planName }}'] }, 'a')).toMatchObject([
      { severity: 'error', reason: 'PlanCycle' },
    ]);
  });

  it('count what a rollback runs', () => {
    const rollback = { ...nest('a'), name: 'back', type: 'Plan' };
    const actions = [{ name: 'x', type: 'Wait', wait: { duration: '1s' }, rollback }];
    expect(check({ a: [] }, 'a', { workflow: { actions } })).toMatchObject([
      {
        severity: 'error',
        reason: 'PlanCycle',
        path: expect.stringContaining('actions[0].rollback.plan.name'),
      },
    ]);
  });

  it('may cross in many ways without taking long', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const world = Object.fromEntries(
      names.map((name, level) => [
        name,
        Array.from({ length: 30 }, () => names[level + 1] ?? '').filter(Boolean),
      ]),
    );
    const began = Date.now();
    expect(check(world, 'a')).toEqual([]);
    expect(Date.now() - began).toBeLessThan(3000);
  });
});
