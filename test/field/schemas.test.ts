/** What the definitions let in, refuse and show, and when a workflow itself is Invalid. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Action, DRWorkflow } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { ask } from '../admission/asking.js';
import { openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let unreviewed: Stack;
beforeAll(async () => {
  [stack, unreviewed] = await Promise.all([
    openStack('schemas'),
    openStack('schemas-unreviewed', { admission: 'disabled' }),
  ]);
});
afterAll(() => Promise.all([stack.close(), unreviewed.close()]));

const http = (more: object = {}, block: object = {}): Action => ({
  name: 'a',
  type: 'HTTP',
  http: { url: 'https://gslb.example/', ...block },
  ...more,
});
const write = (operation: string): Action => ({
  name: 'a',
  type: 'KubernetesResource',
  resource: { operation, manifest: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}' },
  rollback: { type: 'Wait', wait: { duration: '1s' } },
});

describe('the definition of a workflow', () => {
  it.each<[string, object]>([
    ['no timeout, and many retries', { actions: [http({ timeout: '0s', retryPolicy: { limit: 1000 } })] }],
    [
      'any success codes',
      { actions: [http({}, { successCodes: Array.from({ length: 300 }, (_, i) => i + 400) })] },
    ],
    ['a method in any case, or of a parameter', { actions: [http({}, { method: 'get' })] }],
    [
      'an operation of a parameter',
      { parameters: [{ name: 'op', default: 'Apply' }], actions: [write('{{ .params.op }}')] },
    ],
  ])('[F26] lets in %s [S1.8]', async (_, spec) => {
    expect(await ask(stack.namespace, 'DRWorkflow', unique('wide'), spec)).toMatchObject({ status: 201 });
  });

  it.each<[string, object, RegExp]>([
    [
      'types',
      { actions: [{ name: 'a', type: 'Http', http: { url: 'https://x/' } }] },
      /actions\[0\]\.type: Unsupported value: "Http": supported values: "HTTP"/,
    ],
    [
      'methods',
      { actions: [http({}, { method: 'FETCH' })] },
      /http\.method: Unsupported value: "FETCH": supported values: "GET"/,
    ],
    [
      'operations',
      { actions: [write('create')] },
      /resource\.operation: Unsupported value: "create": supported values: "Create"/,
    ],
    [
      'executors',
      { actions: [http()], executor: { type: 'Tekton' } },
      /executor\.type: Unsupported value: "Tekton"/,
    ],
  ])(
    '[F26] refuses unknown %s where no webhook looks, and names the known ones',
    async (_, spec, message) => {
      const asked = await ask(unreviewed.namespace, 'DRWorkflow', unique('narrow'), spec);
      expect(asked.status).toBe(422);
      expect(asked.message).toMatch(message);
    },
  );

  it('[F26] shows defaults, but none inside lists, which tools would take for changes [S1.8]', async () => {
    const { spec } = await unreviewed.workflow(unique('plain'), { actions: [http()], executor: {} });
    expect(spec).toEqual({ actions: [http()], executor: { type: 'Native' }, failurePolicy: 'FailFast' });
  });

  it('[F26] leaves alone what earlier releases have stored [S1.8]', async () => {
    // The definition of an earlier release, as a kind of its own.
    const group = `${unique('g')}.example.com`;
    const now = parse(readFileSync('deploy/crds/dr.bkbcs.tencent.com_drworkflows.yaml', 'utf8')) as {
      metadata: { name: string };
      spec: { group: string };
    };
    now.metadata.name = `drworkflows.${group}`;
    now.spec.group = group;
    const before = JSON.parse(JSON.stringify(now), (key, value: unknown) =>
      key === 'enum' || key === 'anyOf' || key === 'default' ? undefined : value,
    ) as KubeObject;
    await unreviewed.create(before);
    const key = {
      apiVersion: `${group}/v1alpha1`,
      kind: 'DRWorkflow',
      namespace: unreviewed.namespace,
      name: 'w',
    };
    const stored = { ...key, metadata: { name: 'w', namespace: unreviewed.namespace } };
    const actions = [
      { ...write('create'), name: 'b' },
      http({}, { method: 'get' }),
      { ...http(), name: 'c', type: 'Http' },
    ];
    const { apiVersion, kind, metadata } = stored;
    await poll(
      () =>
        unreviewed.kube.resolve(apiVersion, kind, { anew: true }).then(
          () => true,
          () => false,
        ),
      Boolean,
    );
    await unreviewed.create({ apiVersion, kind, metadata, spec: { actions } });
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      name: now.metadata.name,
    };
    await unreviewed.kube.patch(definition, { spec: now.spec }, { kind: 'merge' });
    // As soon as a new object of that kind is refused, the new definition counts.
    await poll(
      () =>
        unreviewed.kube
          .create({
            apiVersion,
            kind,
            metadata: { ...metadata, name: unique('new') },
            spec: { actions },
          })
          .then(
            () => false,
            () => true,
          ),
      Boolean,
    );
    await unreviewed.kube.patch(key, { metadata: { labels: { team: 'dba' } } }, { kind: 'merge' });
    await unreviewed.kube.patch(
      key,
      { status: { phase: 'Invalid' } },
      { kind: 'merge', subresource: 'status' },
    );
    await unreviewed.kube.patch(key, { spec: { failurePolicy: 'Continue' } }, { kind: 'merge' });
    expect(await unreviewed.kube.get(key)).toMatchObject({
      metadata: { labels: { team: 'dba' } },
      spec: { actions, failurePolicy: 'Continue' },
      status: { phase: 'Invalid' },
    });
    await unreviewed.kube.delete(definition);
  });
});

describe('a workflow that uses a parameter which it does not declare', () => {
  const phaseOf = (name: string, phase: string): Promise<DRWorkflow | undefined> =>
    poll(
      () =>
        stack.kube.get<DRWorkflow>({
          apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
          kind: 'DRWorkflow',
          namespace: stack.namespace,
          name,
        }),
      (workflow) => workflow?.status?.phase === phase,
    );

  it('[F26] is Invalid until a plan supplies it, and again when none does [S2.4]', async () => {
    const name = unique('open');
    const action = http({}, { url: 'https://gslb.example/{{ .params.site }}' });
    await stack.workflow(name, { actions: [action] });
    const invalid = await phaseOf(name, 'Invalid');
    expect(invalid?.status?.conditions?.[0]).toMatchObject({
      reason: 'UndeclaredParameter',
      message: expect.stringContaining('and no plan supplies') as string,
    });
    const stages = [{ name: 's', workflows: [{ workflowRef: { name } }] }];
    await stack.plan(name, { stages, globalParams: [{ name: 'site', value: 'b' }] });
    const ready = await phaseOf(name, 'Ready');
    expect(ready?.status?.conditions?.[0]).toMatchObject({ reason: 'ValidWithWarnings' });
    await stack.kube.delete({
      apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
      kind: 'DRPlan',
      namespace: stack.namespace,
      name,
    });
    await phaseOf(name, 'Invalid');
  });
});
