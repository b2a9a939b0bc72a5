import { describe, expect, test } from 'vitest';
import { findPlaceholders, referencesOf } from './placeholders.js';

const found = (text: string) =>
  findPlaceholders(text).placeholders.map(({ reference, fallback }) =>
    fallback === undefined ? reference : { ...reference, fallback },
  );

describe('findPlaceholders', () => {
  test.each([
    ['{{ .params.x }}', { kind: 'param', name: 'x' }],
    ['{{.params.my_x-2}}', { kind: 'param', name: 'my_x-2' }],
    ['{{ .params.x | default "3" }}', { kind: 'param', name: 'x', fallback: '3' }],
    ['{{ .params.x | default "a}}\\n\\"b\\"" }}', { kind: 'param', name: 'x', fallback: 'a}}\n"b"' }],
    ['{{ .params.x | default \\"3\\" }}', { kind: 'param', name: 'x', fallback: '3' }],
    ['{{ .params.x|default `a"b` }}', { kind: 'param', name: 'x', fallback: 'a"b' }],
    ['{{ .params.x | default -1.5 }}', { kind: 'param', name: 'x', fallback: -1.5 }],
    ['{{ .params.x | default false }}', { kind: 'param', name: 'x', fallback: false }],
    ['$(params.my-x)', { kind: 'param', name: 'my-x' }],
    ['{{ .planName }}', { kind: 'builtIn', name: 'planName' }],
    ['$(executionName)', { kind: 'builtIn', name: 'executionName' }],
    ['{{ .operation }}', { kind: 'builtIn', name: 'operation' }],
    ['$(mode)', { kind: 'builtIn', name: 'mode' }],
    ['{{ .outputs.step-1.phase }}', { kind: 'output', action: 'step-1', path: ['phase'] }],
    [
      '$(outputs.s_1.resourceRefs.0.name)',
      { kind: 'output', action: 's_1', path: ['resourceRefs', '0', 'name'] },
    ],
  ])('%s [S2.7]', (text, expected) => {
    expect(found(text)).toEqual([expected]);
    expect(findPlaceholders(text).problems).toEqual([]);
  });

  test('offsets cut the text exactly', () => {
    const text = 'a{{ .params.x }}$(params.y){{{ .planName }}}';
    expect(findPlaceholders(text).placeholders.map(({ start, end }) => text.slice(start, end))).toEqual([
      '{{ .params.x }}',
      '$(params.y)',
      '{{ .planName }}',
    ]);
  });

  test.each([
    '{{ include "chart.name" . }}',
    '{{ .Values.params.x }}',
    '{{ $values.params.x }}',
    '{{ $labels.mode }} {{ .Release.Name | quote }}',
    '{{ printf ".params.x" }}',
    '{{ .paramsOf.x }} {{ .modes }}',
    '$(date +%s) $(HOME) $(hostname)',
    '{"a":{"b":{"c":1}}}',
    '{{ unclosed',
    '${VAR} $((1 + 2))',
  ])('stays literal: %s [S2.9]', (text) => {
    expect(findPlaceholders(text)).toEqual({ placeholders: [], problems: [] });
  });

  test.each([
    '{{ .params.x | upper }}',
    '{{- .params.x -}}',
    '{{ if .params.x }}',
    '{{ .params }}',
    '{{ .params.a.b }}',
    '{{ .outputs.x }}',
    '{{ .params.x | default }}',
    '{{ .params.x | default "\\q" }}',
    '{{ .params.x }',
    '{{ .params.x {{ .params.y }}',
    '{{ index .outputs "x" }}',
    '{{ .planName | quote }}',
    '{{\n.params.x\n}}',
  ])('is an error: %s [S2.9]', (text) => {
    const { problems } = findPlaceholders(`first\n${text}`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ severity: 'error', reason: 'InvalidPlaceholder' });
    expect(problems[0]?.message).toMatch(/^line 2: /);
  });

  test('what only looks like $(params.x) is literal, with a warning', () => {
    const { placeholders, problems } = findPlaceholders('$(params.a b)');
    expect(placeholders).toEqual([]);
    expect(problems).toMatchObject([{ severity: 'warning', reason: 'SuspectPlaceholder' }]);
  });

  test.each([
    ['openers', '{{ '.repeat(100_000)],
    ['braces', '{'.repeat(300_000)],
    ['beginnings', '{{ .params.'.repeat(30_000)],
    ['closed late', `${'{{ a '.repeat(100_000)}}}`],
    ['shell', '$(params.'.repeat(30_000)],
    ['defaults', `{{ .params.x | default "${'\\"'.repeat(100_000)}`],
  ])('hostile text is read in linear time: %s', (_case, text) => {
    const start = performance.now();
    findPlaceholders(text);
    expect(performance.now() - start).toBeLessThan(1000);
  });
});

test('referencesOf walks strings in arrays, objects and keys', () => {
  const references = referencesOf(
    {
      list: ['{{ .params.a }}', { deep: 'x $(outputs.one.phase)' }],
      '{{ .params.key }}': 1,
      b: '{{ .params.b | default "1" }} {{ .params.c }} {{ .params.c | default "1" }}',
      bad: { inner: ['{{ .params.d | upper }}'] },
    },
    'spec.x',
  );
  expect([...references.params].sort()).toEqual(['a', 'b', 'c', 'key']);
  expect([...references.requiredParams].sort()).toEqual(['a', 'c', 'key']);
  expect([...references.outputs]).toEqual(['one']);
  expect(references.problems.map(({ path }) => path)).toEqual(['spec.x.bad.inner[0]']);
});
