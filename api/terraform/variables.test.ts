import { describe, expect, it } from 'vitest';
import type { Variable } from './operation-terms.js';
import { hclText, refuseVariableName, secretTexts, variableFile } from './variables.js';

const variable = (over: Partial<Variable>): Variable => ({
  key: 'x',
  value: 'v',
  variableType: 'terraform',
  valueFormat: 'string',
  sensitive: false,
  ...over,
});

describe('names of environment variables [T5.4]', () => {
  it.each([
    ...['PATH', 'HOME', 'TMPDIR', 'LANG', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'TF_IN_AUTOMATION', 'TF_INPUT'],
    ...[
      'TF_CLI_CONFIG_FILE',
      'TERRAFORM_CONFIG',
      'TF_CLI_ARGS',
      'TF_CLI_ARGS_plan',
      'TF_DATA_DIR',
      'TF_WORKSPACE',
    ],
    ...['TF_LOG', 'TF_LOG_PATH', 'TF_ENCRYPTION', 'TF_REATTACH_PROVIDERS', 'TF_STATE_PERSIST_INTERVAL'],
    ...['LD_PRELOAD', 'DYLD_INSERT_LIBRARIES', 'NODE_OPTIONS', 'node_options'],
  ])('%s is refused, with all that are', (key) => {
    const refusal = refuseVariableName({ key, variableType: 'environment' });
    expect(refusal).toEqual({
      reason: 'InvalidVariable',
      message: expect.stringContaining('refused are PATH'),
    });
    expect(refusal?.message).toContain(`environment variable ${key} is`);
  });

  it.each(['AWS_REGION', 'TF_VAR_region', 'HTTPS_PROXY', '_x', 'PATHS'])('%s is allowed', (key) => {
    expect(refuseVariableName({ key, variableType: 'environment' })).toBeUndefined();
  });

  it.each(['', '1A', 'A-B', 'A=B', 'A B', 'A\0', 'É'])('%j is no name', (key) => {
    expect(refuseVariableName({ key, variableType: 'environment' })?.message).toContain(
      'does not begin with a digit',
    );
  });
});

describe('names of terraform variables', () => {
  it.each(['region', 'größe', 'a-b', '_x', 'PATH'])('%s is allowed', (key) => {
    expect(refuseVariableName({ key, variableType: 'terraform' })).toBeUndefined();
  });

  it.each(['', '1a', 'a b', 'a=1\nb', 'count', 'for_each', 'version'])('%j is refused', (key) => {
    expect(refuseVariableName({ key, variableType: 'terraform' })?.reason).toBe('InvalidVariable');
  });
});

it('texts are written so that they stay what they are', () => {
  expect(hclText('a"b\\n${c}%{d}$${e}\n\u0007')).toBe('"a\\"b\\\\n$${c}%%{d}$$${e}\\n\\u0007"');
});

it('the file of variables has those of terraform alone, expressions in parentheses', () => {
  const text = variableFile([
    variable({ key: 'a', value: '${x}' }),
    variable({ key: 'b', value: '[1,\n2]', valueFormat: 'hcl' }),
    variable({ key: 'C', variableType: 'environment' }),
  ]);
  expect(text).toBe('a = "$${x}"\nb = (\n[1,\n2]\n)\n');
});

it('secrets are the sensitive values, their lines, and the texts in expressions [T5.5]', () => {
  expect(
    secretTexts([
      variable({ value: 'open' }),
      variable({ value: 'shut', sensitive: true }),
      variable({ value: '{ a = "in\\"ner", b = "$${x}" }', valueFormat: 'hcl', sensitive: true }),
      variable({ value: '-----BEGIN-----\nabcdefgh\n}', sensitive: true, variableType: 'environment' }),
    ]),
  ).toEqual([
    'shut',
    '{ a = "in\\"ner", b = "$${x}" }',
    'in"ner',
    '${x}',
    '-----BEGIN-----\nabcdefgh\n}',
    '-----BEGIN-----',
    'abcdefgh',
  ]);
});
