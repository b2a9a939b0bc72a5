import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateExecutionSpec, validateNewExecutionSpec } from './execution.js';

type Loose = Record<string, unknown>;

const check = (spec: Loose): string[] =>
  validateExecutionSpec({ metadata: { name: 'run', namespace: 'dr' }, spec }).map(
    (problem) => `${problem.severity} ${problem.reason} ${problem.path}`,
  );
const execute = { planRef: 'shop', operationType: 'Execute' };
const revert = { planRef: 'shop', operationType: 'Revert', revertExecutionRef: 'run-1' };

describe('validateExecutionSpec', () => {
  it.each<[string, Loose, string[]]>([
    ['an execute', execute, []],
    ['a revert', revert, []],
    ['parameters', { ...execute, params: [{ name: 'x', value: 3 }], runMode: 'Drill', rerun: 'Allowed' }, []],
    [
      '[F16] a value that holds a placeholder, which stays literal',
      { ...execute, params: [{ name: 'x', value: 'a-{{ .params.y | default "1" }}' }] },
      ['warning LiteralPlaceholder spec.params[0].value'],
    ],
    ['no plan', { operationType: 'Execute' }, ['error InvalidField spec.planRef']],
    [
      'a plan in another namespace',
      { ...execute, planRef: 'other/shop' },
      ['error InvalidName spec.planRef'],
    ],
    [
      'an unknown operation',
      { ...execute, operationType: 'Undo' },
      ['error InvalidField spec.operationType'],
    ],
    [
      'a revert of nothing',
      { planRef: 'shop', operationType: 'Revert' },
      ['error InvalidField spec.revertExecutionRef'],
    ],
    [
      'an execute with a target',
      { ...execute, revertExecutionRef: 'run-1' },
      ['warning IgnoredField spec.revertExecutionRef'],
    ],
    ['a mode', { ...execute, mode: 'Install' }, []],
    ['an unknown mode', { ...execute, mode: 'install' }, ['error InvalidField spec.mode']],
    ['a mode that undoes nothing', { ...execute, mode: 'Rollback' }, ['warning SuspectField spec.mode']],
    ['the mode of a revert', { ...revert, mode: 'Rollback' }, []],
    ['another mode of a revert', { ...revert, mode: 'Install' }, ['warning IgnoredField spec.mode']],
    [
      'a parameter with the name of the mode',
      { ...execute, params: [{ name: 'mode', value: 'install' }] },
      ['error ReservedParameter spec.params[0].name'],
    ],
    ['force on an execute', { ...execute, force: true }, ['warning IgnoredField spec.force']],
    ['rerun on a revert', { ...revert, rerun: 'Allowed' }, ['warning IgnoredField spec.rerun']],
    [
      'a parameter from an object that is not named',
      { ...execute, params: [{ name: 'x', valueFrom: {} }] },
      ['error InvalidField spec.params[0].valueFrom.manifestRef'],
    ],
    [
      'a parameter given twice',
      {
        ...execute,
        params: [
          { name: 'x', value: '1' },
          { name: 'x', value: '2' },
        ],
      },
      ['warning DuplicateParameter spec.params[1]'],
    ],
  ])('%s', (_, spec, expected) => {
    expect(check(spec)).toEqual(expected);
  });

  it('gives problems for any JSON value, never an exception', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          fc.jsonValue().map((spec) => ({ spec })),
        ),
        (value) => {
          expect(validateExecutionSpec(value).length).toBeGreaterThan(0);
        },
      ),
    );
  });
});

describe('validateNewExecutionSpec [F21]', () => {
  const problems = (startDeadlineSeconds: unknown) => {
    const execution = {
      metadata: { name: 'run', namespace: 'dr' },
      spec: { ...execute, startDeadlineSeconds },
    };
    return { stored: validateExecutionSpec(execution), created: validateNewExecutionSpec(execution) };
  };

  it.each([undefined, 1, 900, 604_800])('lets in a start deadline of %s [S5.10]', (seconds) => {
    expect(problems(seconds)).toEqual({ stored: [], created: [] });
  });

  it.each([604_801, 31_536_000, Number.MAX_SAFE_INTEGER])(
    'refuses one of %i, which stays valid where it is stored [S5.10]',
    (seconds) => {
      const { stored, created } = problems(seconds);
      expect(stored).toEqual([]);
      expect(created).toEqual([
        {
          severity: 'error',
          path: 'spec.startDeadlineSeconds',
          reason: 'InvalidField',
          message: expect.stringMatching(new RegExp(`^is ${seconds}; must be at most 604800 \\(7 days\\)`)),
        },
      ]);
    },
  );

  it('says once what has the wrong shape, and takes anything', () => {
    expect(problems('soon').created).toEqual(problems('soon').stored);
    for (const value of [undefined, null, 3, [], { spec: 1 }]) {
      expect(validateNewExecutionSpec(value)).toEqual(validateExecutionSpec(value));
    }
  });
});
