/** The definitions of the kinds of Terraform runs, on the real API server: what they let in, and what they refuse. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TERRAFORM_KINDS } from '../../api/terraform/kinds.js';
import { TERRAFORM_GROUP } from '../../api/terraform/kind-names.js';
import type { TERRAFORM_KIND_NAMES } from '../../api/terraform/kind-names.js';
import type { KubeObject } from '../../kube/object.js';
import { crd } from '../../scripts/generate/crd.js';
import { openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

type Kind = keyof typeof TERRAFORM_KIND_NAMES;

let stack: Stack;
const definitions = TERRAFORM_KINDS.map((row) => crd(row) as KubeObject);
const keyOf = ({ metadata: { name } }: KubeObject) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  name,
});

beforeAll(async () => {
  stack = await openStack('terraform-kinds');
  for (const definition of definitions) {
    await stack.kube.create(definition);
    await poll(
      () =>
        stack.kube.get<KubeObject & { status?: { conditions?: { type: string; status: string }[] } }>(
          keyOf(definition),
        ),
      (found) =>
        found?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ===
        true,
    );
  }
});
afterAll(async () => {
  for (const definition of definitions) await stack.kube.delete(keyOf(definition)).catch(() => undefined);
  await stack.close();
});

const create = (kind: Kind, spec: object): Promise<KubeObject> =>
  stack.kube.create({
    apiVersion: `${TERRAFORM_GROUP}/v1alpha1`,
    kind,
    metadata: { name: unique('x'), namespace: stack.namespace },
    spec,
  });
const CONFIGURATION = { files: { 'main.tf': 'resource "terraform_data" "a" {}\n' } };
const workspace = (more: object = {}) => ({ configuration: CONFIGURATION, ...more });
const run = (more: object = {}) => ({ workspaceRef: { name: 'app' }, ...more });
const archive = (url: string) => ({ configuration: { archive: { url, sha256: 'a'.repeat(64) } } });

describe('a definition lets in', () => {
  it.each<[string, Kind, object]>([
    ['the smallest workspace', 'Workspace', workspace()],
    [
      'a workspace with everything around it',
      'Workspace',
      workspace({
        engine: 'opentofu',
        terraformVersion: '1.12.6',
        workdir: 'live/eu',
        variables: [
          { key: 'size', value: '{ a = 1 }', valueFormat: 'hcl' },
          {
            key: 'AWS_REGION',
            valueFrom: { configMapKeyRef: { name: 'aws', key: 'region' } },
            variableType: 'environment',
          },
          { key: 'token', valueFrom: { secretKeyRef: { name: 'aws', key: 'token' } } },
        ],
        serviceAccountName: 'infra',
        executionMode: 'agent',
        agentPool: 'eu',
        approval: { approvers: { groups: ['leads'] }, quorum: 2, excludeRequester: true, timeout: '72h' },
        outputsSharing: 'specific',
        outputsAllowed: ['shop/app'],
        remoteData: [{ dataName: 'network', sourceWorkspace: 'base/network' }],
        runTasks: [{ name: 'cost', stages: ['post_plan', 'pre_apply'], enforcementLevel: 'mandatory' }],
        notifications: [{ name: 'chat', events: ['attention_required'] }],
        driftCheckStartTime: '22:00',
        driftCheckEndTime: '06:00:00',
        driftCheckTimeZone: 'Asia/Shanghai',
      }),
    ],
    ['an archive at a port of its own', 'Workspace', archive('https://files.example.com:8443/app.tgz')],
    ['the smallest run', 'TerraformRun', run()],
    [
      'a plan of another configuration',
      'TerraformRun',
      run({ type: 'plan_only', configuration: CONFIGURATION }),
    ],
    [
      'a target with a key of for_each',
      'TerraformRun',
      run({ targets: ['module.a["x y"].terraform_data.b[0]'] }),
    ],
    [
      'a run task',
      'RunTask',
      { endpointUrl: 'https://tasks.example.com/cost', hmacKeySecretRef: { name: 'cost', key: 'hmac' } },
    ],
    [
      'a trigger from another namespace',
      'RunTrigger',
      { source: { name: 'network', namespace: 'base' }, target: { name: 'app' } },
    ],
    [
      'a chat',
      'NotificationTarget',
      { notificationType: 'lark_robot', endpointUrlFrom: { name: 'chat', key: 'url' } },
    ],
  ])('%s', async (_, kind, spec) => {
    // What it lets in, it keeps.
    expect((await create(kind, spec)).spec).toEqual(spec);
  });
});

describe('a definition refuses, and says what is allowed:', () => {
  it.each<[string, Kind, object, RegExp]>([
    [
      'no source of the configuration',
      'Workspace',
      workspace({ configuration: {} }),
      /exactly one of files, configMapRef, git and archive/,
    ],
    [
      'two sources',
      'Workspace',
      workspace({ configuration: { ...CONFIGURATION, configMapRef: { name: 'x' } } }),
      /exactly one of files, configMapRef, git and archive/,
    ],
    [
      'a repository over ssh',
      'Workspace',
      workspace({ configuration: { git: { url: 'ssh://git@example.com/a', ref: 'main' } } }),
      /spec\.configuration\.git\.url.*\^https/,
    ],
    [
      'a ref that is an option',
      'Workspace',
      workspace({ configuration: { git: { url: 'https://example.com/a', ref: '--upload-pack=x' } } }),
      /spec\.configuration\.git\.ref/,
    ],
    [
      'a password in a URL',
      'Workspace',
      archive('https://me:secret@example.com/a.tgz'),
      /spec\.configuration\.archive\.url/,
    ],
    [
      'an engine that is none',
      'Workspace',
      workspace({ engine: 'pulumi' }),
      /spec\.engine: Unsupported value: "pulumi": supported values: "terraform", "opentofu"/,
    ],
    ['a range of versions', 'Workspace', workspace({ terraformVersion: '~> 1.5' }), /spec\.terraformVersion/],
    ['a folder outside', 'Workspace', workspace({ workdir: '../other' }), /spec\.workdir/],
    ['a duration that is none', 'Workspace', workspace({ planTimeout: 'soon' }), /spec\.planTimeout/],
    [
      'an approval that may take too long',
      'Workspace',
      workspace({ approval: { timeout: '721h' } }),
      /spec\.approval\.timeout.*at most 720h/,
    ],
    [
      'a variable with no value',
      'Workspace',
      workspace({ variables: [{ key: 'a' }] }),
      /spec\.variables\[0\].*either value or valueFrom/,
    ],
    [
      'a variable with two sources',
      'Workspace',
      workspace({
        variables: [
          {
            key: 'a',
            valueFrom: { secretKeyRef: { name: 'a', key: 'a' }, configMapKeyRef: { name: 'a', key: 'a' } },
          },
        ],
      }),
      /either secretKeyRef or configMapKeyRef/,
    ],
    [
      'an expression in the environment',
      'Workspace',
      workspace({ variables: [{ key: 'A', value: '1', variableType: 'environment', valueFormat: 'hcl' }] }),
      /only for terraform variables/,
    ],
    [
      'a pool without its mode',
      'Workspace',
      workspace({ agentPool: 'eu' }),
      /agentPool belongs to executionMode agent/,
    ],
    [
      'a mode without its pool',
      'Workspace',
      workspace({ executionMode: 'agent' }),
      /executionMode agent, which needs it/,
    ],
    [
      'a Job without its mode',
      'Workspace',
      workspace({ job: { image: 'x' } }),
      /job belongs to executionMode k8s/,
    ],
    [
      'an apply by itself where nothing is applied',
      'Workspace',
      workspace({ planOnly: true, autoApply: true }),
      /planOnly and autoApply exclude each other/,
    ],
    [
      'a list that nothing reads',
      'Workspace',
      workspace({ outputsAllowed: ['a'] }),
      /outputsAllowed belongs to outputsSharing specific/,
    ],
    [
      'a stage that is none',
      'Workspace',
      workspace({ runTasks: [{ name: 'a', stages: ['pre_destroy'] }] }),
      /stages\[0\]: Unsupported value: "pre_destroy"/,
    ],
    [
      'an event that is none',
      'Workspace',
      workspace({ notifications: [{ name: 'a', events: ['all'] }] }),
      /events\[0\]: Unsupported value: "all"/,
    ],
    [
      'a drift window of no length',
      'Workspace',
      workspace({ driftCheckStartTime: '07:00', driftCheckEndTime: '07:00' }),
      /the window has no length/,
    ],
    [
      'a time of day that is none',
      'Workspace',
      workspace({ driftCheckStartTime: '24:00' }),
      /spec\.driftCheckStartTime/,
    ],
    [
      'drift checks without a pause',
      'Workspace',
      workspace({ driftCheckInterval: 5 }),
      /spec\.driftCheckInterval.*greater than or equal to 15/,
    ],
    ['a type that is none', 'TerraformRun', run({ type: 'apply' }), /spec\.type: Unsupported value: "apply"/],
    [
      'a configuration to apply',
      'TerraformRun',
      run({ configuration: CONFIGURATION }),
      /configuration is only for type plan_only/,
    ],
    [
      'an apply by itself that the workspace has not said',
      'TerraformRun',
      run({ autoApply: true }),
      /autoApply can only be false here/,
    ],
    [
      'a reconcile of a part',
      'TerraformRun',
      run({ reconcile: true, targets: ['terraform_data.a'] }),
      /reconcile is for type plan_and_apply without targets/,
    ],
    ['a target that is an option', 'TerraformRun', run({ targets: ['-destroy'] }), /spec\.targets\[0\]/],
    [
      '101 targets',
      'TerraformRun',
      run({ targets: Array.from({ length: 101 }, (_, i) => `terraform_data.a[${i}]`) }),
      /spec\.targets: Too many: 101: must have at most 100 items/,
    ],
    ['a task by another protocol', 'RunTask', { endpointUrl: 'ftp://example.com' }, /spec\.endpointUrl/],
    [
      'a task that may take all day',
      'RunTask',
      { endpointUrl: 'https://example.com', maxRunSeconds: 86_400 },
      /spec\.maxRunSeconds.*less than or equal to 3600/,
    ],
    [
      'a condition of triggers that is none',
      'RunTrigger',
      { source: { name: 'a' }, target: { name: 'b' }, triggerCondition: 'always' },
      /Unsupported value: "always"/,
    ],
    [
      'a target without an address',
      'NotificationTarget',
      { notificationType: 'webhook' },
      /either endpointUrl or endpointUrlFrom/,
    ],
    [
      'headers for a bot',
      'NotificationTarget',
      { notificationType: 'lark_robot', endpointUrl: 'https://example.com', customHeaders: { a: 'b' } },
      /customHeaders is only for webhooks/,
    ],
  ])('%s', async (_, kind, spec, message) => {
    const refused = await create(kind, spec).then(
      () => 'let in',
      (error: unknown) => String(error),
    );
    expect(refused).toMatch(/is invalid/);
    expect(refused).toMatch(message);
  });

  it('a change of what a run is', async () => {
    const { metadata } = await create('TerraformRun', run());
    const key = {
      apiVersion: `${TERRAFORM_GROUP}/v1alpha1`,
      kind: 'TerraformRun',
      namespace: stack.namespace,
      name: metadata.name,
    };
    await expect(stack.kube.patch(key, { spec: { isDestroy: true } }, { kind: 'merge' })).rejects.toThrow(
      /spec of a run cannot be changed; create a new run/,
    );
  });
});
