/** What plans may do: at admission as far as it is written down, and in the worker for what is rendered. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { DRPolicySpec } from '../../api/plan/schema/policy.js';
import type { Action, Parameter } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { ask } from '../admission/asking.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { actionAt, condition, http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
const policies: string[] = [];
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('policy'), startRecorder()]);
});
afterAll(async () => {
  for (const name of policies) await stack.kube.delete({ apiVersion: API_VERSION, kind: 'DRPolicy', name });
  await recorder.close();
  await stack.close();
});

async function policy(spec: DRPolicySpec, namespaces = [stack.namespace]): Promise<string> {
  const name = unique('policy');
  policies.push(name);
  await stack.create({
    apiVersion: API_VERSION,
    kind: 'DRPolicy',
    metadata: { name },
    spec: { namespaces, ...spec },
  });
  return name;
}
const resource = (name: string, object: object, operation = 'Create'): Action => ({
  name,
  type: 'KubernetesResource',
  resource: { operation, manifest: JSON.stringify(object) },
});
const configMap = (name: string, namespace?: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...(namespace !== undefined && { namespace }) },
});
const job = (name: string, privileged: unknown): Action => ({
  name,
  type: 'Job',
  job: {
    namespace: stack.namespace,
    template: {
      spec: {
        template: {
          spec: {
            restartPolicy: 'Never',
            containers: [{ name: 'c', image: 'busybox', securityContext: { privileged } }],
          },
        },
      },
    },
  },
});
const planOf = (actions: Action[], parameters: Parameter[] = []) =>
  stack.simplePlan(unique('plan'), actions, { workflow: { parameters, failurePolicy: 'Continue' } });
const rbac = 'rbac.authorization.k8s.io/v1';

describe('without a policy', () => {
  it('a plan with an escalation is refused, each with its class [SEC10]', async () => {
    const escalations: [string, object][] = [
      ['RBAC', { apiVersion: rbac, kind: 'ClusterRole', metadata: { name: 'x' } }],
      ['RBAC', { apiVersion: rbac, kind: 'RoleBinding', metadata: { name: 'x' } }],
      [
        'Admission',
        {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingWebhookConfiguration',
          metadata: { name: 'x' },
        },
      ],
      ['Admission', { apiVersion: API_VERSION, kind: 'DRPolicy', metadata: { name: 'x' } }],
      [
        'APIExtensions',
        { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'x' } },
      ],
      [
        'APIExtensions',
        { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: { name: 'x' } },
      ],
      [
        'Credentials',
        {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'x' },
          type: 'kubernetes.io/service-account-token',
        },
      ],
      [
        'PrivilegedPods',
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'x' },
          spec: { hostNetwork: true, containers: [] },
        },
      ],
    ];
    const actions = escalations.map(([, object], index) => resource(`a${index}`, object));
    const refused = await planOf([...actions, job('job', true)]).then(
      () => 'let in',
      (error: unknown) => (error as Error).message,
    );
    for (const [index, [name]] of escalations.entries()) {
      expect(refused).toMatch(
        new RegExp(`actions\\[${index}\\]\\.resource\\.manifest: [^,]* is refused as ${name}`),
      );
    }
    expect(refused).toMatch(/job\.template: .*PrivilegedPods: .*securityContext\.privileged is true/);
  });

  it('what placeholders make of an action is refused when it runs, and nothing is done [SEC10]', async () => {
    const name = unique('templated');
    const plan = await planOf(
      [
        resource('role', {
          apiVersion: '{{ .params.api }}',
          kind: '{{ .params.kind }}',
          metadata: { name },
        }),
        resource('both', configMap('{{ .planName }}-ok')),
        job('job', '{{ .params.privileged }}'),
      ],
      [
        { name: 'api', default: rbac },
        { name: 'kind', default: 'ClusterRole' },
        { name: 'privileged', type: 'boolean', default: true },
      ],
    );
    const ended = await stack.ended(await stack.execute(plan.metadata.name));
    expect(ended.status?.phase).toBe('Failed');
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({
      phase: 'Failed',
      reason: 'PolicyRefused',
      message: expect.stringContaining(`ClusterRole ${name} is refused as RBAC`),
    });
    expect(actionAt(ended, 0, 0, 1)?.phase).toBe('Succeeded');
    expect(actionAt(ended, 0, 0, 2)).toMatchObject({ phase: 'Failed', reason: 'PolicyRefused' });
    expect(await stack.kube.get({ apiVersion: rbac, kind: 'ClusterRole', name })).toBeUndefined();
    const jobs = await stack.kube.list(
      { apiVersion: 'batch/v1', kind: 'Job' },
      { namespace: stack.namespace },
    );
    expect(jobs.items).toEqual([]);
  });
});

describe('a policy', () => {
  it('allows an escalation by its class [SEC10]', async () => {
    await policy({ allow: ['PrivilegedPods'] });
    const plan = await poll(
      () => planOf([job('job', true)]).catch(() => undefined),
      (made) => made !== undefined,
    );
    expect((await stack.ended(await stack.execute(plan?.metadata.name ?? ''))).status?.phase).toBe(
      'Succeeded',
    );
  });

  it('limits kinds, operations and namespaces, makes plans Invalid that were not, and lets them be again [SEC2]', async () => {
    const plan = await planOf([
      resource('ok', configMap('ok'), 'Apply'),
      resource('elsewhere', configMap('x', 'kube-public'), 'Apply'),
      resource('delete', configMap('ok'), 'Delete'),
    ]);
    const name = await policy({ kinds: [{ apiGroups: [''], kinds: ['ConfigMap'], operations: ['Apply'] }] });
    const invalid = await poll(
      () => stack.getPlan(plan.metadata.name),
      (now) => now.status?.phase === 'Invalid',
    );
    const ready = condition(invalid, 'Ready');
    expect(ready).toMatchObject({ status: 'False', reason: 'PolicyRefused' });
    expect(ready?.message).toContain('may not apply v1 ConfigMap x in namespace kube-public');
    expect(ready?.message).toContain('may not delete v1 ConfigMap ok');
    await expect(stack.execute(plan.metadata.name)).rejects.toThrow('PolicyRefused');
    await stack.kube.delete({ apiVersion: API_VERSION, kind: 'DRPolicy', name });
    await poll(
      () => stack.getPlan(plan.metadata.name),
      (now) => now.status?.phase === 'Ready',
    );
  });

  it('limits hosts, accounts and clusters, also those that are known only in a run [SEC2]', async () => {
    const host = new URL(recorder.url).hostname;
    const other = await openStack('limited');
    try {
      const server = 'https://other.example.org:6443';
      const kubeconfig = JSON.stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server } }],
        users: [{ name: 'u', user: { token: 'not-a-token' } }],
      });
      await other.create({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'site-b', namespace: other.namespace },
        stringData: { kubeconfig },
      });
      await other.simplePlan(
        'p',
        [
          http('listed', `${recorder.url}/listed`),
          http('unlisted', 'http://{{ .params.host }}/x'),
          {
            ...resource('remote', configMap('x')),
            target: { kubeconfigSecretRef: { name: 'site-b' } },
          },
        ],
        {
          workflow: {
            failurePolicy: 'Continue',
            parameters: [{ name: 'host', default: 'evil.example.org' }],
          },
        },
      );
      await policy({ hosts: [host], clusters: ['site-b.example.org:6443'] }, [other.namespace]);
      const ended = await poll(
        async () => other.ended(await other.execute('p', { rerun: 'Allowed' })),
        (now) => actionAt(now, 0, 0, 1)?.reason === 'PolicyRefused',
      );
      expect(actionAt(ended, 0, 0, 0)?.phase).toBe('Succeeded');
      expect(actionAt(ended, 0, 0, 1)?.message).toContain('evil.example.org:80 is none of the hosts');
      expect(actionAt(ended, 0, 0, 2)).toMatchObject({
        reason: 'PolicyRefused',
        message: expect.stringContaining('other.example.org:6443 is none of the clusters'),
      });
      const written: Action = http('unlisted', 'http://evil.example.org/x');
      await poll(
        () =>
          other.simplePlan(unique('w'), [written]).then(
            () => '',
            (error: unknown) => String(error),
          ),
        (message) => message.includes('evil.example.org:80 is none of the hosts'),
      );
      await policy({ serviceAccounts: ['acts'] }, [other.namespace]);
      await poll(
        () => other.getPlan('p'),
        (now) =>
          condition(now, 'Ready')?.message.includes('may act as acts, and not as the controller') === true,
      );
    } finally {
      await other.close();
    }
  });

  it('is written by administrators only, and refused when it makes no sense', async () => {
    const bad = { apiVersion: API_VERSION, kind: 'DRPolicy', metadata: { name: 'bad' } };
    const write = (spec: object): Promise<KubeObject> => stack.create<KubeObject>({ ...bad, spec });
    await expect(write({ hosts: ['http://x/'] })).rejects.toThrow('spec.hosts');
    await expect(write({ namespaces: ['Shop'] })).rejects.toThrow('spec.namespaces');
    await expect(write({ allow: ['Everything'] })).rejects.toThrow('spec.allow');
    const editor = stack.kube.as({ user: 'nobody-special', groups: ['system:authenticated'] });
    await expect(editor.create({ ...bad, spec: {} })).rejects.toThrow('forbidden');
  });
});

describe('at admission, a policy', () => {
  const onConfigMaps: DRPolicySpec['kinds'] = [{ apiGroups: [''], kinds: ['ConfigMap'] }];

  it('is refused where it says nothing that is allowed, with the path', async () => {
    const asked = await ask('', 'DRPolicy', unique('policy'), { kinds: [{ apiGroups: [], kinds: ['Pod'] }] });
    expect(asked.status).toBe(422);
    expect(asked.message).toContain('spec.kinds[0].apiGroups');
  });

  it('that stops a plan is let in with a warning that names the plan, and one that does not without', async () => {
    const plan = await planOf([resource('a', configMap('x'))]);
    const named = expect.stringContaining(
      `makes DRPlan "${stack.namespace}/${plan.metadata.name}" Invalid`,
    ) as unknown;
    const apply = (kinds: DRPolicySpec['kinds']) =>
      ask('', 'DRPolicy', unique('policy'), { namespaces: [stack.namespace], kinds }, { dryRun: true });
    // The bridge may hear of the plan a moment later than this test.
    const said = await poll(
      () => apply([{ apiGroups: ['apps'], kinds: ['Deployment'] }]),
      ({ warnings }) => warnings.length > 0,
    );
    expect(said.status).toBe(201);
    expect(said.warnings).toContainEqual(named);
    const harmless = await apply(onConfigMaps);
    expect(harmless.status).toBe(201);
    expect(harmless.warnings).not.toContainEqual(named);
  });
});
