/** A plan tried by server-side dry run, as a real service account with real rights, and nothing of it is left behind. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ActionPreflight } from '../../activities/preflight/preflight.js';
import { API_VERSION } from '../../api/core/group.js';
import type { Action } from '../../api/plan/types.js';
import { createAccount } from '../support/accounts.js';
import { servers } from '../support/servers.js';
import { openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let folder: string;
beforeAll(async () => {
  [stack, folder] = await Promise.all([openStack('preflight'), mkdtemp(join(tmpdir(), 'preflight-'))]);
  await createAccount(stack.kube, { namespace: stack.namespace, name: 'acts' }, [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'update', 'delete'] },
    { apiGroups: ['batch'], resources: ['jobs'], verbs: ['create'] },
  ]);
  await stack.kube.create(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'owned', namespace: stack.namespace },
      data: { color: 'green' },
    },
    { fieldManager: 'gardener' },
  );
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await stack.close();
});

interface Ran {
  code: number;
  out: string;
  err: string;
}
const drover = (...args: string[]): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(
      process.execPath,
      ['bin/drover.js', ...args, '-n', stack.namespace, '--data-dir', servers.dataDir],
      { env: { ...process.env, NO_COLOR: '1', KUBECONFIG: '/nowhere' } },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });

const resource = (name: string, operation: string, object: object, more: object = {}): Action => ({
  name,
  type: 'KubernetesResource',
  resource: { operation, manifest: JSON.stringify(object), ...more },
  ...(operation === 'Patch' && { rollback: { type: 'Wait' as const, wait: { duration: '1s' } } }),
});
const configMap = (name: string, data: Record<string, string> = {}, namespace?: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...(namespace !== undefined && { namespace }) },
  data,
});
const job = (image: unknown): Action => ({
  name: 'job',
  type: 'Job',
  job: {
    namespace: '{{ .params.home }}',
    template: {
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image }] } } },
    },
  },
});

/** All there is in the namespace, with its versions. */
async function everything(): Promise<string[]> {
  const kinds = [
    ['v1', 'ConfigMap'],
    ['v1', 'Secret'],
    ['batch/v1', 'Job'],
    ['v1', 'Pod'],
    [API_VERSION, 'DRPlanExecution'],
  ] as const;
  const lists = await Promise.all(
    kinds.map(([apiVersion, kind]) => stack.kube.list({ apiVersion, kind }, { namespace: stack.namespace })),
  );
  return lists
    .flatMap(({ items }) => items)
    .filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .sort();
}

const actions: Action[] = [
  resource('create', 'Create', configMap('new', { color: '{{ .params.color }}' })),
  resource('patch-new', 'Patch', configMap('new', { size: '1' })),
  resource('take-over', 'Apply', configMap('owned', { color: 'red' })),
  resource('yield', 'Apply', configMap('owned', { color: 'red' }), { force: false }),
  resource('delete', 'Delete', configMap('owned')),
  resource('replace', 'Replace', configMap('owned', { color: 'blue' })),
  resource('absent', 'Patch', configMap('nowhere', { a: 'b' })),
  resource('forbidden', 'Apply', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    stringData: { password: 'hunter2-canary' },
  }),
  resource('elsewhere', 'Create', configMap('x', {}, 'kube-system')),
  resource('invalid', 'Create', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'big' },
    data: { 'no/slash': 'x' },
  }),
  resource('unknown-kind', 'Create', {
    apiVersion: 'example.org/v1',
    kind: 'Widget',
    metadata: { name: 'w' },
  }),
  job('busybox'),
  resource('later', 'Create', configMap('from-{{ .outputs.job.jobRef.name }}')),
  resource('param', 'Create', configMap('p', { a: '{{ .params.given }}' })),
  { ...resource('skipped', 'Create', configMap('s')), when: 'params.color == "none"' },
  { name: 'call', type: 'HTTP', http: { url: 'https://example.org/switch' } },
];

it('says of every action how it would go, and leaves everything as it was [S3.48] [S3.59]', async () => {
  await stack.simplePlan('all', actions, {
    workflow: {
      parameters: [
        { name: 'color', default: 'green' },
        { name: 'home', default: stack.namespace },
        { name: 'given', required: true },
      ],
    },
    plan: { serviceAccountName: 'acts' },
  });
  const before = await everything();
  const { code, out } = await drover('preflight', 'all', '-o', 'json');
  const report = JSON.parse(out) as { identity: string; actions: ActionPreflight[]; problems: number };
  expect(report.identity).toBe(`system:serviceaccount:${stack.namespace}:acts`);
  const found = Object.fromEntries(
    report.actions.map(({ action, findings }) => [
      action,
      findings.map(({ level, reason, message }) => `${level} ${reason}: ${message}`).join(' | '),
    ]),
  );
  const ns = stack.namespace;
  expect(found).toEqual({
    create: `ok Accepted: ConfigMap ${ns}/new would be created`,
    'patch-new': `untried NotTried: ConfigMap ${ns}/new needs what action "create" makes before it`,
    'take-over': `warning TakesOver: ConfigMap ${ns}/owned would be changed, and taken over from others: "gardener" owns data.color`,
    yield: expect.stringMatching(/^problem Conflict: .*"gardener" owns data\.color, and force is false$/),
    delete: `ok Accepted: ConfigMap ${ns}/owned would be deleted`,
    replace: `ok Accepted: ConfigMap ${ns}/owned would be replaced`,
    absent: `problem NotFound: ConfigMap ${ns}/nowhere does not exist, so it cannot be patched`,
    forbidden: expect.stringMatching(/^problem Forbidden: .*cannot get resource "secrets"/),
    elsewhere: expect.stringMatching(/^problem Forbidden: .*in the namespace "kube-system"/),
    invalid: expect.stringMatching(/^problem Invalid: .*data\[no\/slash\]/),
    'unknown-kind': expect.stringMatching(/^problem KindNotFound: .*Widget/),
    // Shows item 9 too: of pods that cannot be listed nobody can tell whether they have stopped.
    job: expect.stringMatching(
      new RegExp(
        `^warning Warning: .*:acts may not list pods in namespace ${ns}: .*StopUnconfirmed.* \\| ok Accepted: Job ${ns}/.* would be created$`,
      ),
    ),
    later: expect.stringContaining('untried NotTried: it uses outputs of earlier actions'),
    param: expect.stringMatching(/^untried NotTried: .*"given" has no value.*-p$/),
    skipped: 'untried NotTried: its condition (when) is false with these parameters',
    call: expect.stringContaining('untried NotTried: the request is not sent'),
  });
  expect(report.problems).toBe(6);
  expect(code).toBe(1);
  expect(await everything()).toEqual(before);
});

it('shows what would be written without its secrets, for files that are not in the cluster yet [S3.59]', async () => {
  const dr = (kind: string, spec: object): string =>
    JSON.stringify({ apiVersion: API_VERSION, kind, metadata: { name: 'filed' }, spec });
  await writeFile(
    join(folder, 'plan.yaml'),
    [
      dr('DRWorkflow', {
        parameters: [{ name: 'apiToken' }],
        actions: [
          resource('c', 'Create', configMap('shown', { url: 'https://x/{{ .params.apiToken }}' })),
          actions.find(({ name }) => name === 'forbidden'),
        ],
      }),
      dr('DRPlan', {
        serviceAccountName: 'acts',
        stages: [{ name: 's', workflows: [{ workflowRef: { name: 'filed' } }] }],
      }),
    ].join('\n---\n'),
  );
  const args = ['preflight', 'filed', '-f', folder, '-p', 'apiToken=token-canary', '--render'];
  const { out, err, code } = await drover(...args);
  expect(out).toContain('s/filed/c KubernetesResource ok: ConfigMap');
  expect(out).toContain('url: https://x/(redacted)');
  expect(out).toContain('password: (redacted)');
  expect(out).not.toContain('canary');
  expect(err).toContain('2 actions as system:serviceaccount:');
  expect(code).toBe(1);
});

it('stops a run that asks for it before anything is created [S3.59]', async () => {
  const before = await everything();
  const { code, err } = await drover('run', 'all', '-p', 'given=1', '--preflight', '--yes');
  expect(err).toContain('would fail as things are; nothing was started');
  expect(code).toBe(1);
  expect(await everything()).toEqual(before);
});

it('names an account that is not there', async () => {
  await stack.simplePlan('ghost', [resource('c', 'Create', configMap('g'))], {
    plan: { serviceAccountName: 'ghost' },
  });
  const { code, err } = await drover('preflight', 'ghost');
  expect(err).toContain(`ServiceAccount "ghost", which the plan names, does not exist`);
  expect(code).toBe(1);
});
