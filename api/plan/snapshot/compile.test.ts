import { describe, expect, it } from 'vitest';
import { compileRun } from './compile.js';
import type { CompileResult } from './compile.js';
import { resolveBody } from './snapshot.js';
import type { Snapshot } from './snapshot.js';
import type { Action, DRPlanSpec, DRWorkflowSpec, Parameter } from '../types.js';

const http = (name: string, url = 'https://gslb.example/'): Action => ({ name, type: 'HTTP', http: { url } });

interface Parts {
  actions?: Action[];
  workflow?: Partial<DRWorkflowSpec>;
  plan?: Partial<DRPlanSpec>;
  stageParams?: Parameter[];
  params?: Parameter[];
}

function snapshot(parts: Parts): Snapshot {
  return {
    plan: {
      name: 'shop',
      namespace: 'dr',
      uid: 'p',
      generation: 1,
      spec: {
        stages: [
          {
            name: 'one',
            workflows: [
              { workflowRef: { name: 'w' }, ...(parts.stageParams && { params: parts.stageParams }) },
            ],
          },
        ],
        ...parts.plan,
      },
    },
    workflows: {
      'dr/w': { uid: 'w', generation: 1, spec: { actions: parts.actions ?? [http('a')], ...parts.workflow } },
    },
    params: parts.params ?? [],
    operation: 'Execute',
    runMode: 'Planned',
  };
}

type Compiled = Extract<CompileResult, { ok: true }>;

function compiled(parts: Parts, maxInlineBytes?: number): Compiled {
  const result = compileRun({
    snapshot: snapshot(parts),
    ...(maxInlineBytes !== undefined && { maxInlineBytes }),
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result;
}

const actionsOf = (result: Compiled): Compiled['stages'][0]['workflows'][0]['actions'] =>
  result.stages.flatMap((stage) => stage.workflows).flatMap((workflow) => workflow.actions);

function reasons(parts: Parts): string[] {
  const result = compileRun({ snapshot: snapshot(parts) });
  return result.ok ? [] : result.problems.map((problem) => problem.reason);
}

describe('defaults', () => {
  it('fills in every default of plan, stage, workflow and action', () => {
    const result = compiled({});
    expect(result).toMatchObject({
      failurePolicy: 'Stop',
      onFailure: 'Stop',
      maxConcurrentStages: 1,
      warnings: [],
    });
    expect(result.stages[0]).toMatchObject({
      index: 0,
      name: 'one',
      parallel: false,
      dependsOn: [],
      failurePolicy: 'Stop',
      workflows: [{ ref: { name: 'w', namespace: 'dr' }, failurePolicy: 'FailFast' }],
    });
    expect(actionsOf(result)[0]).toEqual({
      name: 'a',
      type: 'HTTP',
      dependsOn: [],
      timeoutMs: 300_000,
      retry: { limit: 3, intervalMs: 5000, backoffMultiplier: 2, maxIntervalMs: 300_000 },
      capture: false,
      harmless: true,
      interruptible: true,
      uses: [],
      body: { action: http('a'), params: {} },
    });
  });

  it('gives stages the policy of the plan unless they have their own [S4.9]', () => {
    const stages: DRPlanSpec['stages'] = [
      { name: 'x', parallel: true, workflows: [{ workflowRef: { name: 'w' } }] },
      { name: 'y', failurePolicy: 'FailFast', workflows: [{ workflowRef: { name: 'w' } }] },
    ];
    const result = compiled({ plan: { stages, failurePolicy: 'Continue' } });
    expect(result.stages.map((stage) => stage.failurePolicy)).toEqual(['Continue', 'FailFast']);
  });

  it('reads durations, a multiplier written as text, and limit 0', () => {
    const action = {
      ...http('a'),
      timeout: '1m30s',
      totalTimeout: '1h',
      retryPolicy: { limit: 0, interval: '500ms', backoffMultiplier: '1.5' },
    };
    expect(actionsOf(compiled({ actions: [action] }))[0]).toMatchObject({
      timeoutMs: 90_000,
      totalTimeoutMs: 3_600_000,
      retry: { limit: 0, intervalMs: 500, backoffMultiplier: 1.5 },
    });
  });
});

describe('retry of Jobs', () => {
  const job = (retryPolicy?: Action['retryPolicy']): Action => ({
    name: 'j',
    type: 'Job',
    job: { template: {} },
    ...(retryPolicy && { retryPolicy }),
  });

  it.each([
    [undefined, undefined],
    [{ limit: 3, interval: '5s', backoffMultiplier: '2.0' }, undefined],
    [{ limit: 3, interval: '5s', backoffMultiplier: 2 }, undefined],
    [{ limit: 2, interval: '5s', backoffMultiplier: '2.0' }, true],
    [{ limit: 3, interval: '10s' }, true],
  ])('policy %o decides about failed Jobs: %s', (policy, rerun) => {
    expect(actionsOf(compiled({ actions: [job(policy)] }))[0]?.retry.rerunJob).toBe(rerun);
  });
});

describe('capture', () => {
  const resource = (operation?: string): Action => ({
    name: 'r',
    type: 'KubernetesResource',
    resource: { manifest: 'kind: X', ...(operation && { operation }) },
    rollback: { type: 'HTTP', http: { url: 'https://undo.example/' } },
  });

  it.each([
    [undefined, false],
    ['Create', false],
    ['Apply', true],
    ['Patch', true],
    ['Delete', true],
    ['{{ .params.op }}', true],
  ])('operation %s: %s', (operation, capture) => {
    const result = compiled({ actions: [resource(operation)], params: [{ name: 'op', value: 'Apply' }] });
    expect(actionsOf(result)[0]).toMatchObject({ capture, rollback: { type: 'HTTP' } });
  });

  it('refuses an operation that parameters make wrong [S3.53]', () => {
    const { rollback: _, ...bare } = resource('$(params.op)');
    const op = (value: string): Parameter[] => [{ name: 'op', value }];
    expect(reasons({ actions: [bare], params: op('Apply') })).toEqual([]);
    expect(reasons({ actions: [bare], params: op('Patch') })).toEqual(['MissingRollback']);
    expect(reasons({ actions: [bare], params: op('Destroy') })).toEqual(['InvalidField']);
  });

  it('lets a rollback without a type inherit the type of its action [S5.47]', () => {
    const action: Action = { ...resource('Patch'), rollback: { resource: { manifest: 'kind: X' } } };
    expect(actionsOf(compiled({ actions: [action] }))[0]?.rollback?.type).toBe('KubernetesResource');
  });
});

describe('parameters', () => {
  it('merges workflow, plan, stage and execution, and hands out only what an action uses', () => {
    const parts: Parts = {
      actions: [http('a', 'https://x/{{ .params.one }}/$(params.two)'), http('b')],
      workflow: {
        parameters: [
          { name: 'one', default: '1' },
          { name: 'two', default: '1' },
          { name: 'three', default: '1' },
        ],
      },
      plan: { globalParams: [{ name: 'one', value: '2' }] },
      stageParams: [{ name: 'one', value: '3' }],
      params: [{ name: 'one', value: '4' }],
    };
    const [a, b] = actionsOf(compiled(parts));
    expect({ ...a?.body?.params }).toEqual({ one: '4', two: '1' });
    expect({ ...b?.body?.params }).toEqual({});
    expect(resolveBody(snapshot(parts), { stage: 0, workflow: 0, action: 0 })).toEqual(a?.body);
  });

  it('hands out what only the rollback or the condition uses', () => {
    const action: Action = {
      ...http('a'),
      when: 'params.go == "yes"',
      rollback: { http: { url: 'https://x/{{ .params.back }}' } },
    };
    const result = compiled({
      actions: [action],
      params: [
        { name: 'go', value: 'yes' },
        { name: 'back', value: 'b' },
      ],
    });
    expect({ ...actionsOf(result)[0]?.body?.params }).toEqual({ go: 'yes', back: 'b' });
  });

  it('fails before any action runs: missing, wrongly typed, undefined [S2.10]', () => {
    expect(reasons({ workflow: { parameters: [{ name: 'x', required: true }] } })).toEqual([
      'MissingParameter',
    ]);
    expect(
      reasons({
        workflow: { parameters: [{ name: 'x', type: 'number' }] },
        params: [{ name: 'x', value: 'many' }],
      }),
    ).toEqual(['InvalidParameter']);
    expect(reasons({ actions: [http('a', 'https://x/{{ .params.nope }}')] })).toEqual(['UndefinedParameter']);
    expect(reasons({ actions: [http('a', 'https://x/{{ .params.nope | default "y" }}')] })).toEqual([]);
    expect(reasons({ actions: [{ ...http('a'), when: 'params.nope == "1"' }] })).toEqual([
      'UndefinedParameter',
    ]);
    expect(reasons({ actions: [{ ...http('a'), when: 'has(params.nope) && params.nope == "1"' }] })).toEqual(
      [],
    );
  });

  it('gives a stage condition the parameters that it uses', () => {
    const stages: DRPlanSpec['stages'] = [
      { name: 'x', when: 'params.site == "b"', workflows: [{ workflowRef: { name: 'w' } }] },
    ];
    const globalParams = [
      { name: 'site', value: 'b' },
      { name: 'other', value: '1' },
    ];
    const [stage] = compiled({ plan: { stages, globalParams } }).stages;
    expect(stage?.when).toBe('params.site == "b"');
    expect({ ...stage?.whenParams }).toEqual({ site: 'b' });
    expect(reasons({ plan: { stages } })).toEqual(['UndefinedParameter']);
  });
});

describe('outputs', () => {
  const reader = (dependsOn?: string[]): Action => ({
    ...http('reader', 'https://x/{{ .outputs.source.httpResponse.body }}'),
    ...(dependsOn && { dependsOn }),
  });

  it('names the actions whose outputs are read', () => {
    expect(actionsOf(compiled({ actions: [http('source'), reader()] }))[1]?.uses).toEqual(['source']);
    const when = { ...http('b'), when: 'outputs.source.phase == "Succeeded"' };
    expect(actionsOf(compiled({ actions: [http('source'), when] }))[1]?.uses).toEqual(['source']);
    for (const condition of ['phases.source == "Skipped"', 'phases.all(name, phases[name] != "Failed")']) {
      const last = { ...http('reader'), when: condition };
      expect(actionsOf(compiled({ actions: [http('source'), last] }))[1]?.uses).toEqual(['source']);
    }
  });

  it('refuses outputs of unknown and of later actions [S2.10]', () => {
    expect(reasons({ actions: [reader()] })).toEqual(['UndefinedOutput']);
    expect(reasons({ actions: [reader(), http('source')] })).toEqual(['UndefinedOutput']);
    expect(reasons({ actions: [reader(['source']), http('source')] })).toEqual([]);
    expect(
      reasons({ actions: [http('source'), { ...http('m'), dependsOn: ['source'] }, reader(['m'])] }),
    ).toEqual([]);
    expect(reasons({ actions: [http('source'), { ...http('m'), dependsOn: ['source'] }, reader()] })).toEqual(
      ['UndefinedOutput'],
    );
  });

  it('lets a rollback read its own action', () => {
    const action: Action = {
      ...http('a'),
      rollback: { http: { url: 'https://x/{{ .outputs.a.httpResponse.body }}' } },
    };
    expect(reasons({ actions: [action] })).toEqual([]);
  });
});

describe('bodies', () => {
  it('stay out of the run when they are too large in sum [S6.14]', () => {
    const actions = [http('a', `https://x/${'y'.repeat(600)}`), http('b', `https://x/${'y'.repeat(600)}`)];
    expect(actionsOf(compiled({ actions }, 2000)).map((action) => action.body !== undefined)).toEqual([
      true,
      true,
    ]);
    expect(actionsOf(compiled({ actions }, 1000)).map((action) => action.body)).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('count what conditions of stages take along', () => {
    const spec = {
      globalParams: [{ name: 'big', value: 'x'.repeat(3000) }],
      stages: [{ name: 'one', when: "params.big != ''", workflows: [{ workflowRef: { name: 'w' } }] }],
    };
    const carried = (limit: number) =>
      actionsOf(compiled({ plan: spec }, limit)).map((action) => action.body !== undefined);
    expect(carried(4000)).toEqual([true]);
    expect(carried(3050)).toEqual([false]);
  });

  it('[F3] do not make way for conditions that are too large by themselves: these are read from the snapshot', () => {
    const spec = {
      globalParams: [{ name: 'big', value: 'x'.repeat(3000) }],
      stages: [{ name: 'one', when: "params.big != ''", workflows: [{ workflowRef: { name: 'w' } }] }],
    };
    const result = compiled({ plan: spec }, 3000);
    expect(actionsOf(result)[0]?.body).toBeDefined();
    expect(result.stages[0]).toMatchObject({ when: "params.big != ''" });
    expect(result.stages[0]?.whenParams).toBeUndefined();
  });

  it('stay out when they carry a secret [S6.14]', () => {
    const secret: Action = {
      name: 's',
      type: 'KubernetesResource',
      resource: { manifest: 'apiVersion: v1\nkind: Secret\nmetadata: {name: x}' },
    };
    const header: Action = {
      ...http('h'),
      http: { url: 'https://x', headers: { Authorization: 'Bearer 1' } },
    };
    const param = http('p', 'https://x/{{ .params.apiToken }}');
    const result = compiled({
      actions: [secret, header, param, http('open')],
      params: [{ name: 'apiToken', value: 't' }],
    });
    expect(actionsOf(result).map((action) => action.body !== undefined)).toEqual([false, false, false, true]);
  });
});

describe('refusals', () => {
  it('names a workflow that is not there', () => {
    const value = snapshot({});
    value.workflows = {};
    const result = compileRun({ snapshot: value });
    expect(result).toMatchObject({
      ok: false,
      problems: [{ reason: 'WorkflowNotFound', path: 'spec.stages[0].workflows[0].workflowRef' }],
    });
  });

  it('refuses more actions than a run may have', () => {
    const actions = Array.from({ length: 1500 }, (_, index) => http(`a${index}`));
    const use = { workflowRef: { name: 'w' } };
    expect(reasons({ actions, plan: { stages: [{ name: 's', workflows: [use, use] }] } })).toEqual([
      'PlanTooLarge',
    ]);
    expect(reasons({ actions })).toEqual([]);
  });
});

describe('waits for a time', () => {
  const wait = (duration: string, more: Partial<Action> = {}): Action => ({
    name: 'pause',
    type: 'Wait',
    wait: { duration },
    ...more,
  });
  const step = (action: Action): unknown =>
    actionsOf(compiled({ actions: [http('a'), action], params: [{ name: 'ttl', value: '90s' }] }))[1]?.step;

  it('are timers, whose length is known unless an output or a condition decides', () => {
    expect(step(wait('5s'))).toEqual({ kind: 'timer', ms: 5000 });
    expect(step(wait('{{ .params.ttl }}'))).toEqual({ kind: 'timer', ms: 90_000 });
    expect(step(wait('{{ .outputs.a.httpResponse.body }}'))).toEqual({ kind: 'timer' });
    expect(step(wait('5s', { when: 'outputs.a.phase == "Succeeded"' }))).toEqual({ kind: 'timer' });
    expect(step(http('b'))).toBeUndefined();
  });

  it('can stand in a rollback', () => {
    const action = { ...http('b'), rollback: { type: 'Wait', wait: { duration: '5s' } } };
    const [, compiledAction] = actionsOf(compiled({ actions: [http('a'), action] }));
    expect(compiledAction?.step).toBeUndefined();
    expect(compiledAction?.rollback).toMatchObject({ type: 'Wait', step: { kind: 'timer', ms: 5000 } });
  });

  it('are refused before anything runs when a parameter makes them no duration', () => {
    const actions = [wait('{{ .params.ttl }}')];
    expect(reasons({ actions, params: [{ name: 'ttl', value: 'soon' }] })).toEqual(['InvalidField']);
  });
});
