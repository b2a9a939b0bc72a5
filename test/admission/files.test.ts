/** What the command line says about files is what admission says about the same objects. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import { buildProgram } from '../../client/cli/program.js';
import { createStyle } from '../../client/cli/core/render/style.js';
import { servers } from '../support/servers.js';
import { http, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { ask } from './asking.js';

let stack: Stack;
/** Without webhooks, for objects as the original left them. */
let legacy: Stack;
let folder: string;
beforeAll(async () => {
  stack = await openStack('files');
  legacy = await openStack('legacy', { admission: 'disabled' });
  folder = await mkdtemp(join(tmpdir(), 'drover-files-'));
  await stack.workflow('ok', { actions: [http('a', 'http://x/')] });
  await stack.workflow('typed', {
    parameters: [{ name: 'count', type: 'number', required: true }],
    actions: [http('a', 'http://x/{{ .params.count }}')],
  });
  await stack.plan('ready', { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'ok' } }] }] });
  await stack.plan('asks', { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'typed' } }] }] });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await legacy.close();
  await stack.close();
});

async function drover(...args: string[]): Promise<{ code: number; out: string }> {
  const style = createStyle({ color: false, unicode: true });
  const out: string[] = [];
  let code = -1;
  const program = buildProgram({
    version: '1',
    environment: { env: {}, asKubectlPlugin: false },
    terminal: () => ({
      out: (text) => void out.push(text),
      note: () => undefined,
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
  await program.parseAsync([...args, '--kubeconfig', servers.kubeconfig], { from: 'user' });
  return { code, out: out.join('\n') };
}

const use = (name: string, more: object = {}): object => ({
  stages: [{ name: 's', workflows: [{ workflowRef: { name }, ...more }] }],
});
const run = (planRef: string, more: object = {}): object => ({ planRef, operationType: 'Execute', ...more });

describe('validate', () => {
  it.each<['DRWorkflow' | 'DRPlan' | 'DRPlanExecution', string, object]>([
    ['DRWorkflow', 'that is in order', { actions: [http('a', 'http://x/')] }],
    ['DRWorkflow', 'of an unknown type', { actions: [{ name: 'a', type: 'Magic' }] }],
    [
      'DRWorkflow',
      'with a parameter that nobody uses',
      { parameters: [{ name: 'x' }], actions: [http('a', 'http://x/')] },
    ],
    [
      'DRWorkflow',
      'that reads what an HTTP action never has',
      { actions: [http('a', 'http://x/'), http('b', 'http://x/{{ .outputs.a.jobRef.name }}')] },
    ],
    ['DRPlan', 'that is in order', use('ok')],
    ['DRPlan', 'without a workflow', use('nowhere')],
    ['DRPlan', 'with a value of another type', use('typed', { params: [{ name: 'count', value: 'many' }] })],
    ['DRPlan', 'with a policy that does not exist', { ...use('ok'), failurePolicy: 'Maybe' }],
    ['DRPlanExecution', 'that is in order', run('ready')],
    ['DRPlanExecution', 'without a plan', run('nowhere')],
    ['DRPlanExecution', 'without a value that is needed', run('asks')],
    ['DRPlanExecution', 'that gives the value', run('asks', { params: [{ name: 'count', value: '3' }] })],
    ['DRPlanExecution', 'that reverts nothing', { planRef: 'ready', operationType: 'Revert' }],
  ])('%s %s: the answer is that of admission', async (kind, _, spec) => {
    const name = 'asked-for';
    const asked = await ask(stack.namespace, kind, name, spec, { dryRun: true });
    const file = join(folder, 'object.json');
    await writeFile(file, JSON.stringify({ apiVersion: API_VERSION, kind, metadata: { name }, spec }));
    const said = await drover('validate', file, '--cluster', '-n', stack.namespace);
    expect([201, 403, 422]).toContain(asked.status);
    expect(said.code, `${said.out}\n${asked.message}`).toBe(asked.status === 201 ? 0 : 1);
  });
});

describe('import', () => {
  it('reads a cluster, changes nothing there, and writes what can be applied', async () => {
    await legacy.workflow('copy', {
      actions: [
        {
          name: 'sync',
          type: 'Job',
          timeout: '5m',
          job: {
            template: {
              spec: {
                template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'x' }] } },
              },
            },
          },
        },
      ],
    });
    await legacy.create({
      apiVersion: API_VERSION,
      kind: 'DRPlan',
      metadata: { name: 'p', namespace: legacy.namespace },
      spec: use('copy'),
    });
    const before = await legacy.getPlan('p');
    const to = join(folder, 'converted');
    const { code, out } = await drover(
      ...['import', '--cluster', '-n', legacy.namespace, '--to', to],
      ...['--service-account', 'runner', '--job-timeout', '1h'],
    );
    expect(out).toMatch(/convert +JobTimeout spec\.actions\[0\]\.timeout: becomes 1h/);
    expect(out).toMatch(/convert +NoServiceAccount spec\.serviceAccountName: becomes runner/);
    expect(code).toBe(0);
    expect((await legacy.getPlan('p')).spec).toEqual(before.spec);
    const written = join(to, legacy.namespace);
    expect((await readdir(written)).sort()).toEqual(['drplan-p.yaml', 'drworkflow-copy.yaml']);
    for (const file of await readdir(written))
      await legacy.apply(await readFile(join(written, file), 'utf8'));
    expect((await legacy.getPlan('p')).spec.serviceAccountName).toBe('runner');
  });
});
