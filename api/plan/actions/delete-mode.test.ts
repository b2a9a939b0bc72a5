import { describe, expect, it } from 'vitest';
import { compileRun } from '../snapshot/compile.js';
import { deriveDeletion } from './delete-mode.js';
import { modeWarnings } from '../order/mode-warnings.js';
import { takeSnapshot } from '../snapshot/snapshot.js';
import type { Action, DRPlan, DRPlanExecution, DRWorkflow } from '../types.js';

const subscription = (name: string, more: Partial<Action> = {}, operation = 'Apply'): Action => ({
  name,
  type: 'Subscription',
  subscription: { operation, name: `${name}-sub`, namespace: 'ns', feeds: [] },
  ...more,
});
const localization = (name: string, operation: string): Action => ({
  name,
  type: 'Localization',
  localization: { operation, name: `${name}-loc`, namespace: 'mc' },
});
const http = (name: string, more: Partial<Action> = {}): Action => ({
  name,
  type: 'HTTP',
  http: { url: 'https://x.example/', method: 'POST' },
  ...more,
});
const approval = (name: string): Action => ({
  name,
  type: 'Approval',
  approval: { message: 'sure?', approvers: { users: ['alice'] } },
});

const names = (actions: Action[]): string[] | undefined =>
  deriveDeletion({ actions })?.spec.actions.map((action) => action.name);

describe('mode Delete', () => {
  it('takes apart in reverse order what a workflow creates and applies [S1.20]', () => {
    const derived = deriveDeletion({
      failurePolicy: 'Continue',
      actions: [
        subscription('app', { timeout: '1m', when: 'mode == "install"', waitReady: true }),
        localization('site-a', 'Create'),
      ],
    });
    expect(derived).toEqual({
      skipped: [],
      spec: {
        failurePolicy: 'Continue',
        actions: [
          {
            name: 'delete-site-a',
            type: 'Localization',
            localization: { operation: 'Delete', name: 'site-a-loc', namespace: 'mc' },
          },
          {
            name: 'delete-app',
            type: 'Subscription',
            timeout: '1m',
            subscription: { operation: 'Delete', name: 'app-sub', namespace: 'ns' },
          },
        ],
      },
    });
  });

  it('deletes per cluster what was written per cluster', () => {
    const spread = { clusterExecutionMode: 'PerCluster', waitReady: true, maxConcurrentClusters: 2 };
    expect(deriveDeletion({ actions: [subscription('app', spread)] })?.spec.actions).toEqual([
      {
        name: 'delete-app',
        type: 'Subscription',
        subscription: { operation: 'Delete', name: 'app-sub', namespace: 'ns' },
        ...spread,
      },
    ]);
  });

  it('reverses the order in which a graph runs, not that of the list', () => {
    expect(names([subscription('late', { dependsOn: ['early'] }), subscription('early')])).toEqual([
      'delete-late',
      'delete-early',
    ]);
  });

  it('leaves a workflow alone that defines its deletion, or may', () => {
    const removal = subscription('remove', { when: 'mode == "delete"' }, 'Delete');
    expect(names([subscription('app'), removal])).toBeUndefined();
    expect(names([subscription('app', {}, '$(params.operation)')])).toBeUndefined();
  });

  it('keeps approvals first and hooks in their place, and leaves out what it cannot take back [S1.20]', () => {
    const derived = deriveDeletion({
      actions: [
        http('switch'),
        localization('patched', 'Patch'),
        http('after', { hookType: 'post-delete' }),
        http('told', { when: 'mode == "delete"', dependsOn: ['switch'] }),
        approval('gate'),
        subscription('job', { hookType: 'pre-install' }),
        http('before', { hookType: 'pre-delete' }),
        subscription('app'),
        http('undo', { hookType: 'pre-rollback' }),
      ],
    });
    expect(derived?.spec.actions.map((action) => action.name)).toEqual([
      'gate', 'delete-app', 'told', 'patched', 'switch', 'delete-job', 'before', 'undo', 'after',
    ]); // oxfmt-ignore
    expect(derived?.skipped.sort()).toEqual(['patched', 'switch']);
    expect(derived?.spec.actions.every((action) => action.dependsOn === undefined)).toBe(true);
  });

  it('never gives a name twice', () => {
    expect(names([subscription('app'), subscription('delete-app')])).toEqual([
      'delete-delete-app',
      'delete-app-2',
    ]);
  });
});

describe('a snapshot', () => {
  const plan: DRPlan = {
    metadata: { name: 'shop', namespace: 'dr' },
    spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'w' } }] }] },
  };
  const take = (mode: DRPlanExecution['spec']['mode'], actions: Action[]) => {
    const execution: DRPlanExecution = {
      metadata: { name: 'run', namespace: 'dr' },
      spec: { planRef: 'shop', operationType: 'Execute', ...(mode !== undefined && { mode }) },
    };
    const workflow: DRWorkflow = { metadata: { name: 'w', namespace: 'dr' }, spec: { actions } };
    return takeSnapshot({ plan, execution, lookup: () => workflow }).snapshot;
  };
  const compiled = (mode: DRPlanExecution['spec']['mode'], actions: Action[]) => {
    const result = compileRun({ snapshot: take(mode, actions) });
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    return result.stages[0]?.workflows[0]?.actions.map((action) => [action.name, action.skip?.reason]);
  };

  it('holds what mode Delete runs, whatever the left-out actions read', () => {
    const actions = [
      subscription('app'),
      http('tell', { http: { url: 'https://x/{{ .outputs.app.phase }}' } }),
    ];
    expect(compiled('Delete', actions)).toEqual([
      ['tell', 'NoDelete'],
      ['delete-app', undefined],
    ]);
    expect(compiled('Upgrade', actions)?.map(([name]) => name)).toEqual(['app', 'tell']);
    expect(modeWarnings(take('Delete', actions))).toMatchObject([
      { reason: 'NoDelete', path: 'spec.mode', message: expect.stringContaining('dr/w: tell') as string },
    ]);
  });

  it('marks hooks of other modes, and warns where a mode is asked for and none is set', () => {
    const actions = [
      http('a', { hookType: 'pre-install' }),
      http('b', { hookType: 'pre-delete' }),
      http('c'),
    ];
    expect(compiled('Install', actions)).toEqual([
      ['a', undefined],
      ['b', 'OtherMode'],
      ['c', undefined],
    ]);
    expect(compiled(undefined, actions)).toEqual([
      ['a', undefined],
      ['b', 'OtherMode'],
      ['c', undefined],
    ]);
    expect(modeWarnings(take(undefined, actions)).map((problem) => problem.reason)).toEqual(['ModeNotSet']);
    expect(modeWarnings(take(undefined, [http('c')]))).toEqual([]);
    expect(modeWarnings(take('Install', actions))).toEqual([]);
  });

  it('gives the mode as a parameter, in lower case', () => {
    const actions = [http('a', { http: { url: 'https://x.example/$(params.mode)' } })];
    const result = compileRun({ snapshot: take('Upgrade', actions) });
    expect(result.ok && result.stages[0]?.workflows[0]?.actions[0]?.body?.params).toEqual({
      mode: 'upgrade',
    });
    expect(compileRun({ snapshot: take(undefined, actions) }).ok).toBe(false);
  });

  it('lets what comes later by its hook read what comes before', () => {
    const reads = (name: string, of: string, more: Partial<Action> = {}) =>
      http(name, { http: { url: `https://x.example/{{ .outputs.${of}.phase }}` }, ...more });
    const pre = http('pre', { hookType: 'pre-install' });
    expect(compiled('Install', [reads('main', 'pre'), pre])).toHaveLength(2);
    const wrong = take('Install', [http('main'), reads('pre', 'main', { hookType: 'pre-install' })]);
    expect(compileRun({ snapshot: wrong })).toMatchObject({
      ok: false,
      problems: [{ reason: 'UndefinedOutput' }],
    });
  });
});
