import { describe, expect, it } from 'vitest';
import { isObject } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import type { DRWorkflow } from '../types.js';
import { validateExecutionSpec } from './execution.js';
import { validatePlan } from './plan.js';
import { validateWorkflow } from './workflow.js';

/** Every kind of fault that an action, or actions together, can have; nothing that the schema refuses. */
const WORKFLOW = {
  metadata: { name: 'w', namespace: 'shop' },
  spec: {
    executor: { type: 'Argo' },
    parameters: [
      { name: 'site', type: 'number', default: 'a' },
      { name: 'unused', default: 'x' },
      { name: 'needed', required: true },
    ],
    failurePolicy: 'Continue',
    actions: [
      { name: 'one', type: 'HTTP', http: { url: 'http://{{ .params.site }}.example/{{ .params.nobody }}' } },
      { name: 'two', type: 'Job', job: {}, timeout: '1m', totalTimeout: '1s' },
      { name: 'two', type: 'Wait', wait: { duration: '1s' }, when: 'params.(' },
      { name: 'three', type: 'Wait', wait: { duration: '1s' }, dependsOn: ['nowhere', 'four'] },
      {
        name: 'four',
        type: 'HTTP',
        dependsOn: ['three'],
        http: { url: 'https://x.example/{{ .outputs.one.nothing }}', headers: { 'bad name': 'x' } },
        rollback: { type: 'Nonsense' },
      },
      {
        name: 'five',
        type: 'KubernetesResource',
        hookType: 'PreInstall',
        dependsOn: ['one'],
        resource: { operation: 'Patch', manifest: 'a: {{ .outputs.six.phase }}' },
      },
      {
        name: 'six',
        type: 'Approval',
        waitReady: true,
        clusterExecutionMode: 'PerCluster',
        maxConcurrentClusters: 3,
        approval: { approvers: { users: ['a'] }, quorum: 4 },
      },
    ],
  },
};

const PLAN = {
  metadata: { name: 'p', namespace: 'shop' },
  spec: {
    failurePolicy: 'Continue',
    onFailure: 'Pause',
    serviceAccountName: 'Not A Name',
    globalParams: [
      { name: 'mode', value: 'x' },
      { name: 'lost', value: '{{ .params.b }}' },
    ],
    stages: [
      { name: 'a', maxConcurrency: 2, workflows: [{ workflowRef: { name: 'good' } }], dependsOn: ['b'] },
      { name: 'b', when: 'phases["z"] == "Failed"', workflows: [{ workflowRef: { name: 'gone' } }] },
      {
        name: 'b',
        when: 'phases["a"] == "Failed"',
        dependsOn: ['a', 'nowhere'],
        workflows: [{ workflowRef: { name: 'good' }, params: [{ name: 'stray', value: 'x' }] }],
      },
    ],
  },
};
const GOOD: DRWorkflow = {
  metadata: { name: 'good', namespace: 'shop' },
  spec: {
    parameters: [{ name: 'site', required: true }],
    actions: [{ name: 'a', type: 'HTTP', http: { url: 'https://x.example/{{ .params.site }}' } }],
  },
};

const EXECUTION = {
  metadata: { name: 'e', namespace: 'shop' },
  spec: {
    planRef: 'Not A Name',
    operationType: 'Execute',
    mode: 'Rollback',
    force: true,
    revertExecutionRef: 'x',
    requestedAt: 'yesterday',
    params: [{ name: 'mode', value: 'x' }],
  },
};

const lookup = (_namespace: string, name: string): DRWorkflow | undefined =>
  name === 'good' ? GOOD : undefined;

const SUBJECTS: [string, { spec: unknown }, (object: unknown) => Problem[]][] = [
  ['workflow', WORKFLOW, (object) => validateWorkflow(object)],
  ['plan', PLAN, (object) => validatePlan(object, lookup, { plan: () => undefined })],
  ['execution', EXECUTION, (object) => validateExecutionSpec(object)],
];

/** All places below a value. */
function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (!isObject(value) && !Array.isArray(value)) return [path];
  const entries = Array.isArray(value)
    ? value.map((item, index): [number, unknown] => [index, item])
    : Object.entries(value);
  return [path, ...entries.flatMap(([key, item]) => pathsOf(item, [...path, key]))];
}

/** A copy in which one place holds something that no schema takes there, or nothing. */
function spoilt<T extends object>(object: T, path: readonly (string | number)[], by: unknown): T {
  const copy = structuredClone(object);
  const holder = path
    .slice(0, -1)
    .reduce<Record<string | number, unknown>>(
      (at, key) => at[key] as Record<string | number, unknown>,
      copy as Record<string | number, unknown>,
    );
  const key = path.at(-1)!;
  if (by === undefined && !Array.isArray(holder)) delete holder[key];
  else holder[key] = by;
  return copy;
}

const textOf = ({ severity, path, reason }: Problem): string => `${severity} ${reason} ${path}`;
const isStructural = ({ reason, message }: Problem): boolean =>
  reason === 'InvalidField' && /; must be|is missing|allowed are|is empty/.test(message);

describe.each(SUBJECTS)('a %s with a part that its schema refuses', (_, object, check) => {
  const whole = check(object);
  const known = new Set(whole.map(textOf));

  it('has faults to find', () => {
    expect(known.size).toBeGreaterThan(5);
  });

  it('is told of no fault that it would not have with that part in order [F24]', () => {
    for (const path of pathsOf(object.spec, ['spec']).slice(1)) {
      for (const by of [{ wrong: [{}] }, ['wrong'], 17.5, null]) {
        const found = check(spoilt(object, path, by));
        // Some places take what stands there now: then nothing is left out.
        const isRefused = found.some((problem) => isStructural(problem) && !known.has(textOf(problem)));
        if (!isRefused) continue;
        const more = found.filter((problem) => !isStructural(problem) && !known.has(textOf(problem)));
        expect(more.map(textOf), `${path.join('.')} = ${JSON.stringify(by)}`).toEqual([]);
      }
    }
  });
});

describe('what is told beside a part that cannot be read', () => {
  const reasonsOf = (problems: readonly Problem[], at: RegExp): string[] =>
    problems.filter(({ path }) => at.test(path)).map(({ reason }) => reason);

  it('is what is wrong with the other actions [F24]', () => {
    const found = validateWorkflow(spoilt(WORKFLOW, ['spec', 'actions', 0, 'http'], 'wrong'));
    const of = (problems: readonly Problem[], index: number): string[] =>
      reasonsOf(problems, new RegExp(`^spec\\.actions\\[${index}\\]`));
    for (const index of [1, 2, 3, 4, 5, 6]) expect(of(found, index), `action ${index}`).not.toEqual([]);
    expect(of(found, 0)).toEqual(['InvalidField']);
    // Without a name nobody knows whom the others wait for.
    const nameless = validateWorkflow(spoilt(WORKFLOW, ['spec', 'actions', 0], 'wrong'));
    expect(of(nameless, 3)).toEqual([]);
    expect(of(nameless, 2)).toEqual(['InvalidWhen']);
  });

  it('is what is wrong with the other stages [F24]', () => {
    const found = validatePlan(spoilt(PLAN, ['spec', 'stages', 0, 'workflows'], []), lookup);
    expect(reasonsOf(found, /^spec\.stages\[0\]/)).toEqual(['InvalidField']);
    expect(reasonsOf(found, /^spec\.stages\[1\]\.workflows/)).toEqual(['WorkflowNotFound']);
    expect(reasonsOf(found, /^spec\.serviceAccountName/)).toEqual(['InvalidName']);
  });

  it('is nothing where the list itself cannot be read, or all of it is too much', () => {
    expect(validateWorkflow(spoilt(WORKFLOW, ['spec', 'actions'], 'wrong')).map(textOf)).toEqual([
      'error InvalidField spec.actions',
    ]);
    let deep: unknown = 'x';
    for (let depth = 0; depth < 100; depth += 1) deep = [deep];
    expect(validateWorkflow(spoilt(WORKFLOW, ['spec', 'executor'], deep)).map(textOf)).toEqual([
      'error TooComplex spec',
    ]);
  });
});
