import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { KindDescriptor } from '../../../../api/core/kind-descriptor.js';
import { KINDS } from '../../../../api/kinds.js';
import { checkObjects } from './check.js';
import { segmentsOf } from './locate.js';
import { pickObjects } from './objects.js';
import { sourcesInFiles } from './override-sources.js';
import { parseManifests } from './parse.js';
import type { LocatedProblem } from './place-problem.js';
import { readSources, readStdin } from './sources.js';
import { NO_SURROUNDINGS } from './surroundings.js';

const WORKFLOW = `apiVersion: dr.bkbcs.tencent.com/v1alpha1
kind: DRWorkflow
metadata: {name: w}
spec:
  parameters:
    - name: site
      default: a
  actions:
    - name: switch
      type: HTTP
      http:
        url: https://gslb.example/{{ .params.site }}
`;
const PLAN = `apiVersion: dr.bkbcs.tencent.com/v1alpha1
kind: DRPlan
metadata:
  name: p
spec:
  serviceAccountName: dr
  stages:
    - name: one
      workflows:
        - workflowRef: {name: w}
`;
const EXECUTION = `apiVersion: dr.bkbcs.tencent.com/v1alpha1
kind: DRPlanExecution
metadata: {name: p-1}
spec:
  planRef: p
  operationType: Execute
  params:
    - name: site
      value: b
`;

function check(...texts: string[]): { problems: LocatedProblem[]; brief: string[]; faults: string[] } {
  const files = texts.map((text, index) => parseManifests({ file: `f${index}`, text }));
  const manifests = files.flatMap((file) => file.objects);
  const { objects } = pickObjects(manifests, 'dr');
  const around = { ...NO_SURROUNDINGS, overrides: sourcesInFiles(manifests) };
  const problems = checkObjects(objects, around).flatMap((object) => object.problems);
  return {
    problems,
    brief: problems.map((one) => `${one.file}:${one.line}:${one.column} ${one.severity} ${one.reason}`),
    faults: files
      .flatMap((file) => file.faults)
      .map((one) => `${one.file}:${one.line}:${one.column} ${one.message}`),
  };
}

describe('objects of files', () => {
  it('are checked together, in whatever files they stand', () => {
    expect(check(`${WORKFLOW}---\n${PLAN}---\n${EXECUTION}`).brief).toEqual([]);
    expect(check(EXECUTION, PLAN, WORKFLOW).brief).toEqual([]);
  });

  it('are opened in Lists, as kubectl get writes them', () => {
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        { apiVersion: 'dr.bkbcs.tencent.com/v1alpha1', kind: 'DRPlan', metadata: { name: 'p' }, spec: {} },
      ],
    };
    const text = JSON.stringify(list, null, '\t');
    const [first] = check(text).problems;
    expect(first).toMatchObject({ path: 'spec.stages', line: 11, reason: 'InvalidField' });
  });

  it('tell where a missing plan, workflow or value would stand', () => {
    expect(check(PLAN).brief).toEqual(['f0:10:11 warning WorkflowNotFound']);
    expect(check(EXECUTION).brief).toEqual(['f0:5:3 warning PlanNotFound']);
    // The execution gives no value: the parameter is where the workflow declares it.
    const required = WORKFLOW.replace('default: a', 'required: true');
    expect(check(EXECUTION, PLAN, required).brief).toEqual(['f2:6:7 warning MissingParameter']);
    const bare = EXECUTION.replace(/ {2}params[^]*$/, '');
    expect(check(bare, PLAN, required).brief).toContain('f2:6:7 error MissingParameter');
  });

  it('tell problems of a workflow where it is written, and its plan where it uses it', () => {
    const { brief } = check(PLAN, WORKFLOW.replace('type: HTTP', 'type: Http'));
    expect(brief).toContain('f1:10:7 error InvalidField');
    expect(brief).toContain('f0:10:11 error WorkflowInvalid');
  });

  const LOCALIZE = `apiVersion: dr.bkbcs.tencent.com/v1alpha1
kind: DRWorkflow
metadata: {name: w}
spec:
  parameters:
    - {name: site, default: replica}
  actions:
    - name: scale
      type: Localization
      localization:
        name: scale
        namespace: clusternet-b
        feed: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: shop}
        overrides:
          - name: more
            type: JSONPatch
            value: '[{"op": "add", "path": "/spec/{{ .params.site }}/x", "value": 3}]'
`;
  const DEPLOYMENT = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 1, selector: {}}}\n`;

  it('warn of a JSON patch whose path is not in the object that is in the files too', () => {
    const { problems } = check(LOCALIZE, DEPLOYMENT);
    expect(problems).toMatchObject([
      { reason: 'PatchPathNotFound', severity: 'warning', file: 'f0', line: 17 },
    ]);
    expect(problems[0]?.message).toMatch(
      /^"more": operation 1 \(add 3\) at \/spec\/replica\/x, where \/spec has replicas, selector \(Deployment in f1\)/,
    );
    expect(check(LOCALIZE).brief).toEqual([]);
    expect(check(LOCALIZE.replace('default: replica', 'default: selector'), DEPLOYMENT).brief).toEqual([]);
  });

  it('judge such a patch by the Manifest of Clusternet, other overrides, and the values of plan and execution', () => {
    const manifest = `apiVersion: apps.clusternet.io/v1alpha1
kind: Manifest
metadata: {name: web, namespace: clusternet-reserved}
template: ${DEPLOYMENT}`;
    expect(check(LOCALIZE, manifest).problems[0]?.message).toContain('Deployment in its Manifest of f1');
    const other = `apiVersion: apps.clusternet.io/v1alpha1
kind: Globalization
metadata: {name: all}
spec:
  feed: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: shop}
  overrides: [{name: o, type: MergePatch, value: 'spec: {replica: {}}'}]
`;
    expect(check(LOCALIZE, manifest, other).brief).toEqual([]);
    const given = PLAN.replace('spec:\n', 'spec:\n  globalParams: [{name: site, value: selector}]\n');
    expect(check(LOCALIZE, given, DEPLOYMENT).brief).toEqual([]);
    // Told once for the plan, and once more for the execution that gives another value.
    expect(check(LOCALIZE, given, DEPLOYMENT, EXECUTION.replace('value: b', 'value: none')).brief).toEqual([
      'f0:17:13 warning PatchPathNotFound',
    ]);
    expect(check(LOCALIZE, PLAN, DEPLOYMENT, EXECUTION.replace('value: b', 'value: replica')).brief).toEqual([
      'f0:17:13 warning PatchPathNotFound',
    ]);
  });

  it('name the line inside a manifest', () => {
    const action = `  actions:
    - name: apply
      type: KubernetesResource
      resource:
        manifest: |
          apiVersion: v1
          kind: ConfigMap
          metadata:
            name: x
          data: {a: 1, a: 2}
`;
    const text = WORKFLOW.replace(/ {2}parameters[^]*$/, action);
    const [problem] = check(text).problems;
    expect(problem).toMatchObject({
      reason: 'InvalidManifest',
      line: 14,
      path: 'spec.actions[0].resource.manifest',
    });
  });

  it('have one version, a name, and stand once', () => {
    expect(check(PLAN.replace('v1alpha1', 'v1'), WORKFLOW).brief).toEqual(['f0:1:1 error InvalidField']);
    expect(check(PLAN.replace('  name: p\n', '  labels: {}\n'), WORKFLOW).brief).toEqual([
      'f0:3:1 error InvalidField',
    ]);
    expect(check(PLAN, PLAN, WORKFLOW).brief).toEqual(['f1:4:3 error DuplicateObject']);
    expect(check(PLAN.replace('name: p', 'name: P_1'), WORKFLOW).brief).toEqual(['f0:4:3 error InvalidName']);
  });

  it('have fields that are misspelt', () => {
    const { brief, problems } = check(
      PLAN.replace('    - name: one', '    - name: one\n      paralel: true'),
      WORKFLOW,
    );
    expect(brief).toEqual(['f0:9:7 warning UnknownField']);
    expect(problems[0]?.message).toContain('did you mean parallel?');
  });

  it('warn where the installation decides whom a plan acts as', () => {
    expect(check(PLAN.replace('  serviceAccountName: dr\n', ''), WORKFLOW).brief).toEqual([
      'f0:5:1 warning NoServiceAccount',
    ]);
  });

  it('of other kinds are left out', () => {
    const files = [
      parseManifests({ file: 'f', text: `kind: ConfigMap\n---\nkind: ConfigMap\n---\n${PLAN}` }),
    ];
    const { objects, others } = pickObjects(files[0]!.objects, 'dr');
    expect(objects.map(({ kind, name }) => `${kind}/${name}`)).toEqual(['DRPlan/p']);
    expect([...others]).toEqual([['ConfigMap', 2]]);
  });

  it('that are policies are checked like the others, and have no namespace', () => {
    const text = [
      'apiVersion: dr.bkbcs.tencent.com/v1alpha1',
      'kind: DRPolicy',
      'metadata: { name: shops }',
      'spec:',
      '  namespaces: [shop-*]',
      '  allow: [Rbac]',
      '  hostes: [gslb.example.com]',
    ].join('\n');
    const { objects, faults } = pickObjects(parseManifests({ file: 'f', text }).objects, 'dr');
    expect(faults).toEqual([]);
    expect(objects[0]).toMatchObject({ kind: 'DRPolicy', namespace: '', name: 'shops' });
    const [checked] = checkObjects(objects, NO_SURROUNDINGS);
    expect(checked?.problems.map(({ severity, path, line }) => [severity, path, line])).toEqual([
      ['error', 'spec.allow[0]', 6],
      ['warning', 'spec.hostes', 7],
    ]);
  });

  it('say what a name with a pattern must look like', () => {
    const text = JSON.stringify({
      apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
      kind: 'DRPolicy',
      metadata: { name: 'shops' },
      spec: { namespaces: ['*-shop'], hosts: ['https://gslb.example.com'] },
    });
    expect(check(text).problems.map(({ path, message }) => `${path} ${message}`)).toEqual([
      'spec.namespaces[0] is "*-shop"; must be the name of a namespace, such as shop, or its beginning and *, such as shop-*',
      'spec.hosts[0] is "https://gslb.example.com"; must be a host such as gslb.example.com, *.example.com, 10.1.2.3 or gslb.example.com:8443',
    ]);
  });

  it('of this group that no kind of it has are faults, with the kind that was meant', () => {
    const text = 'apiVersion: dr.bkbcs.tencent.com/v1alpha1\nkind: DRWorkFlow\nmetadata: { name: a }\n';
    const { objects, others, faults } = pickObjects(parseManifests({ file: 'f', text }).objects, 'dr');
    expect([objects.length, others.size]).toEqual([0, 0]);
    expect(faults).toEqual([
      {
        file: 'f',
        line: 2,
        column: 1,
        reason: 'UnknownKind',
        message: 'kind "DRWorkFlow" is none of dr.bkbcs.tencent.com; did you mean DRWorkflow?',
      },
    ]);
  });
});

describe('hostile files', () => {
  const nested = (open: string, close: string, depth: number): string =>
    open.repeat(depth) + close.repeat(depth);
  const aliasBomb = ['a: &a [x, x, x, x, x, x, x, x, x]']
    .concat(
      [...'bcdefghij'].map(
        (name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[at]}`).join(',')}]`,
      ),
    )
    .join('\n');

  it.each<[string, string, string]>([
    ['an alias bomb', aliasBomb, 'write out what they stand for'],
    [
      'many aliases',
      `a: &a 1\n${'b: *a\n'.repeat(1)}c: [${Array(30_000).fill('*a').join(',')}]`,
      'more than 100 aliases',
    ],
    ['an alias without an anchor', 'a: *b', 'b'],
    ['a key that stands twice', 'kind: DRPlan\nspec: 1\nkind: x', 'key "kind" stands twice'],
    ['a NUL', 'kind: "a\0"', 'control character \\x00'],
    ['open brackets', '['.repeat(200_000), 'nested more than 500'],
    ['deep lists', '- '.repeat(200_000), 'nested more than 500'],
    [
      'deep maps',
      Array.from({ length: 2500 }, (_, at) => `${' '.repeat(at)}a:`).join('\n'),
      'nested too deeply',
    ],
    ['more levels than an object has', `a: ${nested('[', ']', 300)}`, 'nested more than 100 levels'],
    [
      'levels made of aliases',
      `a0: &a0 [${nested('[', ']', 40)}]\na1: &a1 ${'['.repeat(40)}*a0${']'.repeat(40)}\na2: ${'['.repeat(40)}*a1${']'.repeat(40)}`,
      'nested more than 100 levels',
    ],
    ['a text that never ends', `a: "${'x'.repeat(100_000)}`, 'quote'],
    ['a list', '- a', 'is no object'],
    ['a number that JSON cannot hold', 'a: 123456789012345678901234567890', 'cannot be kept exactly'],
  ])('%s [S6.17]', (_, text, message) => {
    const started = performance.now();
    const { faults } = check(text);
    expect(faults.join('\n')).toContain(message);
    expect(faults.length).toBeLessThanOrEqual(20);
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it('that are deep but readable are refused by the check, at their place', () => {
    const text = PLAN.replace('serviceAccountName: dr', `description: ${nested('[', ']', 80)}`);
    expect(check(text, WORKFLOW).brief).toContain('f0:5:1 error TooComplex');
  });

  it('with names of 10,000 characters are refused in short messages', () => {
    const name = 'n'.repeat(10_000);
    const { problems } = check(PLAN.replace('name: p', `name: ${name}`).replace('name: w', `name: ${name}`));
    expect(problems.map(({ reason }) => reason)).toEqual(['InvalidName', 'InvalidField']);
    for (const { message } of problems) expect(message.length).toBeLessThan(400);
  });

  it('keep their lines with CRLF, and their values with emoji', () => {
    const text = PLAN.replace('name: one', 'name: 🚀\n      when: "1"').replaceAll('\n', '\r\n');
    expect(check(text, WORKFLOW).brief).toEqual(['f0:9:7 error InvalidWhen']);
  });

  it('may not refer to themselves', () => {
    const text = PLAN.replace('  stages:', '  stages: &s\n    - *s\n  old:');
    expect(check(text).faults).toEqual([
      'f0:8:7 alias *s stands inside what &s names, which would have no end; write out what is meant',
    ]);
  });

  it('with one broken document are read further', () => {
    const { faults, brief } = check(`a: b: c\n---\n${PLAN}`);
    expect(faults).toHaveLength(1);
    expect(brief).toEqual(['f0:12:11 warning WorkflowNotFound']);
  });
});

describe('sources', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'drover-manifests-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const noStdin = (): Promise<Uint8Array> => Promise.reject(new Error('nobody reads standard input'));

  it('are files, folders and standard input, each once', async () => {
    await writeFile(join(folder, 'b.yaml'), PLAN);
    await writeFile(join(folder, 'a.json'), '{}');
    await writeFile(join(folder, 'notes.txt'), 'x');
    const stdin = (): Promise<Uint8Array> => Promise.resolve(Buffer.from(WORKFLOW));
    const { texts } = await readSources([folder, join(folder, 'b.yaml'), '-', '-'], stdin);
    expect(texts.map(({ file }) => file)).toEqual([join(folder, 'a.json'), join(folder, 'b.yaml'), 'stdin']);
  });

  it('that are no text are told, not read', async () => {
    await writeFile(
      join(folder, 'bom.yaml'),
      Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(PLAN)]),
    );
    await writeFile(join(folder, 'latin.yaml'), Buffer.from([0x61, 0x3a, 0xe9]));
    await writeFile(join(folder, 'wide.yaml'), Buffer.from('\ufeffa: b', 'utf16le'));
    const { texts, faults } = await readSources([folder], noStdin);
    expect(texts).toEqual([{ file: join(folder, 'bom.yaml'), text: PLAN }]);
    expect(faults.map(({ message }) => message)).toEqual([
      'is not UTF-8 text; save it as UTF-8, or leave the file out',
      'is UTF-16; save it as UTF-8',
    ]);
  });

  it('that are not there are named', async () => {
    await expect(readSources([join(folder, 'no.yaml')], noStdin)).rejects.toThrow(/no\.yaml does not exist/);
    await expect(readSources([folder], noStdin)).rejects.toThrow(/has no \.yaml/);
  });

  it('are bounded on standard input', async () => {
    async function* endless(): AsyncGenerator<Buffer> {
      for (;;) yield await Promise.resolve(Buffer.alloc(1024 * 1024, 0x20));
    }
    const { faults } = await readSources(['-'], () => readStdin(endless()));
    expect(faults[0]?.message).toContain('MiB are read');
  });
});

describe('field paths', () => {
  it.each([
    ['spec.stages[2].workflows[0].params', ['spec', 'stages', 2, 'workflows', 0, 'params']],
    ['headers["X-\\"a\\".b[0]"].x', ['headers', 'X-"a".b[0]', 'x']],
    ['', []],
  ])('%s', (path, segments) => expect(segmentsOf(path)).toEqual(segments));
});

describe('a template of a chart', () => {
  const template = `{{- if .Values.enabled }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "web.fullname" . }}
  labels: {{- include "web.labels" . | nindent 4 }}
data:
  a: {{ .Values.a }}
  {{- range .Values.more }}
  b: {{ . }}
  {{- end }}
{{- end }}
`;

  it('is told as what it is, once, and what to do [F24]', () => {
    expect(check(template)).toEqual({
      problems: [],
      brief: [],
      faults: [
        'f0:1:1 is a template of a chart, not YAML; render it first: helm template CHART | drover validate -',
      ],
    });
  });

  it('is no plan that holds such text as a value, nor one with another fault [F24]', () => {
    const held = WORKFLOW.replace('{{ .params.site }}', '?q={{`{{ .Values.x }}`}}');
    expect(check(held).faults).toEqual([]);
    const [fault] = check(`${held}  : :\n- broken`).faults;
    expect(fault).not.toContain('helm template');
  });
});

describe('kinds without rules of their own', () => {
  const lamp: KindDescriptor = {
    group: 'toy.drover.dev',
    version: 'v1',
    kind: 'Lamp',
    plural: 'lamps',
    shortName: 'lmp',
    word: 'lamp',
    words: 'lamps',
    description: 'Burns.',
    scope: 'Namespaced',
    spec: z.object({
      colour: z.enum(['red', 'green']),
      watts: z.int().min(1).optional(),
      label: z
        .string()
        .regex(/^[a-z]+$/)
        .optional(),
      bulbs: z.array(z.object({ socket: z.string() })).optional(),
      tags: z.record(z.string(), z.object({ note: z.string().optional() })).optional(),
    }),
    columns: [],
    reviewed: false,
    access: [],
    selectable: [],
  };
  const kinds = [...KINDS, lamp];
  const text = (spec: object, more: object = {}): string =>
    JSON.stringify({
      apiVersion: 'toy.drover.dev/v1',
      kind: 'Lamp',
      metadata: { name: 'desk' },
      spec,
      ...more,
    });
  const found = (source: string): string[] => {
    const { objects } = pickObjects(parseManifests({ file: 'f', text: source }).objects, 'dr', kinds);
    return checkObjects(objects, NO_SURROUNDINGS)
      .flatMap((object) => object.problems)
      .map(({ severity, reason, path, message }) => `${severity} ${reason} ${path}: ${message}`);
  };

  it('are checked by the schemas of their descriptors', () => {
    expect(found(text({ colour: 'red', watts: 5, bulbs: [{ socket: 'E27' }] }))).toEqual([]);
    expect(found(text({ colour: 'blue', watts: '5', label: 'A', bulbs: [{ sockett: 'E27' }] }))).toEqual([
      'error InvalidField spec.colour: is "blue"; allowed are red, green',
      'error InvalidField spec.watts: is "5"; must be a number',
      'error InvalidField spec.label: is "A"; must match /^[a-z]+$/',
      'error InvalidField spec.bulbs[0].socket: is missing; must be text',
      'warning UnknownField spec.bulbs[0].sockett: is no field of this object and is dropped when it is stored; did you mean socket?',
    ]);
    expect(found(text({ colour: 'red', tags: { a: { notes: 'x' } } }))).toEqual([
      expect.stringContaining('warning UnknownField spec.tags.a.notes'),
    ]);
    expect(found(text([]))).toEqual(['error InvalidField spec: is a list of 0; must be an object']);
  });

  it('have a version, a name, and stand once, in the namespace of the command', () => {
    expect(found(text({ colour: 'red' }, { apiVersion: 'toy.drover.dev/v2' }))).toEqual([
      'error InvalidField apiVersion: is "toy.drover.dev/v2"; a Lamp has toy.drover.dev/v1',
    ]);
    const twice = `${text({ colour: 'red' })}\n---\n${text({ colour: 'green' })}`;
    expect(found(twice)).toEqual([expect.stringContaining('error DuplicateObject metadata.name')]);
    const { objects } = pickObjects(parseManifests({ file: 'f', text: twice }).objects, 'dr', kinds);
    expect(objects.map(({ namespace }) => namespace)).toEqual(['dr', 'dr']);
  });

  it('are told apart by their groups', () => {
    const ofGroup = (apiVersion: string, kind: string) =>
      pickObjects(
        parseManifests({ file: 'f', text: JSON.stringify({ apiVersion, kind }) }).objects,
        'dr',
        kinds,
      );
    expect(ofGroup('toy.drover.dev/v1', 'DRPlan').faults[0]?.message).toBe(
      'kind "DRPlan" is none of toy.drover.dev; it has Lamp',
    );
    expect(ofGroup('dr.bkbcs.tencent.com/v1alpha1', 'Lamp').faults).toHaveLength(1);
    expect([...ofGroup('lights.example.com/v1', 'Lamp').others]).toEqual([['Lamp', 1]]);
  });
});
