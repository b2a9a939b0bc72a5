/** Taking over from the original controller while it runs, and when it stops, on the real servers. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_VERSION, FINALIZERS, GROUP } from '../../api/core/group.js';
import type { DRPlan, DRPlanExecution } from '../../api/plan/types.js';
import { heal, kill } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startReplica } from './replica.js';
import type { Replica } from './replica.js';

let stack: Stack;
let recorder: Recorder;
let replica: Replica | undefined;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('takeover', { admission: 'disabled' }), startRecorder()]);
});
afterAll(async () => {
  await stack.kube.delete(deployment);
  await Promise.all(webhooks().map((name) => stack.kube.delete(webhookKey(name))));
  await replica?.stop();
  await heal();
  await recorder.close();
  await stack.close();
});

const name = unique('bcs-drplan-controller');
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  get namespace() {
    return stack.namespace;
  },
  name,
};
const webhooks = (): string[] => [`${name}-blocking`];
const webhookKey = (of: string) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  name: of,
});
const keyOf = (kind: 'DRPlan' | 'DRPlanExecution', of: string) => ({
  apiVersion: API_VERSION,
  kind,
  namespace: stack.namespace,
  name: of,
});
const setStatus = (kind: 'DRPlan' | 'DRPlanExecution', of: string, status: object) =>
  stack.kube.patch(keyOf(kind, of), { status }, { kind: 'merge', subresource: 'status' });
const scale = (replicas: number) => stack.kube.patch(deployment, { spec: { replicas } }, { kind: 'merge' });
const doctor = async (): Promise<{ subject: string; level: string; message: string; advice?: string }[]> => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['bin/drover.js', 'doctor', '-o', 'json', '--kubeconfig', servers.kubeconfig],
    { env: { ...process.env, NO_COLOR: '1' } },
  ).catch((error: { stdout: string }) => error);
  return JSON.parse(stdout) as never;
};

/** An execution as the original leaves it: its finalizer, a phase, no stamp, its name as the holder of the plan. */
async function left(phase: 'Running' | 'Succeeded'): Promise<DRPlanExecution> {
  const plan = unique(phase.toLowerCase());
  const startTime = '2026-01-01T00:00:00Z';
  await stack.workflow(plan, { actions: [http('a', `${recorder.url}/${plan}`)] });
  const stages = [{ name: 's', workflows: [{ workflowRef: { name: plan } }] }];
  await stack.create<DRPlan>({
    ...keyOf('DRPlan', plan),
    metadata: { name: plan, namespace: stack.namespace },
    spec: { stages },
  });
  const execution = await stack.create<DRPlanExecution>({
    ...keyOf('DRPlanExecution', plan),
    metadata: { name: plan, namespace: stack.namespace, finalizers: [FINALIZERS.legacyExecution] },
    spec: { planRef: plan, operationType: 'Execute' },
  });
  const ended = phase === 'Succeeded' ? { completionTime: startTime } : {};
  await setStatus('DRPlanExecution', plan, { phase, startTime, ...ended });
  await setStatus('DRPlan', plan, {
    phase: 'Ready',
    observedGeneration: 1,
    currentExecution: {
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      name: plan,
      namespace: stack.namespace,
    },
    executionHistory: [
      { name: plan, namespace: stack.namespace, operationType: 'Execute', phase, startTime, ...ended },
    ],
  });
  return execution;
}

it(
  'begins nothing while the original runs, and takes over what it has left when it stops [S1.11] [S5.14]',
  { tags: ['nightly'] },
  async () => {
    await kill('bridge');
    const labels = { app: name };
    await stack.create({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: stack.namespace },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'manager', image: 'original' }] } },
      },
    });
    await stack.create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: webhooks()[0] },
      webhooks: [
        {
          name: `vdrplan.${GROUP}`,
          clientConfig: { url: 'https://127.0.0.1:1/' },
          rules: [
            {
              apiGroups: [GROUP],
              apiVersions: ['v1alpha1'],
              operations: ['DELETE'],
              resources: ['drworkflows'],
            },
          ],
          // Of another namespace than any that is used here.
          namespaceSelector: { matchLabels: { nowhere: 'true' } },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    await poll(
      () => stack.kube.get<{ status?: { readyReplicas?: number } }>(deployment),
      (found) => found?.status?.readyReplicas === 1,
    );
    const [unfinished, finished] = [await left('Running'), await left('Succeeded')];
    const mine = unique('mine');
    await stack.workflow(mine, { actions: [http('a', `${recorder.url}/${mine}`)] });
    await stack.create({
      ...keyOf('DRPlan', mine),
      metadata: { name: mine, namespace: stack.namespace },
      spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: mine } }] }] },
    });
    const waiting = await stack.execute(mine);

    replica = await startReplica({ flags: ['--previous-controller-check=500ms'] });
    const { bridge } = replica;
    await poll(
      () => Promise.resolve(bridge.notReady().join()),
      (missing) => missing.includes('previous controller still runs'),
    );
    expect(bridge.notReady()).toEqual([
      `the previous controller still runs: Deployment "${stack.namespace}/${name}" has 1 ready replica; scale it to zero, then executions begin here by themselves`,
    ]);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await replica.writes()).toBe(0);
    expect((await stack.get(waiting)).status).toBeUndefined();
    expect((await stack.get(unfinished)).status?.phase).toBe('Running');
    expect((await stack.getPlan(unfinished.spec.planRef)).status?.currentExecution?.name).toBe(
      unfinished.metadata.name,
    );
    const told = (await doctor()).filter(({ subject }) => subject === 'previous controller');
    expect(told).toMatchObject([
      {
        level: 'problem',
        message: expect.stringContaining(`"${stack.namespace}/${name}" has 1 ready replica`),
      },
      {
        level: 'warning',
        message: expect.stringContaining(`"${webhooks()[0]}" is not Drover's`),
        advice: expect.stringContaining(`kubectl delete validatingwebhookconfiguration ${webhooks()[0]}`),
      },
    ]);

    await scale(0);
    expect((await stack.ended(waiting)).status?.phase).toBe('Succeeded');
    expect(bridge.notReady()).toEqual([]);
    expect(recorder.of(`/${mine}`)).toHaveLength(1);

    const abandoned = await stack.ended(unfinished);
    expect(abandoned.status).toMatchObject({ phase: 'Failed', reason: 'AbandonedByPreviousController' });
    expect(abandoned.status?.message).toContain('create a new execution to run the plan on purpose');
    expect(abandoned.status?.completionTime).toBeDefined();
    for (const [execution, phase, planPhase] of [
      [unfinished, 'Failed', 'Ready'],
      [finished, 'Succeeded', 'Executed'],
    ] as const) {
      const plan = await poll(
        () => stack.getPlan(execution.spec.planRef),
        ({ status }) => status?.currentExecution === undefined && status?.phase === planPhase,
      );
      expect(plan.status?.executionHistory).toMatchObject([{ uid: execution.metadata.uid, phase }]);
      expect(plan.status?.executionHistory).toHaveLength(1);
      await poll(
        () => stack.get(execution),
        ({ metadata }) => metadata.finalizers === undefined,
      );
      expect(recorder.of(`/${execution.spec.planRef}`)).toHaveLength(0);
    }
    expect((await stack.get(finished)).status).toEqual({
      phase: 'Succeeded',
      startTime: '2026-01-01T00:00:00Z',
      completionTime: '2026-01-01T00:00:00Z',
    });
    const blocking = (await doctor()).filter(({ subject }) => subject === 'previous controller');
    expect(blocking).toMatchObject([{ level: 'problem', message: expect.stringContaining(webhooks()[0]!) }]);

    await scale(1);
    await poll(
      () => Promise.resolve(bridge.notReady().join()),
      (missing) => missing.includes('previous controller still runs'),
    );
    const later = await stack.execute(mine, { rerun: 'Allowed' });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect((await stack.get(later)).status).toBeUndefined();
    await scale(0);
    expect((await stack.ended(later)).status?.phase).toBe('Succeeded');
  },
);
