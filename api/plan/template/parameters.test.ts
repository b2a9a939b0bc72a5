import { describe, expect, test } from 'vitest';
import { literalPlaceholders, mergeParameters, unknownParameters } from './parameters.js';
import type { Parameter } from '../types.js';

const at = 'start' as const;
const reasons = (problems: { reason: string; path: string; severity: string }[]) =>
  problems.map(({ severity, reason, path }) => `${severity} ${reason} ${path}`);

describe('mergeParameters', () => {
  test('the highest level that gives a value wins, and default counts as a value in every level [S2.1]', () => {
    const { values, problems } = mergeParameters(
      {
        workflow: [
          { name: 'a', default: 'workflow' },
          { name: 'b', default: 'workflow' },
          { name: 'c', default: 'workflow' },
          { name: 'd', default: 'workflow' },
          { name: 'e' },
        ],
        plan: [
          { name: 'b', default: 'plan' },
          { name: 'c', value: 'plan' },
          { name: 'd', value: 'plan', default: 'ignored' },
        ],
        stage: [{ name: 'c', value: 'stage' }, { name: 'd' }],
        execution: [{ name: 'd', default: 'execution' }],
      },
      { at },
    );
    expect(values).toEqual({ a: 'workflow', b: 'plan', c: 'stage', d: 'execution' });
    expect(problems).toEqual([]);
  });

  test('an empty string is a value and overrides, an entry without value and default does not [S2.1]', () => {
    const { values } = mergeParameters(
      { workflow: [{ name: 'a', default: 'x' }], plan: [{ name: 'a', value: '' }], stage: [{ name: 'a' }] },
      { at },
    );
    expect(values).toEqual({ a: '' });
  });

  test.each([
    ['no value', [{ name: 'a', required: true }]],
    ['an empty value', [{ name: 'a', required: true, default: '' }]],
    ['an empty number', [{ name: 'a', required: true, type: 'number' as const, default: '' }]],
  ])('required with %s warns in a plan and is an error at the start [S2.2]', (_case, workflow) => {
    expect(reasons(mergeParameters({ workflow }, { at: 'plan' }).problems)).toEqual([
      'warning MissingParameter spec.parameters[0]',
    ]);
    expect(reasons(mergeParameters({ workflow }, { at: 'start' }).problems)).toEqual([
      'error MissingParameter spec.parameters[0]',
    ]);
  });

  test('[F26] values take the declared type, which is string where none is [S2.3]', () => {
    const { values, problems } = mergeParameters(
      {
        workflow: [
          { name: 'n', type: 'number', default: '1' },
          { name: 'f', type: 'number', default: '-1.5e2' },
          { name: 'b', type: 'boolean', default: 'true' },
          { name: 's', type: 'string', default: 3 },
          { name: 'free', default: 3 },
        ],
        plan: [{ name: 'n', value: '3' }],
      },
      { at },
    );
    expect(values).toEqual({ n: 3, f: -150, b: true, s: '3', free: '3' });
    expect(problems).toEqual([]);
  });

  test.each([
    ['number', 'three'],
    ['number', ''],
    ['number', ' 3'],
    ['number', '0x10'],
    ['number', '1e999'],
    ['number', '9007199254740993'],
    ['number', true],
    ['boolean', 'yes'],
    ['boolean', 1],
  ] as const)('a value that is no %s is refused: %j [S2.3]', (type, value) => {
    const { values, problems } = mergeParameters(
      { workflow: [{ name: 'x', type }], stage: [{ name: 'x', value }] },
      { at, paths: { stage: 'spec.stages[0].workflows[1].params' } },
    );
    expect(values).toEqual({});
    expect(reasons(problems)).toEqual(['error InvalidParameter spec.stages[0].workflows[1].params[0].value']);
    expect(problems[0]?.message).toContain(`declared as ${type}`);
    expect(problems[0]?.message).toContain(JSON.stringify(value));
  });

  test('the workflow decides the type, not who gives the value', () => {
    const { values } = mergeParameters(
      { workflow: [{ name: 'x', type: 'number' }], plan: [{ name: 'x', type: 'string', value: '7' }] },
      { at },
    );
    expect(values).toEqual({ x: 7 });
  });

  test('a parameter that only the plan declares has the type of the plan', () => {
    const { values } = mergeParameters(
      { workflow: [], plan: [{ name: 'x', type: 'boolean', value: 'false' }] },
      { at },
    );
    expect(values).toEqual({ x: false });
  });

  describe('valueFrom', () => {
    const ref = { apiVersion: 'v1', kind: 'ConfigMap', name: 'site', jsonPath: '{.data.site}' };
    const from = (more: object = {}, beside: object = {}): Parameter => ({
      name: 'x',
      valueFrom: { manifestRef: { ...ref, ...more } },
      ...beside,
    });
    const check = (entry: Parameter) =>
      reasons(mergeParameters({ workflow: [], plan: [entry] }, { at }).problems);

    test('is a value that is not known yet: it satisfies required, hides lower ones, and gives way to higher ones', () => {
      const workflow = [{ name: 'x', required: true, default: 'low' }];
      const pending = mergeParameters({ workflow, plan: [from()] }, { at: 'start' });
      expect([pending.problems, pending.values, [...pending.pending]]).toEqual([[], {}, ['x']]);
      const given = mergeParameters(
        { workflow, plan: [from()], execution: [{ name: 'x', value: 'b' }] },
        { at: 'start' },
      );
      expect([given.values, given.pending.size]).toEqual([{ x: 'b' }, 0]);
    });

    test.each([
      [from(), []],
      [from({ name: undefined, labelSelector: 'app={{ .params.app }}', select: 'First' }), []],
      [from({ kind: 'Secret' }), ['error SecretRefused spec.globalParams[0].valueFrom.manifestRef.kind']],
      [from({ kind: 'secret' }), ['error SecretRefused spec.globalParams[0].valueFrom.manifestRef.kind']],
      [
        from({ labelSelector: 'a=b' }),
        ['error InvalidField spec.globalParams[0].valueFrom.manifestRef.labelSelector'],
      ],
      [
        from({ jsonPath: '{.items[?(@.x>1)]}' }),
        ['error InvalidField spec.globalParams[0].valueFrom.manifestRef.jsonPath'],
      ],
      [
        from({ namespace: '{{ .outputs.a.phase }}' }),
        ['error InvalidPlaceholder spec.globalParams[0].valueFrom.manifestRef.namespace'],
      ],
      [from({}, { value: 'a' }), ['error InvalidField spec.globalParams[0].valueFrom']],
      [from({}, { default: 'a' }), ['warning IgnoredField spec.globalParams[0].default']],
      [{ name: 'x', valueFrom: {} }, ['error InvalidField spec.globalParams[0].valueFrom.manifestRef']],
    ])('%j', (entry, expected) => {
      expect(check(entry)).toEqual(expected);
    });

    test('has no place in the declaration of a workflow', () => {
      const { problems } = mergeParameters({ workflow: [from()] }, { at });
      expect(reasons(problems)).toEqual(['error UnsupportedField spec.parameters[0].valueFrom']);
    });
  });

  test('a stage that gives an undeclared parameter is warned about; the value is there all the same', () => {
    const { values, problems } = mergeParameters(
      { workflow: [{ name: 'region' }], stage: [{ name: 'regoin', value: 'b' }] },
      { at },
    );
    expect(values).toEqual({ regoin: 'b' });
    expect(reasons(problems)).toEqual(['warning UnknownParameter params[0]']);
  });

  test('a name given twice warns and the last one counts', () => {
    const { values, problems } = mergeParameters(
      {
        workflow: [
          { name: 'a', default: '1' },
          { name: 'a', default: '2' },
        ],
      },
      { at },
    );
    expect(values).toEqual({ a: '2' });
    expect(reasons(problems)).toEqual(['warning DuplicateParameter spec.parameters[1]']);
  });

  test('names of object internals are ordinary names', () => {
    const { values } = mergeParameters(
      {
        workflow: [
          { name: '__proto__', default: 'p' },
          { name: 'constructor', default: 'c' },
          { name: 'toString' },
        ],
      },
      { at },
    );
    expect(Object.keys(values)).toEqual(['__proto__', 'constructor']);
    expect(values['__proto__']).toBe('p');
    expect('toString' in values).toBe(false);
  });
});

test('unknownParameters names only what no workflow knows', () => {
  const problems = unknownParameters(
    [{ name: 'a' }, { name: 'b', value: '1' }],
    new Set(['a']),
    'spec.params',
  );
  expect(reasons(problems)).toEqual(['warning UnknownParameter spec.params[1]']);
});

test('[F16] literalPlaceholders names values and defaults that hold a placeholder, and nothing else [S2.6]', () => {
  const problems = literalPlaceholders(
    [
      { name: 'a', value: 'x-{{ .params.b }}' },
      { name: 'b', default: '$(planName)' },
      { name: 'c', value: 'given', default: '{{ .params.b }}' },
      { name: 'd', value: '{{ .Values.b }} $(date)' },
      { name: 'e', value: 3 },
      { name: 'f' },
    ],
    'spec.params',
  );
  expect(reasons(problems)).toEqual([
    'warning LiteralPlaceholder spec.params[0].value',
    'warning LiteralPlaceholder spec.params[1].default',
  ]);
  expect(problems[0]?.message).toContain('parameter "a" holds {{ .params.b }}, which stays this text');
});
