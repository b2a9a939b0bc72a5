import { describe, expect, test } from 'vitest';
import {
  renderBody,
  renderDocuments,
  RenderError,
  renderHeaderValue,
  renderString,
  renderUrl,
  renderValue,
} from './render.js';
import type { RenderScope } from './render.js';

const scope: RenderScope = {
  params: {
    name: 'db',
    text: 'a "b"\nc: {{ .params.name }}',
    count: '3',
    number: 3,
    yes: true,
    version: '1.10',
    nothing: 'null',
    empty: '',
    key: 'taken',
    merge: '<<',
    host: 'api.example.com:8443',
    base: 'https://api.example.com/v1?fixed=1',
  },
  planName: 'failover',
  executionName: 'failover-1',
  operation: 'Execute',
  outputs: { 'step-1': { phase: 'Succeeded', httpResponse: { statusCode: 200, body: 'ok' } } },
};

/** The error that a rendering ends with. */
function failure(render: () => unknown): { reason: string; message: string } {
  try {
    render();
  } catch (error) {
    if (error instanceof RenderError) return { reason: error.reason, message: error.message };
    throw error;
  }
  throw new Error('the rendering succeeded');
}

describe('renderString', () => {
  test('fills in parameters, names and outputs [S2.7]', () => {
    expect(
      renderString(
        '{{ .planName }}/$(executionName)/{{ .operation }}/{{ .params.number }}/{{ .outputs.step-1.httpResponse.statusCode }}',
        scope,
      ),
    ).toBe('failover/failover-1/Execute/3/200');
  });

  test('a value that looks like a placeholder is not filled in again [S2.6] [S2.11]', () => {
    expect(renderString('{{ .params.text }}', scope)).toBe('a "b"\nc: {{ .params.name }}');
  });

  test('default stands in for what is missing or empty [S2.8]', () => {
    expect(
      renderString(
        '{{ .params.no | default "x" }}{{ .params.empty | default 1 }}{{ .mode | default "m" }}',
        scope,
      ),
    ).toBe('x1m');
  });

  test.each([
    ['{{ .params.nope }}', 'UndefinedParameter', 'parameter "nope" has no value'],
    ['{{ .params.constructor }}', 'UndefinedParameter', 'parameter "constructor" has no value'],
    ['{{ .outputs.other.phase }}', 'UndefinedOutput', 'ended actions of this workflow are step-1'],
    ['{{ .outputs.step-1.jobRef.name }}', 'UndefinedOutput', 'has no output "jobRef.name"'],
    ['{{ .outputs.step-1.httpResponse }}', 'UndefinedOutput', 'name one of its fields: statusCode, body'],
    ['{{ .mode }}', 'UndefinedName', 'sets no mode'],
    ['{{ .params.name | upper }}', 'InvalidPlaceholder', 'cannot be filled in'],
  ])('%s is refused [S2.10]', (text, reason, message) => {
    const error = failure(() => renderString(text, scope));
    expect(error.reason).toBe(reason);
    expect(error.message).toContain(message);
  });
});

describe('renderValue', () => {
  test('a leaf that is one placeholder keeps the type of the value, text stays text', () => {
    expect(
      renderValue(
        { a: '{{ .params.number }}', b: '$(params.yes)', c: '{{ .params.count }}', d: 5, e: null },
        scope,
      ),
    ).toEqual({ a: 3, b: true, c: '3', d: 5, e: null });
  });

  test('where Kubernetes reads only strings a number becomes text', () => {
    expect(
      renderValue(
        {
          metadata: { labels: { n: '{{ .params.number }}' } },
          containers: [
            {
              env: [{ name: 'N', value: '{{ .params.number }}' }],
              args: ['{{ .params.yes }}'],
              value: '$(params.yes)',
            },
          ],
        },
        scope,
      ),
    ).toEqual({
      metadata: { labels: { n: '3' } },
      containers: [{ env: [{ name: 'N', value: '3' }], args: ['true'], value: true }],
    });
  });

  test('shell and Kubernetes variables survive [S2.9]', () => {
    const template = { command: ['sh', '-c', 'echo $(date) $(HOME) {{ include "x" . }}'] };
    expect(renderValue(template, scope)).toEqual(template);
  });

  test('keys are filled in and must differ', () => {
    expect(renderValue({ '{{ .params.name }}': 1 }, scope)).toEqual({ db: 1 });
    expect(failure(() => renderValue({ x: { taken: 1, '{{ .params.key }}': 2 } }, scope))).toMatchObject({
      reason: 'InvalidManifest',
      message: expect.stringContaining('becomes "taken"') as string,
    });
  });

  test('an error names the field', () => {
    expect(
      failure(() => renderValue({ spec: { list: ['a', '{{ .params.nope }}'] } }, scope)).message,
    ).toMatch(/^spec\.list\[1\]: /);
  });
});

describe('renderDocuments', () => {
  test('an unquoted placeholder takes the type of the value, all others are text [S2.12]', () => {
    const text = [
      'whole: {{ .params.count }}',
      'typed: {{ .params.number }}',
      'flag: $(params.yes)',
      'version: {{ .params.version }}',
      'nothing: {{ .params.nothing }}',
      'quoted: "{{ .params.number }}"',
      "single: '{{ .params.yes }}'",
      'tagged: !!str {{ .params.number }}',
      'part: 80{{ .params.number }}',
      'flow: [{{ .params.number }}, "$(params.number)"]',
      'block: |',
      '  {{ .params.text }}',
      '  {{ include "helm" . }}',
    ].join('\n');
    expect(renderDocuments(text, scope)).toEqual([
      {
        whole: 3,
        typed: 3,
        flag: true,
        version: '1.10',
        nothing: 'null',
        quoted: '3',
        single: 'true',
        tagged: '3',
        part: '803',
        flow: [3, '3'],
        block: 'a "b"\nc: {{ .params.name }}\n{{ include "helm" . }}\n',
      },
    ]);
  });

  test('reads YAML as kubectl does', () => {
    expect(
      renderDocuments(
        'mode: 0644\nneg: -010\nhex: 0x1F\nsep: 1_000\non: yes\noff: "no"\nday: 2001-01-01',
        scope,
      ),
    ).toEqual([{ mode: 420, neg: -8, hex: 31, sep: 1000, true: true, false: 'no', day: '2001-01-01' }]);
  });

  test('several documents, anchors and merges; empty documents are left out', () => {
    const text = '---\na: &x {k: {{ .params.name }}}\nb: {<<: *x, l: 1}\n---\n# nothing\n---\nc: 1\n';
    expect(renderDocuments(text, scope)).toEqual([{ a: { k: 'db' }, b: { k: 'db', l: 1 } }, { c: 1 }]);
    expect(renderDocuments('', scope)).toEqual([]);
  });

  test('keys are text, never a merge', () => {
    expect(
      renderDocuments('a: &x {k: 1}\nb:\n  {{ .params.merge }}: *x\n  {{ .params.number }}: 1', scope),
    ).toEqual([{ a: { k: 1 }, b: { '<<': { k: 1 }, 3: 1 } }]);
  });

  test.each([
    ['equal keys', 'a: 1\ntaken: 1\n{{ .params.key }}: 2', /^line 3, column 1: the key "taken" stands twice/],
    ['duplicate keys', 'a: 1\na: 2', /^line 2, column 1: the key "a" stands twice/],
    ['keys that are the same text', '1: a\n"1": b', /^line 2, column 1: the key "1" stands twice/],
    [
      'bad YAML after a placeholder',
      'a: {{ .params.name }}\nb: [{{ .params.name }} ]]',
      /^line 2, column 25: /,
    ],
    [
      'a placeholder as anchor',
      'a: &{{ .params.name }} 1',
      /^line 1, column \d+: a placeholder cannot stand in an anchor/,
    ],
    [
      'a placeholder as tag',
      'a: !{{ .params.name }} 1',
      /^line 1, column 4: Unresolved tag: !\{\{ \.params\.name \}\}/,
    ],
    ['a tag of a language', 'a: !ruby/object {}', /Unresolved tag/],
    ['a key that is a list', '? [a]\n: 1', /a key must be a single text/],
    ['NUL', 'a: 1\nb: x\0y', /^line 2, column 5: control characters/],
    [
      'a number that JSON cannot hold',
      'a: 1\nb: 12345678901234567890',
      /^line 2, column 4: 12345678901234567890 cannot/,
    ],
    ['infinity', 'a: .inf', /cannot be kept exactly/],
    ['an unknown alias', 'a: *x', /Unresolved alias/],
    ['deep nesting', '['.repeat(20_000), /nested more than 100 levels/],
    [
      'a bomb of aliases',
      [
        'a0: &a0 [x]',
        ...Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`),
      ].join('\n'),
      /resource exhaustion/,
    ],
  ])('%s is refused', (_case, text, message) => {
    const error = failure(() => renderDocuments(text, scope));
    expect(error.reason).toBe('InvalidManifest');
    expect(error.message).toMatch(message);
  });

  test('an undefined parameter is named with its place', () => {
    expect(failure(() => renderDocuments('a: 1\nb: {{ .params.nope }}', scope))).toMatchObject({
      reason: 'UndefinedParameter',
      message: expect.stringMatching(/^\{\{ \.params\.nope \}\} at line 2, column 4: /) as string,
    });
  });
});

describe('renderBody', () => {
  test('JSON stays as it is written except for the values', () => {
    expect(
      renderBody(
        '{ "a" : "x{{ .params.text }}" ,\n\t"b":{{ .params.number }}, "c": [ $(params.count), {{ .params.name }} ], {{ .params.key }} : 1.0e0 }',
        scope,
      ),
    ).toBe('{ "a" : "xa \\"b\\"\\nc: {{ .params.name }}" ,\n\t"b":3, "c": [ 3, "db" ], "taken" : 1.0e0 }');
  });

  test('equal keys are refused', () => {
    expect(failure(() => renderBody('{"taken":1,"{{ .params.key }}":2}', scope)).reason).toBe('InvalidBody');
  });

  test('announced JSON that is none is refused with its place', () => {
    const error = failure(() =>
      renderBody('{"a": {{ .params.name }},\n,}', scope, 'application/json; charset=utf-8'),
    );
    expect(error.reason).toBe('InvalidBody');
    expect(error.message).toContain('line 2, column 1');
    expect(failure(() => renderBody('{"a": 1{{ .params.number }}}', scope, 'application/json')).reason).toBe(
      'InvalidBody',
    );
  });

  test('YAML keeps comments and layout', () => {
    expect(
      renderBody(
        '# {{ .params.name }}\na:   {{ .params.text }} # why\nb: &x |-\n  say {{ .params.name }}\nc: 0644\nd: {{ .params.number }}\n',
        scope,
        'application/yaml',
      ),
    ).toBe(
      '# {{ .params.name }}\na:   "a \\"b\\"\\nc: {{ .params.name }}" # why\nb: &x "say db"\nc: 0644\nd: 3\n',
    );
  });

  test('a form encodes values, other text takes them as they are', () => {
    expect(renderBody('a={{ .params.text }}&b=1', scope, 'application/x-www-form-urlencoded')).toBe(
      'a=a%20%22b%22%0Ac%3A%20%7B%7B%20.params.name%20%7D%7D&b=1',
    );
    expect(renderBody('{ {{ .params.name }} is not JSON', scope)).toBe('{ db is not JSON');
  });

  test('a body that is one placeholder is the value', () => {
    const json = { ...scope, params: { body: '{"a":1}', text: 'x' } };
    expect(renderBody('{{ .params.body }}', json, 'application/json')).toBe('{"a":1}');
    expect(renderBody('{{ .params.text }}', json, 'application/json')).toBe('"x"');
    expect(renderBody('{{ .params.text }}', json)).toBe('x');
  });
});

describe('renderUrl', () => {
  test.each([
    [
      '{{ .params.base }}&q={{ .params.text }}',
      'https://api.example.com/v1?fixed=1&q=a%20%22b%22%0Ac%3A%20%7B%7B%20.params.name%20%7D%7D',
    ],
    ['https://{{ .params.host }}/x/{{ .params.version }}', 'https://api.example.com:8443/x/1.10'],
    ['http://{{ .params.name }}.svc:{{ .params.number }}', 'http://db.svc:3'],
    [
      'https://h/{{ .params.host }}?a={{ .params.yes }}#{{ .params.text }}',
      'https://h/api.example.com%3A8443?a=true#a%20%22b%22%0Ac%3A%20%7B%7B%20.params.name%20%7D%7D',
    ],
  ])('%s [S2.13]', (text, expected) => {
    expect(renderUrl(text, scope)).toBe(expected);
  });

  test.each([
    ['{{ .params.v }}/x', 'ftp://h'],
    ['{{ .params.v }}/x', 'h'],
    ['{{ .params.v }}', 'https://h/ x'],
    ['{{ .params.v }}', 'https://h\n/x'],
    ['{{ .params.v }}', 'https:///etc'],
    ['https://api.example.com{{ .params.v }}/x', '@evil.example'],
    ['https://h/a/{{ .params.v }}/b', '..'],
    ['https://h/a/.{{ .params.v }}?x', '.'],
    ['https://h/a/%2e{{ .params.v }}', '.'],
    ['https://h/{{ .params.v }}', '\ud800'],
    ['https://h:{{ .params.v }}/', '99999'],
  ])('%s with %j is refused', (text, v) => {
    expect(failure(() => renderUrl(text, { ...scope, params: { v } })).reason).toBe('InvalidURL');
  });
});

describe('renderHeaderValue', () => {
  test('takes printable text', () => {
    expect(renderHeaderValue('Bearer {{ .params.name }} é', scope)).toBe('Bearer db é');
  });

  test.each(['a\r\nX-Evil: 1', 'a\nb', 'a\0b', 'a\rb', 'snow ☃'])('refuses %j [S2.14]', (v) => {
    const error = failure(() => renderHeaderValue('x {{ .params.v }}', { ...scope, params: { v } }));
    expect(error.reason).toBe('InvalidHeader');
    expect(error.message).toContain('x {{ .params.v }}');
  });
});
