/**
 * Jobs whose pods take long to go, never go, or never run: what counts as ended, what is waited for, and what is said.
 * The bridge waits here for 2 s past the end of the pods' grace.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, LABELS } from '../../api/core/group.js';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import { hookId } from '../../activities/core/clean-up.js';
import type { Pod } from '../../activities/actions/job/job-state.js';
import { podAnnotations } from '../../local/fake-node/stages.js';
import { createAccount } from '../support/accounts.js';
import { heal, kill, mend } from '../support/parts.js';
import { actionAt, condition, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

const HANG = { [podAnnotations.hang]: '1' };
const NEVER_STOPS = { ...HANG, [podAnnotations.neverStops]: '1' };

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('pods');
  await kill('bridge');
  await heal({ DROVER_STOP_WAIT: '2s' });
});
afterAll(async () => {
  for (const { metadata } of await podsWhere('')) await remove(metadata.name);
  await stack.close();
  await mend();
});

const job = (
  annotations: Record<string, string>,
  more: { spec?: Record<string, unknown>; timeout?: string } = {},
): Action => ({
  name: 'act',
  type: 'Job',
  ...(more.timeout !== undefined && { timeout: more.timeout }),
  job: {
    namespace: stack.namespace,
    template: {
      spec: {
        backoffLimit: 0,
        template: {
          metadata: { annotations },
          spec: {
            restartPolicy: 'Never',
            containers: [{ name: 'main', image: 'example/none' }],
            ...more.spec,
          },
        },
      },
    },
  },
});

async function podsWhere(labelSelector: string): Promise<Pod[]> {
  const { items } = await stack.kube.list<Pod>(
    { apiVersion: 'v1', kind: 'Pod' },
    { namespace: stack.namespace, labelSelector },
  );
  return items;
}
const podsOf = ({ metadata }: DRPlanExecution): Promise<Pod[]> =>
  podsWhere(`${LABELS.execution}=${metadata.uid}`);
const remove = (name: string) =>
  stack.kube.delete(
    { apiVersion: 'v1', kind: 'Pod', namespace: stack.namespace, name },
    { gracePeriodSeconds: 0 },
  );
const cancel = (execution: DRPlanExecution) =>
  stack.kube.patch(
    {
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      namespace: stack.namespace,
      name: execution.metadata.name,
    },
    { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
    { kind: 'merge' },
  );
const onlyPod = async (execution: DRPlanExecution): Promise<Pod> => {
  const [pod] = await poll(
    () => podsOf(execution),
    (pods) => pods[0]?.status?.phase === 'Running',
  );
  if (pod === undefined) throw new Error('no pod');
  return pod;
};
const says = (text: RegExp) => (execution: DRPlanExecution) =>
  text.test(actionAt(execution, 0, 0, 0)?.message ?? '');
/** A run that was cancelled when its pod ran. */
async function cancelled(plan: string, action: Action, account?: string): Promise<DRPlanExecution> {
  await stack.simplePlan(plan, [action], {
    ...(account !== undefined && { plan: { serviceAccountName: account } }),
  });
  const execution = await stack.execute(plan);
  await onlyPod(execution);
  await cancel(execution);
  return execution;
}

describe.concurrent('a Job that is stopped', () => {
  it('keeps its run and the plan until its pods are gone [F9] [S3.26]', async () => {
    const plan = unique('slow');
    const execution = await cancelled(plan, job({ ...HANG, [podAnnotations.stop]: '4s' }));
    const waiting = await stack.until(execution, says(/waits until its pods are gone: pod \S+ on node \S+/));
    expect(waiting.status).toMatchObject({ phase: 'Running', stageStatuses: [{ phase: 'Running' }] });
    await expect(stack.execute(plan)).rejects.toThrow(/is in use: execution .* is Running/);
    expect(await podsOf(execution)).toHaveLength(1);

    const ended = await stack.ended(execution);
    expect(await podsOf(execution)).toEqual([]);
    expect(ended.status?.phase).toBe('Cancelled');
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({
      reason: 'Cancelled',
      effect: 'Unknown',
      message: expect.stringContaining('its pods are gone'),
    });
    expect(condition(ended, 'StopUnconfirmed')).toBeUndefined();
  });

  it('by its timeout too, before the next stage begins [F9] [S3.26]', { tags: ['nightly'] }, async () => {
    const plan = unique('late');
    await stack.workflow(plan, {
      actions: [job({ ...HANG, [podAnnotations.stop]: '3s' }, { timeout: '1s' })],
    });
    await stack.workflow(`${plan}-next`, {
      actions: [{ name: 'next', type: 'Wait', wait: { duration: '1s' } }],
    });
    await stack.plan(plan, {
      stages: [
        { name: 'first', failurePolicy: 'Continue', workflows: [{ workflowRef: { name: plan } }] },
        { name: 'second', workflows: [{ workflowRef: { name: `${plan}-next` } }] },
      ],
    });
    const execution = await stack.execute(plan);
    await stack.until(execution, says(/waits until its pods are gone/));
    const begun = await stack.until(execution, (now) => actionAt(now, 1, 0, 0)?.phase === 'Running');
    expect(await podsOf(execution)).toEqual([]);
    expect(actionAt(begun, 0, 0, 0)).toMatchObject({
      phase: 'Failed',
      reason: 'Timeout',
      message: expect.stringMatching(/did not end within 1s.*; .*its pods are gone/),
    });
    await stack.ended(execution);
  });

  it(
    'and whose node is dead ends within its bound, names pod and node, and can be reverted [F9] [S3.27]',
    { tags: ['nightly'] },
    async () => {
      const plan = unique('dead');
      const execution = await cancelled(
        plan,
        job(NEVER_STOPS, { spec: { terminationGracePeriodSeconds: 1 } }),
      );
      const asked = Date.now();
      const ended = await stack.ended(execution);
      expect(Date.now() - asked).toBeLessThan(20_000);
      const [pod] = await podsOf(execution);
      const place = `pod ${stack.namespace}/${pod?.metadata.name} on node ${pod?.spec?.nodeName}`;
      expect(ended.status?.phase).toBe('Cancelled');
      expect(condition(ended, 'StopUnconfirmed')).toMatchObject({
        status: 'True',
        reason: 'PodsDidNotEnd',
        message: expect.stringContaining(`"${place}"`),
      });
      expect((await stack.getPlan(plan)).status?.currentExecution).toBeUndefined();

      const reverted = await stack.ended(await stack.revert(execution));
      expect(reverted.status?.phase).toBe('Succeeded');
      for (const one of [reverted, await stack.get(execution)]) {
        expect(condition(one, 'FullyReverted')).toMatchObject({
          status: 'True',
          message: expect.stringContaining(`may still run in "${place}"`),
        });
      }
    },
  );

  it('by an account that may not list pods, or not delete it, says that it may still run [F9] [S3.27]', async () => {
    const jobs = (...verbs: string[]) => ({ apiGroups: ['batch'], resources: ['jobs'], verbs });
    const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };
    const { namespace } = stack;
    await createAccount(stack.kube, { namespace, name: 'blind' }, [
      jobs('get', 'list', 'watch', 'create', 'delete'),
    ]);
    await createAccount(stack.kube, { namespace, name: 'timid' }, [
      jobs('get', 'list', 'watch', 'create'),
      pods,
    ]);
    const grace = { spec: { terminationGracePeriodSeconds: 1 } };
    const [blind, timid] = await Promise.all(
      ['blind', 'timid'].map(async (account) =>
        stack.ended(await cancelled(unique(account), job(HANG, grace), account)),
      ),
    );
    for (const run of [blind, timid]) {
      if (run === undefined) throw new Error('no run');
      const { name } = actionAt(run, 0, 0, 0)?.outputs?.jobRef ?? {};
      expect(run.status?.phase).toBe('Cancelled');
      expect(condition(run, 'StopUnconfirmed')?.message).toContain(`"Job ${namespace}/${name}"`);
    }
    expect(actionAt(timid as DRPlanExecution, 0, 0, 0)).toMatchObject({
      effect: 'Unknown',
      message: expect.stringMatching(/may still run, it could not be deleted.*cannot delete.*grant/),
    });
    expect(actionAt(blind as DRPlanExecution, 0, 0, 0)?.message).toMatch(/its pods may not be listed/);
  });
});

describe.concurrent('what has left a Job', () => {
  it(
    'is waited for where a stage was ended from outside, and the run says so [F9] [S5.42]',
    { tags: ['nightly'] },
    async () => {
      const plan = unique('torn');
      await stack.simplePlan(plan, [job({ ...HANG, [podAnnotations.stop]: '12s' })]);
      const execution = await stack.execute(plan);
      await onlyPod(execution);
      const { status } = await stack.get(execution);
      await stack.temporal.workflow.getHandle(`${status?.temporal?.workflowId}/s0`).terminate('test');
      const waiting = await stack.until(execution, ({ status: now }) =>
        /waits until its pods are gone: pod/.test(now?.message ?? ''),
      );
      expect(waiting.status?.phase).toBe('Running');
      const ended = await stack.ended(execution);
      expect(await podsOf(execution)).toEqual([]);
      expect(ended.status?.phase).toBe('Failed');
      expect(actionAt(ended, 0, 0, 0)?.message).toMatch(/its pods are gone/);
    },
  );

  it(
    'makes room for a hook only when its pods are gone, or are not waited for any longer [F9]',
    { tags: ['nightly'] },
    async () => {
      const plan = unique('room');
      const { namespace } = stack;
      const hook = job({ [podAnnotations.duration]: '100ms' });
      const { metadata } = await stack.simplePlan(plan, [
        { ...hook, hookType: 'pre-install', hookCleanup: { beforeCreate: true } },
      ]);
      const run = { plan: { namespace, name: metadata.name } } as Parameters<typeof hookId>[0]['run'];
      const labels = {
        [LABELS.hook]: hookId({ run, at: { stage: 0, workflow: 0, action: 0 }, name: 'act' }),
      };
      await stack.create({
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: `${plan}-old`, namespace, labels },
        spec: {
          template: {
            metadata: { annotations: NEVER_STOPS, labels: { ...labels, old: plan } },
            spec: {
              restartPolicy: 'Never',
              terminationGracePeriodSeconds: 1,
              containers: [{ name: 'main', image: 'example/none' }],
            },
          },
        },
      });
      const [old] = await poll(
        () => podsWhere(`old=${plan}`),
        (pods) => pods[0]?.status?.phase === 'Running',
      );
      const began = Date.now();
      const ended = await stack.ended(await stack.execute(plan, { mode: 'Install' }));
      expect(ended.status?.phase).toBe('Succeeded');
      // Its grace, and the bound past it.
      expect(Date.now() - began).toBeGreaterThan(3_000);
      expect(Date.now() - began).toBeLessThan(20_000);
      expect(condition(ended, 'StopUnconfirmed')?.message).toContain(
        `"pod ${namespace}/${old?.metadata.name} on node`,
      );
    },
  );
});

describe.concurrent('a Job that does not run', () => {
  it('says why while it waits and when it ends [F13] [S3.28]', async () => {
    const start = async (plan: string, action: Action): Promise<DRPlanExecution> => {
      await stack.simplePlan(plan, [action]);
      return stack.execute(plan);
    };
    const timeout = '8s';
    const [unschedulable, suspended, imageless] = await Promise.all([
      start('nowhere', job({}, { spec: { nodeSelector: { no: 'where' } }, timeout })),
      start('suspended', job(HANG, { timeout })),
      start('imageless', job(HANG, { timeout })),
    ]);
    const [pod] = await Promise.all([onlyPod(imageless), onlyPod(suspended)]);
    const [{ metadata }] = (
      await stack.kube.list<Pod>(
        { apiVersion: 'batch/v1', kind: 'Job' },
        {
          namespace: stack.namespace,
          labelSelector: `${LABELS.execution}=${suspended.metadata.uid}`,
        },
      )
    ).items as [Pod];
    await stack.kube.patch(
      { apiVersion: 'batch/v1', kind: 'Job', namespace: stack.namespace, name: metadata.name },
      { spec: { suspend: true } },
      { kind: 'merge' },
    );
    await stack.kube.patch(
      { apiVersion: 'v1', kind: 'Pod', namespace: stack.namespace, name: pod.metadata.name },
      {
        status: {
          phase: 'Pending',
          conditions: [{ type: 'Ready', status: 'False' }],
          containerStatuses: [
            {
              name: 'main',
              image: 'example/none',
              imageID: '',
              ready: false,
              restartCount: 0,
              state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } },
            },
          ],
        },
      },
      { kind: 'merge', subresource: 'status' },
    );
    const words = [
      [unschedulable, /pod \S+ is not scheduled \(Unschedulable: .*node/],
      [suspended, /somebody has suspended it/],
      [imageless, /container main waits: ImagePullBackOff: Back-off pulling image/],
    ] as const;
    await Promise.all(
      words.map(async ([execution, why]) => {
        const waiting = await stack.until(execution, says(why), 20_000);
        expect(waiting.status?.phase).toBe('Running');
        const ended = await stack.ended(execution);
        expect(actionAt(ended, 0, 0, 0)).toMatchObject({
          phase: 'Failed',
          reason: 'Timeout',
          message: expect.stringMatching(why),
        });
      }),
    );
  });
});
