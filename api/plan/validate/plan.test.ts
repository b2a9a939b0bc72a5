import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { Problem } from '../../core/problem.js';
import type { DRWorkflow, Parameter } from '../types.js';
import { validatePlan } from './plan.js';

type Loose = Record<string, unknown>;

function workflow(parameters: Parameter[] = [], url = 'https://x/'): DRWorkflow {
  return {
    metadata: { name: 'w', namespace: 'dr' },
    spec: { parameters, actions: [{ name: 'a', type: 'HTTP', http: { url } }] },
  };
}

const use = (name = 'w', more: Loose = {}): Loose => ({ workflowRef: { name }, ...more });
const stage = (name: string, more: Loose = {}): Loose => ({ name, workflows: [use()], ...more });
const plan = (spec: Loose): Loose => ({ metadata: { name: 'p', namespace: 'dr' }, spec });

function check(spec: Loose, workflows: Record<string, DRWorkflow> = { 'dr/w': workflow() }): string[] {
  return brief(validatePlan(plan(spec), (namespace, name) => workflows[`${namespace}/${name}`]));
}

const brief = (problems: Problem[]): string[] =>
  problems.map((problem) => `${problem.severity} ${problem.reason} ${problem.path}`);

describe('stages', () => {
  it('accepts forward references and a plan of independent stages', () => {
    expect(check({ stages: [stage('a', { dependsOn: ['b'] }), stage('b')] })).toEqual([]);
  });

  it.each<[string, Loose, string[]]>([
    ['are there', { stages: [] }, ['error InvalidField spec.stages']],
    [
      'have workflows',
      { stages: [stage('a', { workflows: [] })] },
      ['error InvalidField spec.stages[0].workflows'],
    ],
    ['have unique names', { stages: [stage('a'), stage('a')] }, ['error DuplicateName spec.stages[1].name']],
    [
      'depend on stages that exist',
      { stages: [stage('a', { dependsOn: ['z'] })] },
      ['error UnknownDependency spec.stages[0].dependsOn[0]'],
    ],
    [
      'have no cycle',
      { stages: [stage('a', { dependsOn: ['b'] }), stage('b', { dependsOn: ['a'] })] },
      ['error DependencyCycle spec.stages'],
    ],
    [
      'know their policies',
      { stages: [stage('a', { failurePolicy: 'Ignore' })] },
      ['error InvalidField spec.stages[0].failurePolicy'],
    ],
    [
      'have readable conditions',
      { stages: [stage('a', { when: 'phases.' })] },
      ['error InvalidWhen spec.stages[0].when'],
    ],
    [
      'read phases of stages that exist',
      { stages: [stage('a'), stage('b', { when: 'phases.a == "Succeeded" || phases.z == "Failed"' })] },
      ['error UndefinedOutput spec.stages[1].when'],
    ],
    [
      'do not read outputs',
      { stages: [stage('a', { when: 'outputs.a.phase == "Succeeded"' })] },
      ['error UndefinedOutput spec.stages[0].when'],
    ],
    [
      'limit concurrency only where there is some',
      { stages: [stage('a', { maxConcurrency: 2 })] },
      ['warning IgnoredField spec.stages[0].maxConcurrency'],
    ],
    [
      'never stop under Continue',
      { stages: [stage('a')], failurePolicy: 'Continue', onFailure: 'Pause' },
      ['warning IgnoredField spec.onFailure'],
    ],
  ])('%s', (_, spec, expected) => {
    expect(check(spec)).toEqual(expected);
  });
});

describe('workflows', () => {
  it('must exist, in the namespace of the plan unless another is named [S1.15]', () => {
    expect(check({ stages: [stage('a', { workflows: [use('gone')] })] })).toEqual([
      'error WorkflowNotFound spec.stages[0].workflows[0].workflowRef',
    ]);
    const elsewhere = { workflowRef: { name: 'w', namespace: 'shared' } };
    expect(check({ stages: [stage('a', { workflows: [elsewhere] })] }, { 'shared/w': workflow() })).toEqual(
      [],
    );
  });

  it('must be valid; the message says what is wrong with it', () => {
    const broken = workflow([], 'ftp://x');
    const [problem] = validatePlan(plan({ stages: [stage('a')] }), () => broken);
    expect(problem).toMatchObject({ severity: 'error', reason: 'WorkflowInvalid' });
    expect(problem?.message).toContain('spec.actions[0].http.url');
  });

  it('are checked once, however often they are used', () => {
    const workflowProblems = vi.fn(() => []);
    validatePlan(plan({ stages: [stage('a', { workflows: [use(), use(), use()] })] }), () => workflow(), {
      workflowProblems,
    });
    expect(workflowProblems).toHaveBeenCalledTimes(1);
  });

  it('may not have more than 2000 actions in all', () => {
    const large = workflow();
    large.spec.actions = Array.from({ length: 1001 }, (_, index) => ({
      name: `a${index}`,
      type: 'HTTP',
      http: { url: 'https://x/' },
    }));
    expect(check({ stages: [stage('a'), stage('b')] }, { 'dr/w': large })).toEqual([
      'error PlanTooLarge spec.stages',
    ]);
  });
});

describe('parameters', () => {
  const one = (parameters: Parameter[], spec: Loose = {}, url?: string): string[] =>
    check({ stages: [stage('a')], ...spec }, { 'dr/w': workflow(parameters, url) });
  const inside = 'spec.stages[0].workflows[0].workflowRef(dr/w)';

  it('that are required only warn: an execution may give them', () => {
    expect(one([{ name: 'x', required: true }])).toEqual([
      `warning MissingParameter ${inside}.spec.parameters[0]`,
    ]);
    expect(one([{ name: 'x', required: true }], { globalParams: [{ name: 'x', value: '1' }] })).toEqual([]);
    expect(one([{ name: 'x', required: true }], { globalParams: [{ name: 'x', default: '1' }] })).toEqual([]);
  });

  it('have the declared type [S2.3]', () => {
    expect(one([{ name: 'x', type: 'number' }], { globalParams: [{ name: 'x', value: 'many' }] })).toEqual([
      'error InvalidParameter spec.globalParams[0].value',
    ]);
  });

  it('that are used must be declared or given [S2.4]', () => {
    const url = 'https://x/{{ .params.site }}';
    expect(one([], {}, url)).toEqual([`error UndefinedParameter ${inside}.spec.actions[0].http`]);
    expect(one([], { globalParams: [{ name: 'site', value: 'b' }] }, url)).toEqual([]);
    expect(one([{ name: 'site' }], {}, url)).toEqual([
      `warning MissingParameter ${inside}.spec.actions[0].http`,
    ]);
    expect(one([{ name: 'site', required: true }], {}, url)).toEqual([
      `warning MissingParameter ${inside}.spec.parameters[0]`,
    ]);
  });

  it('[F16] warn where their value holds a placeholder, which stays literal [S2.6]', () => {
    const given = [{ name: 'site', value: '{{ .params.other }}' }];
    const url = 'https://x/{{ .params.site }}';
    expect(one([{ name: 'site' }], { globalParams: given }, url)).toEqual([
      'warning LiteralPlaceholder spec.globalParams[0].value',
    ]);
    const stages = [stage('a', { workflows: [use('w', { params: given })] })];
    expect(one([{ name: 'site' }], { stages }, url)).toEqual([
      'warning LiteralPlaceholder spec.stages[0].workflows[0].params[0].value',
    ]);
    // The workflow itself was told so.
    expect(one([{ name: 'site', default: '$(params.other)' }], {}, url)).toEqual([]);
  });

  it('that nobody knows are most likely misspelt [S2.5]', () => {
    expect(one([], { globalParams: [{ name: 'sitte', value: 'b' }] })).toEqual([
      'warning UnknownParameter spec.globalParams[0]',
    ]);
    const stages = [stage('a', { when: 'params.go == "1"' })];
    expect(one([], { stages, globalParams: [{ name: 'go', value: '1' }] })).toEqual([]);
  });

  it('from objects are values that are not known yet', () => {
    const from = (kind: string) => ({
      name: 'x',
      valueFrom: { manifestRef: { apiVersion: 'v1', kind, name: 'site', jsonPath: '.data.site' } },
    });
    expect(one([{ name: 'x', required: true }], { globalParams: [from('ConfigMap')] })).toEqual([]);
    expect(one([{ name: 'x' }], { globalParams: [from('Secret')] })).toEqual([
      'error SecretRefused spec.globalParams[0].valueFrom.manifestRef.kind',
    ]);
  });
});

describe('any JSON value', () => {
  it('gives problems, never an exception', () => {
    const leaf = fc.jsonValue({ maxDepth: 2 });
    const names = fc.constantFrom('a', 'b', 'w', '');
    const parameter = fc.record({ name: names, value: leaf, default: leaf }, { requiredKeys: [] });
    const stageArbitrary = fc.record(
      {
        name: names,
        dependsOn: fc.oneof(fc.array(names), leaf),
        when: fc.oneof(fc.constant('phases.a == "x"'), leaf),
        parallel: fc.oneof(fc.boolean(), leaf),
        workflows: fc.oneof(
          fc.array(fc.record({ workflowRef: fc.record({ name: names }), params: fc.array(parameter) })),
          leaf,
        ),
      },
      { requiredKeys: [] },
    );
    const spec = fc.record({
      stages: fc.array(stageArbitrary),
      globalParams: fc.oneof(fc.array(parameter), leaf),
    });
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), spec.map(plan)), (value) => {
        const found = validatePlan(value, (_, name) =>
          name === 'w' ? workflow([{ name: 'a' }]) : undefined,
        );
        for (const problem of found) expect(problem.message).not.toBe('');
      }),
      { numRuns: 300 },
    );
  });
});
