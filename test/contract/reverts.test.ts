/** Reverts on the real servers: what is undone, in which order, and what is left (docs/semantics.md#revert). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import { KubeError } from '../../kube/error.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { actionAt, condition, http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { expectWhole } from './whole.js';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('undo'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

interface ConfigMap {
  metadata: { name: string; uid?: string };
  data?: Record<string, string>;
}
const key = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name });
const dataOf = async (name: string) => (await stack.kube.get<ConfigMap>(key(name)))?.data;
const make = (name: string, data: Record<string, string>) =>
  stack.create<ConfigMap>({ ...key(name), metadata: { name, namespace: stack.namespace }, data });
const manifest = (name: string, data: Record<string, string> = {}) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: ${JSON.stringify(data)}\n`;
const write = (
  name: string,
  operation: 'Create' | 'Apply' | 'Patch' | 'Delete',
  of: string,
  data?: Record<string, string>,
  more: Partial<Action> = {},
): Action => ({
  name,
  type: 'KubernetesResource',
  resource: { operation, manifest: manifest(of, data) },
  ...more,
});
const undoneBy = (path: string): Action['rollback'] => ({
  type: 'HTTP',
  http: { url: `${recorder.url}/${path}`, method: 'POST' },
});
const undos = (plan: string): string[] =>
  recorder.requests.filter(({ path }) => path.startsWith(`/${plan}/undo`)).map(({ path }) => path);
const ran = async (plan: string): Promise<DRPlanExecution> => stack.ended(await stack.execute(plan));
const reverted = async (execution: DRPlanExecution, spec = {}): Promise<DRPlanExecution> => {
  const ended = await stack.ended(await stack.revert(execution, spec));
  await expectWhole(stack, ended);
  return ended;
};

describe('a revert', () => {
  it('undoes by rollbacks of any type and by inverses, the last first, and lists what it cannot undo [S5.46] [S5.47] [S5.49]', async () => {
    await make('mixed-old', { a: '1', keep: 'x' });
    const gone = await make('mixed-gone', { b: '1' });
    await stack.workflow('mixed-1', {
      actions: [
        write('create', 'Create', 'mixed-new', { a: '1' }),
        write('apply', 'Apply', 'mixed-old', { a: '2' }),
        write('delete', 'Delete', 'mixed-gone'),
      ],
    });
    await stack.workflow('mixed-2', {
      actions: [
        write('by-http', 'Create', 'mixed-kept', { c: '1' }, { rollback: undoneBy('mixed/undo-1') }),
        http('by-object', `${recorder.url}/mixed/do`, {
          rollback: {
            type: 'KubernetesResource',
            resource: {
              operation: 'Create',
              manifest: manifest('mixed-made-by-undo', {
                code: '{{ .outputs.by-object.httpResponse.statusCode }}',
              }),
            },
          },
        }),
        http('never', `${recorder.url}/mixed/none`),
        http('inherits', `${recorder.url}/mixed/do`, {
          rollback: { http: { url: `${recorder.url}/mixed/undo-2`, method: 'POST' } },
        }),
        http('skipped', `${recorder.url}/mixed/no`, { when: 'false', rollback: undoneBy('mixed/undo-no') }),
      ],
    });
    await stack.plan('mixed', {
      stages: [1, 2].map((n) => ({ name: `s${n}`, workflows: [{ workflowRef: { name: `mixed-${n}` } }] })),
    });
    const execution = await ran('mixed');
    expect(execution.status?.phase).toBe('Succeeded');
    expect(await stack.kube.get(key('mixed-gone'))).toBeUndefined();

    const revert = await reverted(execution);
    expect(revert.status).toMatchObject({ phase: 'Succeeded', unreverted: ['1/0/2'] });
    expect(condition(revert, 'FullyReverted')).toMatchObject({ status: 'False' });
    expect(actionAt(revert, 1, 0, 2)).toMatchObject({ phase: 'Skipped', reason: 'NoRollback' });
    expect(undos('mixed')).toEqual(['/mixed/undo-2', '/mixed/undo-1']);
    expect(await dataOf('mixed-new')).toBeUndefined();
    expect(await dataOf('mixed-old')).toEqual({ a: '1', keep: 'x' });
    expect(await dataOf('mixed-gone')).toEqual({ b: '1' });
    expect((await stack.kube.get<ConfigMap>(key('mixed-gone')))?.metadata.uid).not.toBe(gone.metadata.uid);
    // Its own rollback is what undoes it, and nothing else.
    expect(await dataOf('mixed-kept')).toEqual({ c: '1' });
    expect(await dataOf('mixed-made-by-undo')).toEqual({ code: '200' });
    const [first, second] = revert.status?.stageStatuses ?? [];
    expect(Date.parse(second?.completionTime ?? '')).toBeLessThanOrEqual(Date.parse(first?.startTime ?? ''));
  });

  it('stops at the first undo that fails, and the next one goes on there [S5.48]', async () => {
    await stack.simplePlan('stops', [
      http('a', `${recorder.url}/stops/do`, { rollback: undoneBy('stops/undo-a') }),
      http('b', `${recorder.url}/stops/do`, {
        rollback: {
          type: 'HTTP',
          http: { url: `${recorder.url}/stops/undo-b?fail=1`, method: 'POST' },
          retryPolicy: { limit: 0 },
        },
      }),
      http('c', `${recorder.url}/stops/do`, { rollback: undoneBy('stops/undo-c') }),
    ]);
    const execution = await ran('stops');
    const half = await reverted(execution);
    expect(half.status).toMatchObject({ phase: 'Failed', reason: 'UndoFailed' });
    expect([...(half.status?.unreverted ?? [])].sort()).toEqual(['0/0/0', '0/0/1']);
    expect(undos('stops')).toEqual(['/stops/undo-c', '/stops/undo-b']);
    // A failed revert leaves the plan as it was.
    expect((await stack.getPlan('stops')).status?.phase).toBe('Executed');
    const whole = await reverted(execution);
    expect(whole.status?.phase).toBe('Succeeded');
    expect(condition(whole, 'FullyReverted')).toMatchObject({ status: 'True' });
    expect(undos('stops').slice(2)).toEqual(['/stops/undo-b', '/stops/undo-a']);
    expect((await stack.get(execution)).status?.revertedBy?.uid).toBe(whole.metadata.uid);
    expect((await stack.getPlan('stops')).status?.phase).toBe('Ready');
  });

  it('undoes what may have happened, leaves out what did not, and takes a Canceled run for a Cancelled one [S1.3] [S5.45] [S5.46]', async () => {
    await stack.simplePlan(
      'maybe',
      [
        http('done', `${recorder.url}/maybe/do`, { rollback: undoneBy('maybe/undo-done') }),
        http('refused', `${recorder.url}/maybe/refused?status=400`, {
          rollback: undoneBy('maybe/undo-refused'),
        }),
        http('unclear', `${recorder.url}/maybe/unclear?status=504`, {
          rollback: undoneBy('maybe/undo-unclear'),
          retryPolicy: { limit: 0 },
        }),
        http('slow', `${recorder.url}/maybe/slow?delay=20000`, { rollback: undoneBy('maybe/undo-slow') }),
      ],
      { workflow: { failurePolicy: 'Continue' } },
    );
    const execution = await stack.execute('maybe');
    await stack.until(execution, (now) => actionAt(now, 0, 0, 3)?.phase === 'Running');
    await stack.temporal.workflow
      .getHandle((await stack.get(execution)).status?.temporal?.workflowId ?? '')
      .signal('cancel', 'wrong site');
    const cancelled = await stack.ended(execution);
    await expectWhole(stack, cancelled);
    expect(cancelled.status).toMatchObject({ phase: 'Cancelled' });
    await stack.kube.patch(
      {
        apiVersion: API_VERSION,
        kind: 'DRPlanExecution',
        namespace: stack.namespace,
        name: execution.metadata.name,
      },
      { status: { phase: 'Canceled' } },
      { kind: 'merge', subresource: 'status' },
    );
    const revert = await reverted(execution);
    expect(revert.status?.phase).toBe('Succeeded');
    expect(undos('maybe')).toEqual(['/maybe/undo-slow', '/maybe/undo-unclear', '/maybe/undo-done']);
  });

  it('needs no history: the run may be gone from Temporal [S5.18]', async () => {
    await make('kept-old', { a: '1' });
    await stack.simplePlan('kept', [
      write('apply', 'Apply', 'kept-old', { a: '2' }),
      http('call', `${recorder.url}/kept/do`, {
        rollback: undoneBy('kept/undo-{{ .outputs.call.httpResponse.body }}'),
      }),
    ]);
    const execution = await ran('kept');
    const id = execution.status?.temporal?.workflowId ?? '';
    const both = [id, `${id}/s0`];
    for (const workflowId of both) {
      await stack.temporal.workflowService.deleteWorkflowExecution({
        namespace: servers.temporalNamespace,
        workflowExecution: { workflowId },
      });
    }
    const isThere = (workflowId: string) =>
      stack.temporal.workflow
        .getHandle(workflowId)
        .describe()
        .then(
          () => true,
          () => false,
        );
    await poll(
      () => Promise.all(both.map(isThere)),
      (there) => !there.includes(true),
      90_000,
    );
    await stack.kube.patch(
      { apiVersion: API_VERSION, kind: 'DRWorkflow', namespace: stack.namespace, name: 'kept' },
      { spec: { actions: [http('other', `${recorder.url}/kept/other`)] } },
      { kind: 'merge' },
    );
    const revert = await reverted(execution);
    expect(revert.status).toMatchObject({ phase: 'Succeeded' });
    expect(await dataOf('kept-old')).toEqual({ a: '1' });
    expect(undos('kept')).toEqual(['/kept/undo-ok']);
  });

  it('of an older run waits for the newer one, and needs force [S5.45]', async () => {
    await stack.simplePlan('older', [
      http('a', `${recorder.url}/older/do`, { rollback: undoneBy('older/undo') }),
    ]);
    const first = await ran('older');
    const second = await stack.ended(await stack.execute('older', { rerun: 'Allowed' }));
    await expect(stack.revert(first)).rejects.toThrow(new RegExp(second.metadata.name));
    expect((await reverted(first, { force: true })).status?.phase).toBe('Succeeded');
    expect((await stack.getPlan('older')).status?.phase).toBe('Executed');
    expect((await reverted(second)).status?.phase).toBe('Succeeded');
  });

  it('does not undo over what another plan has written since [S3.16] [S4.14]', async () => {
    await make('contested', { site: 'home' });
    for (const site of ['one', 'two']) {
      await stack.simplePlan(`site-${site}`, [write('apply', 'Apply', 'contested', { site })]);
    }
    const one = await ran('site-one');
    const two = await ran('site-two');
    expect(two.status?.phase).toBe('Succeeded');
    const blocked = await reverted(one);
    expect(blocked.status?.phase).toBe('Failed');
    expect(actionAt(blocked, 0, 0, 0)).toMatchObject({ phase: 'Failed', reason: 'Conflict' });
    expect(await dataOf('contested')).toEqual({ site: 'two' });
    expect((await reverted(two)).status?.phase).toBe('Succeeded');
    expect(await dataOf('contested')).toEqual({ site: 'one' });
    expect((await reverted(one)).status?.phase).toBe('Succeeded');
    expect(await dataOf('contested')).toEqual({ site: 'home' });
  });
});

describe('a rollback inside a failed run', () => {
  it('goes on when a cancel comes, and stops when it is forced [S5.33]', async () => {
    const slow = (plan: string, name: string): Partial<Action> => ({
      rollback: {
        type: 'HTTP',
        http: { url: `${recorder.url}/${plan}/undo-${name}?delay=3000`, method: 'POST' },
      },
    });
    const start = async (plan: string) => {
      await stack.simplePlan(
        plan,
        [
          http('a', `${recorder.url}/${plan}/do`, slow(plan, 'a')),
          http('b', `${recorder.url}/${plan}/do`, slow(plan, 'b')),
          http('bad', `${recorder.url}/${plan}/bad?status=400`),
        ],
        { plan: { onFailure: 'Rollback' } },
      );
      const execution = await stack.execute(plan);
      await poll(
        () => Promise.resolve(undos(plan).length),
        (count) => count === 1,
      );
      return { execution, id: (await stack.get(execution)).status?.temporal?.workflowId ?? '' };
    };
    const [patient, forced] = await Promise.all([start('patient'), start('forced')]);
    await stack.temporal.workflow.getHandle(patient.id).signal('cancel');
    await stack.temporal.workflow.getHandle(forced.id).signal('cancel', { force: true, reason: 'enough' });
    const [done, cut] = await Promise.all([stack.ended(patient.execution), stack.ended(forced.execution)]);
    expect(undos('patient')).toEqual(['/patient/undo-b', '/patient/undo-a']);
    expect(condition(done, 'RolledBack')).toMatchObject({ status: 'True' });
    expect(undos('forced')).toEqual(['/forced/undo-b']);
    expect(condition(cut, 'RolledBack')).toMatchObject({ status: 'False' });
    await expectWhole(stack, done);
    await expectWhole(stack, cut);
  });
});

describe('an action whose object is refused', () => {
  const policy = 'drover-test-denies';
  afterAll(async () => {
    for (const kind of [
      'ValidatingAdmissionPolicyBinding',
      'ValidatingAdmissionPolicy',
      'ValidatingWebhookConfiguration',
    ]) {
      await stack.kube
        .delete({ apiVersion: 'admissionregistration.k8s.io/v1', kind, name: `${policy}-${stack.namespace}` })
        .catch(() => undefined);
    }
  });

  it('by a policy fails at once and says what the policy said; by a webhook that is away it is tried again [S3.6]', async () => {
    const name = `${policy}-${stack.namespace}`;
    const selector = { matchLabels: { 'kubernetes.io/metadata.name': stack.namespace } };
    const rule = {
      apiGroups: [''],
      apiVersions: ['v1'],
      operations: ['CREATE'],
      resources: ['configmaps', 'services'],
    };
    await stack.create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          namespaceSelector: selector,
          resourceRules: [{ ...rule, resources: ['configmaps'] }],
        },
        validations: [
          { expression: 'object.metadata.name != "denied"', message: 'house rule 12: not this name' },
        ],
      },
    });
    await stack.create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
    await stack.create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name },
      webhooks: [
        {
          name: 'away.example.com',
          failurePolicy: 'Fail',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 1,
          clientConfig: { url: 'https://127.0.0.1:9/' },
          namespaceSelector: selector,
          rules: [{ ...rule, resources: ['services'] }],
        },
      ],
    });
    const attempt = (kind: string, of: string) =>
      stack
        .create({
          apiVersion: 'v1',
          kind,
          metadata: { name: of, namespace: stack.namespace },
          ...(kind === 'Service' && { spec: { ports: [{ port: 1 }] } }),
        })
        .then(
          async () => {
            await stack.kube.delete({ apiVersion: 'v1', kind, namespace: stack.namespace, name: of });
            return false;
          },
          (error: unknown) => error instanceof KubeError,
        );
    // The API server takes a moment to learn both.
    for (const [kind, of] of [
      ['ConfigMap', 'denied'],
      ['Service', 'away'],
    ] as const) {
      await poll(
        () => attempt(kind, of),
        (refused) => refused,
      );
    }
    const retryPolicy = { limit: 1, interval: '100ms' };
    const service = 'apiVersion: v1\nkind: Service\nmetadata: {name: away}\nspec: {ports: [{port: 1}]}\n';
    await stack.simplePlan(
      'denied',
      [
        write('denied', 'Create', 'denied', {}, { retryPolicy }),
        { name: 'away', type: 'KubernetesResource', resource: { manifest: service }, retryPolicy },
      ],
      { workflow: { failurePolicy: 'Continue' } },
    );
    const ended = await ran('denied');
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Failed', effect: 'None' });
    expect(actionAt(ended, 0, 0, 0)?.retryCount).toBeUndefined();
    expect(actionAt(ended, 0, 0, 0)?.message).toContain('house rule 12');
    expect(actionAt(ended, 0, 0, 1)).toMatchObject({ phase: 'Failed', retryCount: 1 });
    expect(actionAt(ended, 0, 0, 1)?.message).toMatch(/away\.example\.com/);
  });
});
