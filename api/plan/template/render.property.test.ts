import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { renderBody, renderDocuments, RenderError, renderUrl, renderValue } from './render.js';
import type { RenderScope } from './render.js';

/** Texts that break programs which fill in templates as text. */
const NASTY = [
  '',
  '"',
  "'",
  '\\',
  '\\"',
  'a\nb',
  'a\r\nb: c',
  '\n---\nkind: Secret',
  '...',
  '$(params.other)',
  '{{ .params.other }}',
  '{{ .params.other | default "x" }}',
  '&anchor *alias',
  '*alias',
  '!!int 3',
  '<<',
  '%YAML 1.1',
  '# comment',
  'a: b',
  '- a',
  '? a',
  '| ',
  '[a, b]',
  '{"a": 1}',
  '__proto__',
  'constructor',
  '\0',
  '\u0007\u001b[31m',
  '\u0085\u2028\u2029\ufeff',
  '\ud800',
  '😀',
  ' lead',
  'trail ',
  '\t',
  'null',
  '~',
  'yes',
  '007',
  '1e3',
  '0x10',
  '.inf',
  '-',
  '%2e%2e',
  '/../',
  'x'.repeat(1_000_000),
];

const value = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...NASTY.slice(0, -1)) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.constantFrom(...NASTY.slice(0, -1)), { maxLength: 4 })
      .map((parts) => parts.join('')),
  },
);

const scopeOf = (v: string): RenderScope => ({
  params: { v, other: 'OTHER' },
  planName: 'p',
  executionName: 'e',
  operation: 'Execute',
  outputs: {},
});

/** Whether every surrogate has its other half. */
const isText = (v: string): boolean => !/\p{Surrogate}/u.test(v);

/** Runs a property over random values and over every nasty one. */
function holds(check: (v: string) => void, runs = 150): void {
  for (const v of NASTY) check(v);
  fc.assert(fc.property(value, check), { numRuns: runs });
}

describe('a value of any content lands as data', () => {
  test('in a manifest [SEC8] [S2.11]', () => {
    const template = [
      'kind: ConfigMap',
      'data:',
      '  double: "{{ .params.v }}"',
      "  single: '$(params.v)'",
      '  part: "<{{ .params.v }}>"',
      '  plainPart: a {{ .params.v }} z',
      '  block: |-',
      '    [{{ .params.v }}]',
      '  folded: >-',
      '    [{{ .params.v }}]',
      '  flow: {list: ["{{ .params.v }}", two]}',
      '  "k-{{ .params.v }}": key',
      'last: true',
      '---',
      'kind: Second',
    ].join('\n');
    holds((v) => {
      expect(renderDocuments(template, scopeOf(v))).toEqual([
        {
          kind: 'ConfigMap',
          data: {
            double: v,
            single: v,
            part: `<${v}>`,
            plainPart: `a ${v} z`,
            block: `[${v}]`,
            folded: `[${v}]`,
            flow: { list: [v, 'two'] },
            [`k-${v}`]: 'key',
          },
          last: true,
        },
        { kind: 'Second' },
      ]);
    });
  });

  test('in a manifest without quotes: the same text, or the number or boolean that is written exactly so', () => {
    holds((v) => {
      const [document] = renderDocuments('a: {{ .params.v }}\nb: 1', scopeOf(v)) as [
        { a: unknown; b: unknown },
      ];
      expect(document.b).toBe(1);
      expect(['string', 'number', 'boolean']).toContain(typeof document.a);
      expect(String(document.a)).toBe(v);
    });
  });

  test('in a JSON body [SEC8] [S2.11]', () => {
    holds((v) => {
      const body = renderBody(
        '{"a":"{{ .params.v }}","b":["<$(params.v)>",1],"k-{{ .params.v }}":null}',
        scopeOf(v),
      );
      const expected = Object.fromEntries<unknown>([
        ['a', v],
        ['b', [`<${v}>`, 1]],
        [`k-${v}`, null],
      ]);
      expect(JSON.parse(body)).toEqual(expected);
    });
  });

  test('in a YAML body [SEC8] [S2.11]', () => {
    const template =
      'a: {{ .params.v }} # c\nb: ["{{ .params.v }}", x]\nc: |\n  <{{ .params.v }}>\nd: >-\n  {{ .params.v }}\n\n# end\ne: 1\n';
    holds((v) => {
      const body = renderBody(template, scopeOf(v), 'application/yaml');
      const documents = parseAllDocuments(body);
      expect(documents).toHaveLength(1);
      const [document] = documents;
      if (document === undefined || !('toJS' in document)) throw new Error('the body holds no document');
      expect(document.errors).toEqual([]);
      const json = document.toJS() as Record<string, unknown>;
      expect(String(json['a'])).toBe(v);
      expect({ ...json, a: v }).toEqual({ a: v, b: [v, 'x'], c: `<${v}>\n`, d: v, e: 1 });
    }, 60);
  });

  test('in path and query of a URL [SEC8] [S2.13]', () => {
    holds((v) => {
      let url: string;
      try {
        url = renderUrl('https://h.example/a/{{ .params.v }}/b?q={{ .params.v }}&r=1#f', scopeOf(v));
      } catch (error) {
        // What no URL can carry is refused: halves of surrogate pairs, and segments that would be dropped.
        expect(error).toBeInstanceOf(RenderError);
        expect(isText(v) && !['.', '..'].includes(v)).toBe(false);
        return;
      }
      const parsed = new URL(url);
      expect(parsed.host).toBe('h.example');
      expect(parsed.pathname.split('/').map(decodeURIComponent)).toEqual(['', 'a', v, 'b']);
      expect([...parsed.searchParams]).toEqual([
        ['q', v],
        ['r', '1'],
      ]);
      expect(parsed.hash).toBe('#f');
    });
  });

  test('in a form [SEC8]', () => {
    holds((v) => {
      if (!isText(v)) return;
      const body = renderBody('a={{ .params.v }}&b=2', scopeOf(v), 'application/x-www-form-urlencoded');
      expect([...new URLSearchParams(body)]).toEqual([
        ['a', v],
        ['b', '2'],
      ]);
    });
  });

  test('in a structured template [SEC8] [S2.11]', () => {
    holds((v) => {
      const rendered = renderValue(
        { a: ['{{ .params.v }}', { b: '<$(params.v)>' }], 'k-{{ .params.v }}': 1 },
        scopeOf(v),
      );
      const expected = Object.fromEntries<unknown>([
        ['a', [v, { b: `<${v}>` }]],
        [`k-${v}`, 1],
      ]);
      expect(rendered).toEqual(expected);
    });
  });
});

test('a key called __proto__ is a key like any other', () => {
  const scope = scopeOf('__proto__');
  const text = JSON.stringify({ polluted: true });
  const results = [
    renderDocuments(`"{{ .params.v }}": ${text}`, scope)[0],
    renderValue({ '{{ .params.v }}': { polluted: true } }, scope),
    JSON.parse(renderBody(`{"{{ .params.v }}": ${text}}`, scope)) as unknown,
  ];
  for (const result of results) {
    expect(Object.keys(result as object)).toEqual(['__proto__']);
    expect((result as { polluted?: unknown }).polluted).toBeUndefined();
  }
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test('a template without placeholders means what it meant before', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), (json) => {
      const written = JSON.stringify(json);
      expect(renderBody(written, scopeOf(''))).toBe(written);
      expect(renderValue(json, scopeOf(''))).toEqual(json);
    }),
    { numRuns: 100 },
  );
});
