import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkWhen, evaluateWhen, whenReferences } from './when.js';
import type { WhenScope } from './when.js';

const scope: WhenScope = {
  params: { env: 'prod', replicas: 3, ratio: 0.5, on: true, 'x-y': 'dash' },
  outputs: {
    step1: { phase: 'Succeeded', httpResponse: { statusCode: 200, body: 'ok' } },
    'step-2': { phase: 'Skipped' },
  },
  runMode: 'Planned',
  operation: 'Execute',
  phases: { step1: 'Succeeded', 'step-2': 'Skipped' },
};

const holds = (expression: string, over: Partial<WhenScope> = {}) => {
  expect(checkWhen(expression)).toEqual([]);
  return evaluateWhen(expression, { ...scope, ...over });
};

describe('evaluateWhen', () => {
  test.each([
    ["{{ .outputs.step1.phase == 'Succeeded' }}", true],
    ["{{ .outputs.step-2.phase == 'Succeeded' }}", false],
    ["{{ .outputs.step1.phase }} == 'Succeeded' && {{ .params.x-y }} == 'dash'", true],
    ['{{ .outputs.step1.httpResponse.statusCode == 200 }}', true],
    ["{{ (.params.env) == 'prod' && !(.params.on == false) }}", true],
    ['{{ .params.replicas - 1 == 2 }}', true],
    ['outputs["step-2"].phase == "Skipped"', true],
    ['params.env == "prod" && runMode == "Planned" && operation == "Execute"', true],
    ['params.replicas > 2 && params.replicas == 3 && params.ratio < 1.0', true],
    ['params.on', true],
    ['phases["step-2"] in ["Skipped", "Failed"]', true],
    ['has(params.nope) ? params.nope == "x" : false', false],
    ['"nope" in params', false],
    ['outputs.exists(name, outputs[name].phase == "Skipped")', true],
    ['params.env.matches("^pr")', true],
    ['params.env == ".outputs.step1.phase"', false],
    ['params.env == r"{a\\d}}" || params.on', true],
  ])('%s is %s [S4.7]', (expression, value) => {
    expect(holds(expression)).toEqual({ value });
  });

  test.each([
    ['mode == "install"', 'install', true],
    ['mode == "install" || mode == "upgrade"', 'Upgrade', true],
    ['mode == "INSTALL"', 'install', true],
    ['"Delete" != mode', 'delete', false],
    ['mode in ["Install", "Rollback"]', 'ROLLBACK', true],
    ['mode == "install"', 'delete', false],
    ['mode == install', 'Install', true],
    ['operation == "upgrade" || mode == delete', 'Delete', true],
    ['operation == "upgrade"', 'Install', false],
    ['operation == "Execute" && operation != "delete"', 'Install', true],
    ['mode == "Custom"', 'custom', false],
    ['{{ .mode == "install" }}', 'install', true],
    ['((mode)) == ("install") && params.ratio == 0.50000000001', 'install', false],
  ])('%s with mode %s is %s', (expression, mode, value) => {
    expect(holds(expression, { mode })).toEqual({ value });
  });

  test.each([
    ['mode == "install"', true],
    ['mode == "install" && mode == "delete"', true],
    ['mode != "install" && "x" == mode && mode in ["a"]', true],
    ['(mode == "install" || params.env == "x") && params.env == "prod"', true],
    ['((mode)) == ("install") && params.env == "x"', false],
    ['mode == "install" && params.ratio == 0.50000000001', false],
    [
      'mode == "install" && -(params.replicas - (1 - 2)) == -4 && !(params.env == "x" || params.on == false)',
      true,
    ],
    ['(mode == "install" ? params.env : "x") == "prod"', true],
  ])('without a mode comparisons on it are true: %s is %s [S1.18]', (expression, value) => {
    expect(holds(expression)).toEqual({ value });
    expect(holds(expression, { mode: '' })).toEqual({ value });
  });

  test.each([
    ['params.nope == "x"', 'No such key: nope'],
    ['outputs.later.phase == "Succeeded"', 'No such key: later'],
    ['params.constructor == "x"', 'No such key: constructor'],
    ['params.__proto__ == "x"', 'No such key: __proto__'],
    ['params.env', 'must give true or false'],
    ['params.env > 3', 'is text unless the workflow declares it with type number'],
  ])('%s ends with an error', (expression, message) => {
    expect(holds(expression)).toEqual({ error: expect.stringContaining(message) as string });
  });

  test('a regular expression that backtracks without end is stopped [SEC11]', () => {
    const result = evaluateWhen('params.v.matches("^(a+)+$")', {
      ...scope,
      params: { v: `${'a'.repeat(50)}!` },
    });
    expect(result).toEqual({ error: expect.stringContaining('took longer than') as string });
  });
});

describe('checkWhen', () => {
  test.each([
    ['', 'it is empty'],
    ['params.a ==', 'Unexpected token'],
    ['{{ .params.a == "x"', 'is not closed'],
    ['{{ eq .params.a "x" }}', 'condition'],
    ['unknown == 1', 'Unknown variable: unknown'],
    ['"text"', 'must give true or false'],
    ['1 + 1', 'must give true or false'],
    ['mode == 1', 'no such overload'],
    ['"{{ .params.a }}" == "x"', 'write the name without quotes'],
    ['[1].map(x, x).size() == 1', 'map is not allowed'],
    ['cel.bind(a, 1, a == 1)', 'bind is not allowed'],
    ['[""].exists(mode, mode == "a")', 'cannot be the variable'],
    [`${'"a" + '.repeat(40)}"a" == "b"`, '40 additions'],
    [`${'('.repeat(200)}true${')'.repeat(200)}`, 'condition'],
    [`${'true || '.repeat(600)}true`, 'characters'],
    [`params.a == "${'x'.repeat(5000)}"`, 'allowed are 4096'],
  ])('refuses %s [SEC11]', (expression, message) => {
    const problems = checkWhen(expression);
    expect(problems).toMatchObject([{ severity: 'error', reason: 'InvalidWhen' }]);
    expect(problems[0]?.message).toContain(message);
    expect(evaluateWhen(expression, scope)).toEqual({ error: problems[0]?.message });
  });

  test('no text makes it throw or hang', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 60 }),
          fc
            .array(
              fc.constantFrom(
                '{{',
                '}}',
                '.outputs.a-b.c',
                'mode',
                '==',
                "'",
                '"',
                'r"',
                '\\',
                '(',
                ')',
                ' ',
                '||',
                '"x"',
                'params',
                '.',
              ),
              { maxLength: 14 },
            )
            .map((parts) => parts.join('')),
        ),
        (expression) => {
          const valid = checkWhen(expression).length === 0;
          const result = evaluateWhen(expression, { ...scope, mode: 'install' });
          if (!valid) expect(result).toHaveProperty('error');
        },
      ),
      { numRuns: 300 },
    );
  });
});

test('whenReferences tells what is read', () => {
  const references = whenReferences(
    '{{ .params.a-b == "x" && .outputs.s-1.phase == "y" }} && has(params.c) && params.c == params["d"] && "e" in params && phases.p == "z"',
  );
  expect([...references.params].sort()).toEqual(['a-b', 'c', 'd', 'e']);
  expect([...references.requiredParams].sort()).toEqual(['a-b', 'd']);
  expect([...references.outputs]).toEqual(['s-1']);
  expect([...references.phases]).toEqual(['p']);
  expect([...references.dynamic]).toEqual([]);
  expect([...whenReferences('outputs.exists(n, params[n] == "x")').dynamic].sort()).toEqual([
    'outputs',
    'params',
  ]);
  expect(whenReferences('params.x ==').params.size).toBe(0);
});
