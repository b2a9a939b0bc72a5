import { describe, expect, it } from 'vitest';
import type { Problem } from '../../core/problem.js';
import type { DRWorkflow } from '../types.js';
import { validatePlan } from './plan.js';
import { unknownFields } from './unknown-fields.js';
import { validateWorkflow } from './workflow.js';

type Loose = Record<string, unknown>;

const http = (name: string, url = 'https://x.example/', more: Loose = {}): Loose => ({
  name,
  type: 'HTTP',
  http: { url },
  ...more,
});
const workflow = (actions: Loose[], parameters: Loose[] = []): Loose => ({
  metadata: { name: 'w', namespace: 'dr' },
  spec: { actions, parameters },
});
const brief = (problems: readonly Problem[]): string[] =>
  problems.map((problem) => `${problem.severity} ${problem.reason} ${problem.path}`);
const checkPlan = (spec: Loose, used: Loose = workflow([http('a')]), name = 'p'): Problem[] =>
  validatePlan({ metadata: { name, namespace: 'dr' }, spec }, () => used as unknown as DRWorkflow);
const stage = (name: string, more: Loose = {}): Loose => ({
  name,
  workflows: [{ workflowRef: { name: 'w' } }],
  ...more,
});

describe('unused parameters', () => {
  it('are told, each where it is declared [S2.5]', () => {
    const actions = [http('a', 'https://x.example/{{ .params.used }}')];
    expect(brief(validateWorkflow(workflow(actions, [{ name: 'used' }, { name: 'idle' }])))).toEqual([
      'warning UnusedParameter spec.parameters[1]',
    ]);
  });

  it.each<[string, Loose]>([
    ['a condition', http('a', undefined, { when: 'params.x == "1"' })],
    ['a condition over all parameters', http('a', undefined, { when: 'size(params) > 0' })],
    ['a rollback', http('a', undefined, { rollback: { http: { url: 'https://x.example/$(params.x)' } } })],
  ])('are not those that %s reads', (_, action) => {
    const found = validateWorkflow(workflow([action], [{ name: 'x' }]));
    expect(found.filter(({ reason }) => reason === 'UnusedParameter')).toEqual([]);
  });
});

describe('outputs', () => {
  const read = (path: string): Problem[] =>
    validateWorkflow(workflow([http('a'), http('b', `https://x.example/{{ .outputs.a.${path} }}`)]));

  it.each(['phase', 'httpResponse.statusCode', 'httpResponse.body', 'created.0.name'])(
    'that an HTTP action has: %s',
    (path) => expect(read(path)).toEqual([]),
  );

  it.each([
    ['httpResponse', 'is not a single value; name one of statusCode, body'],
    ['httpResponse.status', 'has no field "status"; it has statusCode, body'],
    ['httpResponse.body.id', 'is a single value and has no field "id"'],
    ['jobRef.name', 'an action of type HTTP has no output "jobRef"; it has phase, httpResponse'],
    ['result', 'has no output "result"'],
    ['created.name', 'is a list; name an entry by its number'],
    ['phase.x', 'phase is a text'],
  ])('that it can never have: %s [S2.10]', (path, message) => {
    const [problem] = read(path);
    expect(problem).toMatchObject({
      severity: 'error',
      reason: 'UndefinedOutput',
      path: 'spec.actions[1].http',
    });
    expect(problem?.message).toContain(message);
  });

  it('may be missing where a default is written', () => {
    expect(read('jobRef.name | default "none"')).toEqual([]);
  });
});

describe('unreachable stages', () => {
  const judge = (stages: Loose[], more: Loose = {}): string[] => brief(checkPlan({ stages, ...more }));
  const never = 'warning UnreachableStage spec.stages[1].when';
  const failed = { when: 'phases.a == "Failed"' };

  it.each<[string, Loose[], Loose, string[]]>([
    ['a constant', [stage('a'), stage('b', { when: '1 == 2' })], {}, [never]],
    ['a failure that stops the plan', [stage('a'), stage('b', failed)], {}, [never]],
    [
      'a failure it depends on',
      [stage('a'), stage('b', { ...failed, dependsOn: ['a'] })],
      { failurePolicy: 'Continue' },
      [never],
    ],
    [
      'a stage that comes later',
      [stage('b'), stage('c', { when: 'phases.a == "Succeeded"' }), stage('a')],
      {},
      [never],
    ],
    [
      'a failure that does not stop the plan',
      [stage('a'), stage('b', failed)],
      { failurePolicy: 'Continue' },
      [],
    ],
    [
      'a failure of a stage that lets the plan go on',
      [stage('a', { failurePolicy: 'Continue' }), stage('b', failed)],
      {},
      [],
    ],
    ['a skip', [stage('a'), stage('b', { when: 'phases.a == "Skipped"' })], {}, []],
    ['a drill', [stage('a'), stage('b', { when: 'runMode == "Drill"' })], {}, []],
    ['a mode', [stage('a'), stage('b', { when: 'mode == "delete"' })], {}, []],
  ])('%s', (_, stages, more, expected) => expect(judge(stages, more)).toEqual(expected));

  it('are not guessed where a parameter decides', () => {
    const stages = [stage('a'), stage('b', { when: 'params.x == "1" && phases.a == "Failed"' })];
    expect(judge(stages, { globalParams: [{ name: 'x', value: '0' }] })).toEqual([]);
  });

  it('are looked for in bounded time', () => {
    const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
    const when = names.map((name) => `phases.${name} == "Failed"`).join(' && ');
    const stages = names.map((name) => stage(name));
    const started = performance.now();
    checkPlan({ stages: [...stages, ...Array.from({ length: 100 }, (_, i) => stage(`x${i}`, { when }))] });
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

describe('Localizations of one plan', () => {
  const localization = (name: string, priority?: number, more: Loose = {}): Loose => ({
    name,
    type: 'Localization',
    localization: {
      name: `{{ .params.x }}-${name}`,
      namespace: 'cluster-{{ .params.x }}',
      feed: { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', namespace: 'app' },
      overrides: [{ name: 'o', type: 'MergePatch', value: 'data: {}' }],
      ...(priority !== undefined && { priority }),
      ...more,
    },
  });
  const check = (...actions: Loose[]): string[] =>
    brief(
      checkPlan(
        { stages: [stage('a')], globalParams: [{ name: 'x', value: 'a' }] },
        workflow(actions, [{ name: 'x' }]),
      ),
    );
  const at = 'spec.stages[0].workflows[0].workflowRef(dr/w).spec.actions[1].localization.priority';

  it('warn when chance decides which of them wins [S3.34]', () => {
    expect(check(localization('one'), localization('two', 500))).toEqual([`warning EqualPriority ${at}`]);
  });

  it.each<[string, Loose[]]>([
    ['another priority', [localization('one', 500), localization('two', 501)]],
    [
      'another feed',
      [
        localization('one'),
        localization('two', 500, { feed: { apiVersion: 'v1', kind: 'ConfigMap', name: 'd' } }),
      ],
    ],
    ['another cluster', [localization('one'), localization('two', 500, { namespace: 'cluster-b' })]],
    ['the same Localization', [localization('one'), { ...localization('one', 500), name: 'two' }]],
    ['a delete', [localization('one'), localization('two', 500, { operation: 'Delete' })]],
  ])('do not warn for %s', (_name, actions) => {
    expect(check(...actions)).toEqual([]);
  });
});

describe('names that parameters make', () => {
  const subscription = (block: Loose): Loose => ({
    name: 's',
    type: 'Subscription',
    waitReady: true,
    subscription: {
      name: 'web',
      feeds: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'c' }],
      subscribers: [{ clusterAffinity: { matchLabels: { a: 'b' } } }],
      ...block,
    },
  });
  const resource = (manifest: string): Loose => ({
    name: 'r',
    type: 'KubernetesResource',
    resource: { manifest },
  });
  const at = 'spec.stages[0].workflows[0].workflowRef(dr/w).spec.actions[0]';
  const check = (action: Loose, value: string, plan = 'p'): Problem[] =>
    checkPlan(
      { stages: [stage('a')], globalParams: [{ name: 'x', value }] },
      workflow([action], [{ name: 'x', default: '' }]),
      plan,
    );

  it('are too long [S6.3]', () => {
    const [problem] = check(subscription({ namespace: 'team-{{ .params.x }}' }), 'n'.repeat(60));
    expect(problem).toMatchObject({
      severity: 'warning',
      reason: 'InvalidName',
      path: `${at}.subscription.namespace`,
    });
    expect(problem?.message).toContain('has 65 characters; at most 63');
  });

  it('have characters that are not allowed', () => {
    expect(brief(check(subscription({ name: 'web-$(params.x)' }), 'Site_B'))).toEqual([
      `warning InvalidName ${at}.subscription.name`,
    ]);
  });

  it('are errors when no execution can change them', () => {
    const long = `${'p'.repeat(200)}.${'q'.repeat(40)}`;
    const used = check(subscription({ name: 'prefix-0123456-{{ .planName }}' }), '', long);
    expect(brief(used).filter((line) => line.includes('InvalidName'))).toEqual([
      `error InvalidName ${at}.subscription.name`,
    ]);
  });

  it('are found in manifests', () => {
    const manifest = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-{{ .params.x }}\n';
    expect(brief(check(resource(manifest), 'x'.repeat(260)))).toEqual([
      `warning InvalidName ${at}.resource.manifest`,
    ]);
    expect(check(resource(manifest), 'short')).toEqual([]);
  });

  it('are left alone while they hold outputs', () => {
    const actions = [http('a'), { ...subscription({ name: 'web-{{ .outputs.a.httpResponse.body }}' }) }];
    expect(checkPlan({ stages: [stage('a')] }, workflow(actions))).toEqual([]);
  });
});

describe('fields that a kind does not have', () => {
  it('are told with the field that was meant', () => {
    const spec = {
      stages: [{ name: 'a', paralell: true, workflows: [{ workflowRef: { name: 'w', kind: 'X' } }] }],
      failure_policy: 'Stop',
    };
    const found = unknownFields('DRPlan', spec);
    expect(brief(found)).toEqual([
      'warning UnknownField spec.stages[0].paralell',
      'warning UnknownField spec.stages[0].workflows[0].workflowRef.kind',
      'warning UnknownField spec.failure_policy',
    ]);
    expect(found[0]?.message).toContain('did you mean parallel?');
    expect(found[2]?.message).toContain('did you mean failurePolicy?');
  });

  it('are found in rollbacks, and not in blocks that are stored as they are', () => {
    const spec = {
      actions: [
        {
          name: 'a',
          type: 'Job',
          job: { template: { spec: { anything: 1 } } },
          rollback: { type: 'HTTP', http: { url: 'https://x', timeout: '3s' } },
        },
      ],
    };
    expect(brief(unknownFields('DRWorkflow', spec))).toEqual([
      'warning UnknownField spec.actions[0].rollback.http.timeout',
    ]);
  });

  it('are searched in values of any shape', () => {
    for (const spec of [undefined, null, 3, [], { stages: 3 }, { stages: [null, [[]]] }]) {
      expect(unknownFields('DRPlan', spec)).toEqual([]);
    }
  });
});
