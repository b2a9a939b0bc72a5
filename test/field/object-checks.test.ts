/** What admission and preflight say of objects before anything is done with them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEgressPolicy } from '../../activities/core/egress.js';
import { preflight } from '../../activities/preflight/preflight.js';
import { policyFor } from '../../api/plan/policy.js';
import { faultsIn, shapesIn } from '../../api/core/shape.js';
import { takeSnapshot } from '../../api/plan/snapshot/snapshot.js';
import type { Action, DRPlan } from '../../api/plan/types.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import { createOpenApi } from '../../kube/openapi.js';
import { ask } from '../admission/asking.js';
import { connect } from '../support/attempts.js';
import { servers } from '../support/servers.js';
import { actionAt, openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let unreviewed: Stack;
beforeAll(async () => {
  [stack, unreviewed] = await Promise.all([
    openStack('checks'),
    openStack('checks-unreviewed', { admission: 'disabled' }),
  ]);
});
afterAll(() => Promise.all([stack.close(), unreviewed.close()]));

type Resource = NonNullable<Action['resource']>;
const act = (
  name: string,
  operation: string,
  manifest: object | object[],
  more: Partial<Resource> = {},
): Action => ({
  name,
  type: 'KubernetesResource',
  resource: {
    operation,
    manifest: [manifest]
      .flat()
      .map((document) => JSON.stringify(document))
      .join('\n---\n'),
    ...more,
  },
  ...(operation === 'Patch' && { rollback: { type: 'Wait' as const, wait: { duration: '1s' } } }),
});
const configMap = (name: string, fields: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...fields,
});
const deployment = (name: string, spec: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec,
});
const withContainers = (...containers: object[]) => ({ template: { spec: { containers } } });
const definitionOf = (group: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
});

describe('admission', () => {
  const send = (...actions: Action[]) => ask(stack.namespace, 'DRWorkflow', unique('checked'), { actions });

  it('[F7] refuses fields that a kind does not have, names them and the nearest, where it knows the kind [S3.50]', async () => {
    const asked = await send(
      act('create', 'Create', configMap('a', { dta: {} })),
      act('patch', 'Patch', configMap('a', { datas: {} })),
      act('apply', 'Apply', deployment('d', { replica: 3, ...withContainers({ name: 'c', imag: 'x' }) })),
      act('unknown', 'Apply', { apiVersion: 'example.org/v1', kind: 'Thing', metadata: { name: 't' }, x: 1 }),
    );
    expect(asked.status).toBe(422);
    expect(asked.causes.map(({ field }) => field)).toEqual([
      'spec.actions[0].resource.manifest',
      'spec.actions[1].resource.manifest',
      'spec.actions[2].resource.manifest',
      'spec.actions[2].resource.manifest',
    ]);
    for (const text of [
      'dta is no field of ConfigMap (v1); did you mean data?',
      'datas is no field',
      'spec.replica is no field of Deployment (apps/v1); did you mean replicas?',
      'spec.template.spec.containers[0].imag is no field',
    ]) {
      expect(asked.message).toContain(text);
    }
  });

  it('[F7] warns of them where the action lets them be dropped, and refuses what is no text', async () => {
    const lenient = { fieldValidation: 'Warn' as const };
    const asked = await send(act('create', 'Create', configMap('a', { dta: {} }), lenient));
    expect(asked.status).toBe(201);
    expect(asked.warnings).toEqual([expect.stringContaining('dta is no field of ConfigMap')]);
    const norway = { ...configMap('a'), metadata: { name: 'a', annotations: { enabled: true } } };
    const refused = await send(act('create', 'Create', norway, lenient));
    expect(refused.status).toBe(422);
    expect(refused.message).toMatch(/metadata\.annotations\.enabled is true; must be text.*yes, no, on, off/);
  });

  it('[F7] does not judge anew what is stored, when something else of it changes', async () => {
    const name = unique('stored');
    const kube = stack.kube;
    const typo = { actions: [act('create', 'Create', configMap('a', { dta: {} }))] };
    await unreviewed.workflow(name, typo);
    const key = {
      apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
      kind: 'DRWorkflow',
      namespace: unreviewed.namespace,
      name,
    };
    await kube.patch(
      { apiVersion: 'v1', kind: 'Namespace', name: unreviewed.namespace },
      { metadata: { labels: { 'dr.bkbcs.tencent.com/admission': null } } },
      { kind: 'merge' },
    );
    await kube.patch(key, { metadata: { labels: { team: 'dba' } } }, { kind: 'merge' });
    await expect(kube.patch(key, { spec: { failurePolicy: 'Continue' } }, { kind: 'merge' })).rejects.toThrow(
      /dta is no field of ConfigMap/,
    );
    await kube.patch(
      { apiVersion: 'v1', kind: 'Namespace', name: unreviewed.namespace },
      { metadata: { labels: { 'dr.bkbcs.tencent.com/admission': 'disabled' } } },
      { kind: 'merge' },
    );
  });

  it('[F16] warns of values that hold a placeholder, of workflows, plans and executions [S2.6]', async () => {
    const name = unique('literal');
    const value = 'of {{ .params.other }}';
    const warning = expect.stringContaining('holds {{ .params.other }}, which stays this text') as string;
    const manifest = configMap(name, { data: { a: '{{ .params.site }}' } });
    const actions = [act('a', 'Apply', manifest)];
    const parameters = [{ name: 'site', default: value }];
    const stages = [{ name: 's', workflows: [{ workflowRef: { name } }] }];
    const globalParams = [{ name: 'site', value }];
    const execution = { planRef: name, operationType: 'Execute', params: globalParams };
    const asked = [
      await ask(stack.namespace, 'DRWorkflow', name, { parameters, actions }),
      await ask(stack.namespace, 'DRPlan', name, { stages, globalParams }),
      await ask(stack.namespace, 'DRPlanExecution', name, execution, { dryRun: true }),
    ];
    expect(asked).toMatchObject(asked.map(() => ({ status: 201, warnings: [warning] })));
  });

  it('[F8] warns of a merge patch that replaces a list of named items [S3.51]', async () => {
    const patch = deployment('d', withContainers({ name: 'web', image: 'web:2' }));
    const asked = await send(act('patch', 'Patch', patch));
    expect(asked.status).toBe(201);
    expect(asked.warnings).toEqual([
      expect.stringContaining('spec.template.spec.containers replaces the whole list'),
    ]);
    expect((await send(act('patch', 'Patch', patch, { patchType: 'strategic' }))).warnings).toEqual([]);
  });

  it('[F7] finds nothing wrong with what the server itself holds', async () => {
    const kube = connect(servers.kubeconfig);
    const openApi = createOpenApi(kube, shapesIn);
    const kinds: [string, string[]][] = [
      ['v1', ['Namespace', 'Service', 'Node', 'ServiceAccount', 'ConfigMap', 'Secret', 'Pod']],
      ['apps/v1', ['Deployment', 'ReplicaSet', 'ControllerRevision']],
      ['rbac.authorization.k8s.io/v1', ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']],
      ['apiextensions.k8s.io/v1', ['CustomResourceDefinition']],
      ['apiregistration.k8s.io/v1', ['APIService']],
      ['admissionregistration.k8s.io/v1', ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']],
      ['flowcontrol.apiserver.k8s.io/v1', ['FlowSchema', 'PriorityLevelConfiguration']],
      ['scheduling.k8s.io/v1', ['PriorityClass']],
      ['coordination.k8s.io/v1', ['Lease']],
      ['dr.bkbcs.tencent.com/v1alpha1', ['DRPlan', 'DRWorkflow']],
    ];
    let seen = 0;
    for (const [apiVersion, names] of kinds) {
      const shapes = await openApi.of(apiVersion);
      for (const kind of names) {
        const shape = shapes?.get(kind);
        expect(shape, `${kind} of ${apiVersion}`).toBeDefined();
        const { items } = await kube.list({ apiVersion, kind }, { limit: 100 });
        for (const item of items) {
          seen += 1;
          const object = { apiVersion, kind, ...item };
          expect(faultsIn(object, shape ?? {}, { isOpen: () => false }), item.metadata.name).toEqual([]);
        }
      }
    }
    expect(seen).toBeGreaterThan(100);
  });
});

describe('preflight', () => {
  async function tried(
    plan: DRPlan,
    actions: readonly Action[],
    kube: KubeClient = unreviewed.kube,
  ): Promise<Record<string, string[]>> {
    const { snapshot } = takeSnapshot({
      plan,
      execution: {
        metadata: { name: 'preflight', namespace: unreviewed.namespace },
        spec: { planRef: plan.metadata.name, operationType: 'Execute' },
      },
      lookup: (namespace, name) => ({ metadata: { name, namespace }, spec: { actions: [...actions] } }),
    });
    const found = await preflight({
      snapshot,
      namespace: unreviewed.namespace,
      kube,
      identity: 'the test',
      // Definitions are an escalation, which is not what is asked here.
      policy: policyFor(unreviewed.namespace, [{ allow: ['APIExtensions'] }]),
      egress: createEgressPolicy({ allowLoopback: true }),
      signal: new AbortController().signal,
    });
    return Object.fromEntries(
      found.map(({ action, findings }) => [
        action,
        findings.map(({ level, reason, message }) => `${level} ${reason}: ${message}`),
      ]),
    );
  }
  const planOf = (name: string): DRPlan => ({
    metadata: { name, namespace: unreviewed.namespace, uid: 'p', generation: 1 },
    spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'w' } }] }] },
  });
  const make = (
    name: string,
    kind: 'ConfigMap' | 'Deployment' | 'Secret',
    fields: object,
  ): Promise<KubeObject> =>
    unreviewed.create({
      apiVersion: kind === 'Deployment' ? 'apps/v1' : 'v1',
      kind,
      metadata: { name, namespace: unreviewed.namespace },
      ...fields,
    });

  it('[F5] says what an Apply takes away of what it had set, as the run then does [S3.47]', async () => {
    const name = unique('site');
    await make(name, 'Deployment', {
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
      },
    });
    const plan = await unreviewed.simplePlan(unique('stop'), [
      act('stop', 'Apply', deployment(name, { replicas: 0 })),
    ]);
    expect((await unreviewed.ended(await unreviewed.execute(plan.metadata.name))).status?.phase).toBe(
      'Succeeded',
    );
    const marked = act('stop', 'Apply', {
      ...deployment(name, {}),
      metadata: { name, labels: { role: 'standby' } },
    });
    const message = 'what this action had set before and no longer names: spec.replicas (now 1)';
    expect((await tried(plan, [marked])).stop).toEqual([
      `warning TakesAway: Deployment ${unreviewed.namespace}/${name} would be changed, which takes away ${message}`,
    ]);
    const { workflowRef } = plan.spec.stages[0]?.workflows[0] ?? { workflowRef: { name: '' } };
    const key = {
      apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
      kind: 'DRWorkflow',
      namespace: unreviewed.namespace,
      name: workflowRef.name,
    };
    await unreviewed.kube.patch(key, { spec: { actions: [marked] } }, { kind: 'merge' });
    const ended = await unreviewed.ended(await unreviewed.execute(plan.metadata.name, { rerun: 'Allowed' }));
    expect(actionAt(ended, 0, 0, 0)?.message).toContain(`took away ${message}`);
    const revert = await unreviewed.ended(await unreviewed.revert(ended));
    expect(revert.status?.phase).toBe('Succeeded');
    const now = await unreviewed.kube.get<{ spec: { replicas: number } }>({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      namespace: unreviewed.namespace,
      name,
    });
    expect(now?.spec.replicas).toBe(0);
  });

  it('[F5] finds what two actions of one plan set to different values', async () => {
    const name = unique('rivals');
    await make(name, 'ConfigMap', { data: { a: 'x' } });
    const one = act('one', 'Apply', configMap(name, { data: { a: '1', b: '1' } }));
    const polite = act('two', 'Apply', configMap(name, { data: { a: '2', b: '1' } }), { force: false });
    const found = await tried(planOf('rivals'), [one, polite, { ...one, name: 'three' }]);
    expect(found.two).toContain(
      `problem Conflict: ConfigMap ${unreviewed.namespace}/${name} would not be applied: action "one" before it sets data.a, and force is false`,
    );
    expect(found.three?.join()).toContain('what action "two" before it sets is taken over: data.a');
  });

  it('[F7] [F8] refuses unknown fields, says what lists lose, and keeps them with a strategic patch', async () => {
    const name = unique('listed');
    const web = { name: 'web', image: 'web:1', env: [{ name: 'A', value: '1' }] };
    await make(name, 'Deployment', {
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [web, { name: 'sidecar', image: 'side:1' }] },
        },
      },
    });
    const patch = deployment(name, withContainers({ name: 'web', image: 'web:2' }));
    const found = await tried(planOf('listed'), [
      act('typo', 'Create', configMap('new', { dta: {} })),
      act('apply', 'Apply', deployment(name, { replica: 3 })),
      act('merge', 'Patch', patch),
      act('strategic', 'Patch', patch, { patchType: 'strategic' }),
      act('lenient', 'Create', configMap('new', { dta: {} }), { fieldValidation: 'Warn' }),
    ]);
    expect(found).toEqual({
      typo: [expect.stringMatching(/^problem Invalid: .*unknown field "dta"/)],
      apply: [expect.stringMatching(/^problem Invalid: .*\.spec\.replica: field not declared/)],
      merge: [
        expect.stringMatching(
          /^warning ReplacesList: .*spec\.template\.spec\.containers: item "sidecar"; of "web": env; patchType: strategic/,
        ),
      ],
      strategic: [expect.stringMatching(/^ok Accepted: /)],
      lenient: [expect.stringMatching(/^ok Accepted: /)],
    });
  });

  it('[F16] warns of an action that uses a value with a placeholder [S2.6]', async () => {
    const plan = planOf('literal');
    plan.spec.globalParams = [{ name: 'site', value: '$(params.other)' }];
    const manifest = (data: object) => configMap('literal', { data });
    const found = await tried(plan, [
      act('uses', 'Create', manifest({ a: '{{ .params.site }}' })),
      act('not', 'Create', manifest({ a: '1' })),
    ]);
    expect(found.uses?.[0]).toMatch(/^warning LiteralPlaceholder: .*"site" holds \$\(params\.other\)/);
    expect(found.not).toEqual([expect.stringMatching(/^ok /)]);
  });

  it('[F8] counts on definitions and namespaces that earlier actions, or the same one, make', async () => {
    const [group, other] = [`${unique('g')}.example.com`, `${unique('g')}.example.com`];
    const widget = (name: string) => ({ apiVersion: `${name}/v1`, kind: 'Widget', metadata: { name: 'w' } });
    const found = await tried(planOf('defined'), [
      act('crd', 'Apply', definitionOf(group)),
      act('cr', 'Apply', widget(group)),
      act('both', 'Apply', [widget(other), definitionOf(other)]),
      act('missing', 'Apply', widget('nowhere.example.com')),
    ]);
    expect(found.cr).toEqual([
      'untried NotTried: Widget ' +
        `${unreviewed.namespace}/w is of a kind that action "crd" defines before it`,
    ]);
    expect(found.both?.at(-1)).toBe(
      `untried NotTried: Widget ${unreviewed.namespace}/w: its kind is defined by the same manifest`,
    );
    expect(found.missing).toEqual([expect.stringMatching(/^problem KindNotFound: /)]);
  });

  it('[F8] says that the state before an action is too large to be kept, where the run would', async () => {
    const names = [unique('large'), unique('large')];
    const { randomBytes } = await import('node:crypto');
    for (const name of names) {
      await make(name, 'Secret', { data: { a: randomBytes(600 * 1024).toString('base64') } });
    }
    const documents = names.map((name) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } }));
    const found = await tried(planOf('large'), [act('delete', 'Delete', documents)]);
    expect(found.delete?.at(-1)).toMatch(/^problem PriorStateTooLarge: .*split the manifest/);
  });

  it('[F7] says once that an older API server does not check fields [S3.50]', async () => {
    const older: KubeClient = {
      ...unreviewed.kube,
      raw: <T>(request: Parameters<KubeClient['raw']>[0]) =>
        request.path === '/version'
          ? Promise.resolve({ major: '1', minor: '24+', gitVersion: 'v1.24.17' } as T)
          : unreviewed.kube.raw<T>(request),
    };
    const actions = [act('a', 'Create', configMap('one')), act('b', 'Create', configMap('two'))];
    const found = await tried(planOf('older'), actions, older);
    expect(found.a?.[1]).toMatch(/^warning NotChecked: .*v1\.24\.17, which does not check fields/);
    expect(found.b).toHaveLength(1);
  });
});
