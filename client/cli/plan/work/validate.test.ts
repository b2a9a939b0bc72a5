import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { buildProgram } from '../../program.js';
import { createStyle } from '../../core/render/style.js';

const style = createStyle({ color: false, unicode: true });
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-validate-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function run(...args: string[]): Promise<{ code: number | undefined; out: string[]; notes: string[] }> {
  const out: string[] = [];
  const notes: string[] = [];
  let code: number | undefined;
  const program = buildProgram({
    version: '1',
    environment: { env: {}, asKubectlPlugin: false },
    terminal: () => ({
      out: (text) => void out.push(text),
      note: (text) => void notes.push(text),
      outStyle: style,
      noteStyle: style,
      interactive: false,
      screen: undefined,
      width: undefined,
    }),
    exit: (value) => {
      code = value;
    },
  });
  await program.parseAsync(['validate', ...args], { from: 'user' });
  return { code, out, notes };
}

const plan = (more: string): string =>
  `apiVersion: dr.bkbcs.tencent.com/v1alpha1\nkind: DRPlan\nmetadata: {name: p}\nspec:\n  stages:\n    - name: a\n      ${more}\n`;

it('finds the examples in order', async () => {
  const { code, out, notes } = await run(fileURLToPath(new URL('../../../../examples', import.meta.url)));
  // The minimal example leaves the account to the installation.
  expect(out.filter((line) => !line.includes('NoServiceAccount'))).toEqual([]);
  expect(code).toBe(0);
  expect(notes.at(-1)).toMatch(/workflows, \d plans, \d executions: 0 errors/);
});

it('tells each problem with its place and ends with 1', async () => {
  const file = join(folder, 'plan.yaml');
  await writeFile(file, plan('failurePolicy: Ignore'));
  const { code, out, notes } = await run(file);
  expect(code).toBe(1);
  expect(out).toContain(
    `${file}:7:7: error InvalidField spec.stages[0].failurePolicy: is "Ignore"; allowed are Stop, Continue, FailFast`,
  );
  expect(notes.at(-1)).toContain('1 plan');
});

it('counts warnings only when asked to', async () => {
  await writeFile(join(folder, 'w.yaml'), workflowWithWarning);
  expect((await run(folder)).code).toBe(0);
  expect((await run(folder, '--strict')).code).toBe(1);
});

const workflowWithWarning = `apiVersion: dr.bkbcs.tencent.com/v1alpha1
kind: DRWorkflow
metadata: {name: w}
spec:
  actions:
    - {name: a, type: HTTP, http: {url: "http://gslb.example/"}}
`;

it('writes everything for programs', async () => {
  await writeFile(join(folder, 'w.yaml'), `${workflowWithWarning}---\nkind: ConfigMap\n---\na: [`);
  const { code, out } = await run(folder, '-o', 'json');
  expect(code).toBe(1);
  expect(JSON.parse(out.join('\n'))).toMatchObject({
    objects: [
      {
        kind: 'DRWorkflow',
        name: 'w',
        namespace: 'default',
        problems: [{ reason: 'InsecureTransport', line: 6 }],
      },
    ],
    faults: [{ line: 10 }],
    ignored: { ConfigMap: 1 },
    errors: 1,
    warnings: 1,
  });
});

it('never lets a file move the cursor or flood the screen', async () => {
  const name = `\\u001b[2J${'n'.repeat(10_000)}`;
  await writeFile(join(folder, 'p.yaml'), plan(`"${name}": 1`));
  const { out } = await run(folder);
  for (const line of out) {
    expect(line).not.toContain('\u001b');
    expect(line.length).toBeLessThan(1000);
  }
});

it('says when there is nothing to check', async () => {
  await writeFile(join(folder, 'c.yaml'), 'kind: ConfigMap');
  const { code, notes } = await run(folder);
  expect(code).toBe(1);
  expect(notes).toEqual([
    'left out: 1 ConfigMap',
    'there is no workflow, plan or execution in what was given',
  ]);
});

it('does not leave out a kind of this group that is misspelt', async () => {
  const file = join(folder, 'w.yaml');
  await writeFile(file, plan('failurePolicy: Ignore').replace('kind: DRPlan', 'kind: DrPlan'));
  const { code, out } = await run(file);
  expect(code).toBe(1);
  expect(out).toEqual([
    expect.stringMatching(/ error UnknownKind: kind "DrPlan" .*; did you mean DRPlan\?$/),
  ]);
});

it('says of a workflow that no file holds only that it is not among them', async () => {
  await writeFile(join(folder, 'p.yaml'), plan('workflows: [{ workflowRef: { name: elsewhere } }]'));
  const { out } = await run(folder);
  const about = out.filter((line) => line.includes('WorkflowNotFound'));
  expect(about).toEqual([expect.stringContaining('is not among the files; add its file')]);
});

it('takes files as kubectl does', async () => {
  const [first, second] = [join(folder, 'a.yaml'), join(folder, 'b.yaml')];
  await writeFile(first, plan('failurePolicy: Ignore'));
  await writeFile(second, plan('failurePolicy: Never'));
  const { code, out } = await run('-f', first, '--file', second);
  expect(code).toBe(1);
  expect(out.filter((line) => line.startsWith(first) && line.includes('"Ignore"'))).toHaveLength(1);
  expect(out.filter((line) => line.startsWith(second) && line.includes('"Never"'))).toHaveLength(1);
});

it('says that files are to be named', async () => {
  await expect(run()).rejects.toMatchObject({ message: 'no file was named', exitCode: 64 });
});

it('tells problems in the order of the files and their lines [F24]', async () => {
  const first = join(folder, 'a.yaml');
  const second = join(folder, 'b.yaml');
  // The plan stands before what it uses; one fault keeps a document from being read.
  await writeFile(
    first,
    `${plan('workflows: [{workflowRef: {name: w}}]\n      dependsOn: [nowhere]')}---\n${workflowWithWarning}---\nkind: DRPlan\napiVersion: dr.bkbcs.tencent.com/v1alpha1\nspec: {stages: []}\n`,
  );
  await writeFile(second, `a: [\n---\n${plan('failurePolicy: Ignore')}`);
  const { out } = await run(second, first);
  const places = out.map((line) => line.split(': ', 1)[0]!.split(':'));
  expect(places.length).toBeGreaterThan(6);
  expect(new Set(places.map(([file]) => file))).toEqual(new Set([second, first]));
  const sorted = places.toSorted(
    ([a, ...[lineA, columnA]], [b, ...[lineB, columnB]]) =>
      (a === b ? 0 : a === second ? -1 : 1) ||
      Number(lineA) - Number(lineB) ||
      Number(columnA) - Number(columnB),
  );
  expect(places).toEqual(sorted);
  const { objects } = JSON.parse((await run(first, '-o', 'json')).out.join('\n')) as {
    objects: { problems: { line: number }[] }[];
  };
  for (const { problems } of objects) {
    const lines = problems.map(({ line }) => line);
    expect(lines).toEqual(lines.toSorted((a, b) => a - b));
  }
});

it('tells what else is wrong beside what cannot be read [F24]', async () => {
  const file = join(folder, 'w.yaml');
  await writeFile(
    file,
    `apiVersion: dr.bkbcs.tencent.com/v1alpha1
kind: DRWorkflow
metadata: {name: w}
spec:
  actions:
    - {name: a, type: HTTP, timeout: soon, http: {url: "https://gslb.example/{{ .params.site }}"}}
    - {name: b, type: Wait, wait: {duration: 1s}, dependsOn: [nowhere]}
    - {name: c, type: Wait, wait: {duration: 1s}, when: "params.("}
`,
  );
  const { out, code } = await run(file);
  expect(code).toBe(1);
  expect(out.map((line) => /^\S+:(\d+):\d+: \S+ (\S+)/.exec(line)?.slice(1))).toEqual([
    ['6', 'InvalidField'],
    ['6', 'UndeclaredParameter'],
    ['7', 'UnknownDependency'],
    ['8', 'InvalidWhen'],
  ]);
});
