/**
 * Everything a plan can have wrong: refused at create with a clear message; and where admission is off, the same message
 * in status, and nothing half-recorded.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { Action, DRPlan, DRPlanSpec, DRWorkflow } from '../../api/plan/types.js';
import { KubeError } from '../../kube/error.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { actionAt, condition, http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

/** Where admission is off: what the bridge itself finds. */
let stack: Stack;
let reviewed: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, reviewed, recorder] = await Promise.all([
    openStack('bad', { admission: 'disabled' }),
    openStack('bad-reviewed'),
    startRecorder(),
  ]);
});
afterAll(async () => {
  await recorder.close();
  await Promise.all([stack.close(), reviewed.close()]);
});

/** Expects that admission does not let an object in, and says why. */
async function refused(attempt: Promise<unknown>, message: RegExp | string): Promise<void> {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(KubeError);
  expect((error as KubeError).message).toMatch(/denied the request/);
  expect((error as KubeError).message).toMatch(message);
}

const settled = (kind: 'DRWorkflow' | 'DRPlan', name: string): Promise<DRWorkflow | DRPlan> =>
  poll(
    async () => {
      const found = await stack.kube.get<DRPlan>({
        apiVersion: API_VERSION,
        kind,
        namespace: stack.namespace,
        name,
      });
      if (found === undefined) throw new Error(`${kind} ${name} is gone`);
      return found;
    },
    (object) => object.status?.phase !== undefined,
  );

/** A test's title as a name of an object. */
const nameOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, '-')
    .replaceAll(/^-|-$/g, '');

const manifest = (text: string, more: Partial<Action> = {}): Action => ({
  name: 'object',
  type: 'KubernetesResource',
  resource: { operation: 'Create', manifest: text },
  ...more,
});

describe('a workflow', () => {
  it.each<[string, Action[], RegExp]>([
    [
      'with malformed YAML in a manifest',
      [manifest('kind: ConfigMap\n  metadata: {')],
      /actions\[0\]\.resource\.manifest.*(YAML|line)/s,
    ],
    [
      'with an unknown action type',
      [http('a', 'http://x/', { rollback: { type: 'Magic' } })],
      /actions\[0\]\.rollback\.type.*Magic.*HTTP.*KubernetesResource/s,
    ],
    [
      'with two actions of one name',
      [http('a', 'http://x/'), http('a', 'http://x/')],
      /actions\[1\]\.name.*"a"/s,
    ],
    ['with a bad duration', [http('a', 'http://x/', { totalTimeout: '0s' })], /actions\[0\]\.totalTimeout/],
    [
      'whose actions wait for each other',
      [http('a', 'http://x/', { dependsOn: ['b'] }), http('b', 'http://x/', { dependsOn: ['a'] })],
      /dependsOn.*a.*b/s,
    ],
    ['that reads the output of no action', [http('a', 'http://x/{{ .outputs.nowhere.phase }}')], /nowhere/],
    ['with a condition that is no CEL', [http('a', 'http://x/', { when: 'outputs.' })], /actions\[0\]\.when/],
    ['with a hook that there is not', [http('a', 'http://x/', { hookType: 'pre-flight' })], /hookType/],
    [
      'with a mode of clusters that there is not',
      [http('a', 'http://x/', { clusterExecutionMode: 'Rolling' })],
      /clusterExecutionMode.*Global, PerCluster/s,
    ],
  ])('%s is Invalid and says where [S1.4] [S1.9]', async (title, actions, message) => {
    const name = nameOf(title);
    await refused(reviewed.workflow(name, { actions }), message);
    await stack.workflow(name, { actions });
    const workflow = await settled('DRWorkflow', name);
    expect(workflow.status?.phase).toBe('Invalid');
    expect(condition(workflow, 'Ready')).toMatchObject({ status: 'False' });
    expect(condition(workflow, 'Ready')?.message).toMatch(message);
  });

  it('without the block of its type is refused at create, with the reason', async () => {
    const error = await stack
      .workflow('block', { actions: [{ name: 'a', type: 'HTTP' }] })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(KubeError);
    expect((error as KubeError).message).toMatch(/http/);
  });
});

describe('a plan', () => {
  beforeAll(async () => {
    for (const into of [stack, reviewed]) {
      await into.workflow('ok', { actions: [http('a', `${recorder.url}/ok`)] });
      await into.workflow('typed', {
        parameters: [{ name: 'count', type: 'number' }],
        actions: [http('a', `${recorder.url}/{{ .params.count }}`)],
      });
      await into.workflow('open', { actions: [http('a', `${recorder.url}/{{ .params.who }}`)] });
    }
  });
  const stage = (name: string, workflow: string, more: object = {}) => ({
    name,
    workflows: [{ workflowRef: { name: workflow } }],
    ...more,
  });
  it.each<[string, DRPlanSpec, RegExp]>([
    [
      'whose stages wait for each other',
      { stages: [stage('s', 'ok', { dependsOn: ['t'] }), stage('t', 'ok', { dependsOn: ['s'] })] },
      /dependsOn.*s.*t/s,
    ],
    [
      'that waits for an unknown stage',
      { stages: [stage('s', 'ok', { dependsOn: ['nowhere'] })] },
      /stages\[0\]\.dependsOn\[0\].*nowhere/s,
    ],
    ['with two stages of one name', { stages: [stage('s', 'ok'), stage('s', 'ok')] }, /stages\[1\]\.name/],
    [
      'with a parameter of the wrong type',
      { globalParams: [{ name: 'count', value: 'many' }], stages: [stage('s', 'typed')] },
      /count.*many.*number/s,
    ],
    ['that leaves a placeholder undefined', { stages: [stage('s', 'open')] }, /who/],
  ])('%s is Invalid and says where [S2.4] [S2.10]', async (title, spec, message) => {
    const name = nameOf(title);
    const create = (into: Stack) =>
      into.create({
        apiVersion: API_VERSION,
        kind: 'DRPlan',
        metadata: { name, namespace: into.namespace },
        spec,
      });
    await refused(create(reviewed), message);
    await create(stack);
    const plan = await poll(
      () => settled('DRPlan', name),
      (now) => message.test(condition(now, 'Ready')?.message ?? ''),
    );
    expect(plan.status?.phase).toBe('Invalid');
    expect(condition(plan, 'Ready')).toMatchObject({ status: 'False' });
  });

  it('of an unknown workflow is let in, as objects are applied in any order, and is Invalid', async () => {
    await reviewed.create({
      apiVersion: API_VERSION,
      kind: 'DRPlan',
      metadata: { name: 'early', namespace: reviewed.namespace },
      spec: { stages: [stage('s', 'nowhere')] },
    });
    const plan = await poll(
      () => reviewed.getPlan('early'),
      (now) => now.status?.phase !== undefined,
    );
    expect(plan.status?.phase).toBe('Invalid');
    expect(condition(plan, 'Ready')?.message).toMatch(/stages\[0\]\.workflows\[0\].*nowhere/s);
  });

  it('becomes Ready when its workflow appears, and Invalid when it goes [S5.27]', async () => {
    await stack.create({
      apiVersion: API_VERSION,
      kind: 'DRPlan',
      metadata: { name: 'follows', namespace: stack.namespace },
      spec: { stages: [stage('s', 'late')] },
    });
    const early = await settled('DRPlan', 'follows');
    expect(early.status?.phase).toBe('Invalid');
    await stack.workflow('late', { actions: [http('a', `${recorder.url}/late`)] });
    await poll(
      () => stack.getPlan('follows'),
      (plan) => plan.status?.phase === 'Ready',
    );
    await stack.kube.delete({
      apiVersion: API_VERSION,
      kind: 'DRWorkflow',
      namespace: stack.namespace,
      name: 'late',
    });
    const plan = await poll(
      () => stack.getPlan('follows'),
      (now) => now.status?.phase === 'Invalid',
    );
    expect(condition(plan, 'Ready')?.message).toContain('late');
  });
});

describe('an execution', () => {
  it('of an unknown plan fails and names it', async () => {
    await refused(reviewed.execute('nowhere'), /nowhere/);
    const ended = await stack.ended(await stack.execute('nowhere'));
    expect(ended.status).toMatchObject({ phase: 'Failed', completionTime: expect.any(String) });
    expect(ended.status?.message).toContain('nowhere');
  });

  it('without a required parameter fails before any action, and runs with it [S2.2]', async () => {
    for (const into of [stack, reviewed]) {
      await into.simplePlan(
        'required',
        [
          http('first', `${recorder.url}/required-first`),
          http('a', `${recorder.url}/required/{{ .params.site }}`),
        ],
        { workflow: { parameters: [{ name: 'site', required: true }] } },
      );
    }
    await refused(reviewed.execute('required'), /site/);
    const failed = await stack.ended(await stack.execute('required'));
    expect(failed.status?.phase).toBe('Failed');
    expect(failed.status?.message).toContain('site');
    expect(recorder.of('/required-first')).toHaveLength(0);
    const plan = await stack.getPlan('required');
    expect(plan.status?.currentExecution).toBeUndefined();
    const ended = await stack.ended(
      await stack.execute('required', { params: [{ name: 'site', value: 'b' }] }),
    );
    expect(ended.status?.phase).toBe('Succeeded');
    expect(recorder.of('/required/b')).toHaveLength(1);
  });

  it('with a mode that is none, or a parameter of a reserved name, is refused', async () => {
    await expect(stack.execute('required', { mode: 'install' as never })).rejects.toThrow(
      /spec\.mode.*"install".*"Install"/s,
    );
    const reserved = { params: [{ name: 'mode', value: 'install' }] };
    await refused(reviewed.execute('required', reserved), /reserved/);
    const ended = await stack.ended(await stack.execute('required', reserved));
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'ReservedParameter' });
  });

  it('cannot be changed, and a revert needs a target [S5.57]', async () => {
    const execution = await stack.execute('nowhere');
    const change = stack.kube.patch(
      {
        apiVersion: API_VERSION,
        kind: 'DRPlanExecution',
        namespace: stack.namespace,
        name: execution.metadata.name,
      },
      { spec: { planRef: 'other' } },
      { kind: 'merge' },
    );
    await expect(change).rejects.toThrow(/cannot be changed/);
    await expect(stack.execute('nowhere', { operationType: 'Revert' })).rejects.toThrow(/revertExecutionRef/);
  });

  const fails: [string, Action, RegExp, string?][] = [
    [
      'cannot reach its URL',
      http('a', 'http://127.0.0.1:9/down', { retryPolicy: { limit: 1, interval: '50ms' } }),
      /127\.0\.0\.1:9.*(refused|ECONNREFUSED)/s,
    ],
    [
      'is redirected nowhere it may go',
      http('a', 'http://169.254.169.254/latest/meta-data'),
      /169\.254\.169\.254/,
    ],
    [
      'writes a kind that is not installed',
      manifest('apiVersion: nowhere.io/v1\nkind: Widget\nmetadata: {name: w}'),
      /Widget.*nowhere\.io\/v1/s,
      'KindNotFound',
    ],
    [
      'creates what is there and not ours',
      manifest('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs}'),
      /theirs/,
      'AlreadyExists',
    ],
    [
      'runs a Job that fails',
      {
        name: 'job',
        type: 'Job',
        job: {
          namespace: '{{ .params.ns }}',
          template: {
            spec: {
              backoffLimit: 0,
              template: {
                metadata: { annotations: { 'sim.drover.dev/exit-code': '3' } },
                spec: {
                  restartPolicy: 'Never',
                  containers: [{ name: 'main', image: 'busybox', command: ['false'] }],
                },
              },
            },
          },
        },
      },
      /BackoffLimitExceeded|exit code 3|exited with 3|backoff/i,
    ],
    [
      'changes what its account may not',
      manifest('apiVersion: v1\nkind: Secret\nmetadata: {name: forbidden}'),
      /forbidden|may not|cannot create/i,
      'Forbidden',
    ],
  ];
  it.each(fails)('whose action %s fails with a message', async (title, action, message, reason) => {
    await stack
      .create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'theirs', namespace: stack.namespace },
      })
      .catch(() => undefined);
    const name = nameOf(title);
    const restricted = reason === 'Forbidden';
    if (restricted) {
      await stack.create({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'nobody', namespace: stack.namespace },
      });
    }
    await stack.simplePlan(name, [action], {
      workflow: { parameters: [{ name: 'ns', default: stack.namespace }] },
      plan: restricted ? { serviceAccountName: 'nobody' } : {},
    });
    const ended = await stack.ended(await stack.execute(name));
    expect(ended.status?.phase).toBe('Failed');
    const failed = actionAt(ended, 0, 0, 0);
    expect(failed?.phase).toBe('Failed');
    expect(failed?.message).toMatch(message);
    if (reason !== undefined) expect(failed?.reason).toBe(reason);
    expect(failed?.completionTime).toBeDefined();
    expect((await stack.getPlan(name)).status?.currentExecution).toBeUndefined();
  });
});
