/** A failover never starts by accident, late or twice (docs/semantics.md#start), on the real servers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { taskQueues } from '../../workflows/core/contract.js';
import { WORKFLOW_TYPES } from '../../workflows/plan/contract.js';
import { heal, kill, mend } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { startSecondTemporal } from '../support/second-temporal.js';
import { servers } from '../support/servers.js';
import { condition, http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startReplica } from './replica.js';
import type { Replica } from './replica.js';

let stack: Stack;
/** Where nobody is needed to let an execution in. */
let unreviewed: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, unreviewed, recorder] = await Promise.all([
    openStack('accident'),
    openStack('unreviewed', { admission: 'disabled' }),
    startRecorder(),
  ]);
});
afterAll(async () => {
  await recorder.close();
  await Promise.all([stack.close(), unreviewed.close()]);
});

const ARGO = 'argocd.argoproj.io/tracking-id';

const keyOf = ({ metadata }: DRPlanExecution) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});
const gone = (execution: DRPlanExecution) =>
  poll(
    () => stack.kube.get<DRPlanExecution>(keyOf(execution)),
    (found) => found?.metadata.uid !== execution.metadata.uid,
  );
const prune = async (execution: DRPlanExecution): Promise<void> => {
  await stack.kube.delete(keyOf(execution));
  await gone(execution);
};
/** What a backup holds of an object, and what comes of posting it again: a new uid, no status. */
const put = (object: DRPlanExecution): Promise<DRPlanExecution> => {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return stack.kube.create<DRPlanExecution>({ ...object, metadata } as KubeObject);
};
const create = (
  on: Stack,
  plan: string,
  metadata: Partial<DRPlanExecution['metadata']>,
  spec: Partial<DRPlanExecution['spec']> = {},
): Promise<DRPlanExecution> =>
  on.create({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: { name: unique(plan), namespace: on.namespace, ...metadata },
    spec: { planRef: plan, operationType: 'Execute', ...spec },
  });
const call = (name: string, query = '') => http('call', `${recorder.url}/${name}${query}`);
const running = (on: Stack, execution: DRPlanExecution) =>
  on.until(execution, (now) => now.status?.stageStatuses?.[0]?.phase === 'Running');
const calledOnce = (name: string) =>
  poll(
    () => Promise.resolve(recorder.of(`/${name}`).length),
    (calls) => calls === 1,
  );

/** Waits until an execution's deadline for its start is past; times of the API server are whole seconds. */
const over = (createdAt: string | undefined, seconds: number): Promise<void> =>
  sleep(Math.max(0, Date.parse(createdAt ?? '') + (seconds + 1) * 1000 - Date.now()));

describe('an execution that was there before', () => {
  it('never runs again from a backup, by its stamp or by what a restore tool has left on it [S5.11]', async () => {
    const plan = unique('restored');
    await stack.simplePlan(plan, [call(plan)]);
    const first = await stack.ended(await stack.execute(plan, { rerun: 'Allowed' }));
    expect(first.status?.phase).toBe('Succeeded');
    await prune(first);
    const copies = [
      await put(first),
      await create(stack, plan, { labels: { 'velero.io/restore-name': 'nightly' } }, { rerun: 'Allowed' }),
      await create(stack, plan, { labels: { 'k10.kasten.io/appName': 'shop' } }, { rerun: 'Allowed' }),
    ];
    for (const copy of copies) {
      const ended = await stack.ended(copy);
      expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'RestoredCopy' });
      expect(ended.status?.message).toContain('to run the plan on purpose, create a new execution');
      expect(ended.status?.completionTime).toBeDefined();
    }
    expect(recorder.of(`/${plan}`)).toHaveLength(1);
    const { status } = await stack.getPlan(plan);
    expect(status?.currentExecution).toBeUndefined();
    expect(status?.executionHistory?.map(({ uid }) => uid)).toEqual([first.metadata.uid]);
    // A copy is a record like any other, and can be thrown away.
    await prune(await stack.get(copies[0]!));
  });

  it('is not run again when a GitOps tool prunes and re-creates it, and is by hand or under a new name [S5.12]', async () => {
    const plan = unique('gitops');
    await stack.simplePlan(plan, [call(plan)]);
    const tracked = { name: plan, annotations: { [ARGO]: `shop:dr/DRPlanExecution:${plan}` } };
    const spec = { rerun: 'Allowed', requestedAt: new Date().toISOString() } as const;
    const first = await stack.ended(await create(stack, plan, tracked, spec));
    expect(first.status?.phase).toBe('Succeeded');
    await prune(first);
    const again = await stack.ended(await create(stack, plan, tracked, spec));
    expect(again.status).toMatchObject({ phase: 'Failed', reason: 'NameReused' });
    expect(again.status?.message).toContain(first.metadata.uid);
    expect(again.status?.message).toContain('to run the plan on purpose, use a new name');
    expect(recorder.of(`/${plan}`)).toHaveLength(1);
    await prune(again);
    const byHand = await stack.ended(await create(stack, plan, { name: plan }, spec));
    expect(byHand.status?.phase).toBe('Succeeded');
    const renamed = { ...tracked, name: `${plan}-2` };
    expect((await stack.ended(await create(stack, plan, renamed, spec))).status?.phase).toBe('Succeeded');
    expect(recorder.of(`/${plan}`)).toHaveLength(3);
  });

  it('under kubectl replace --force: what was read is a copy; what was written runs only where the plan allows [S5.11]', async () => {
    const plan = unique('replaced');
    await stack.simplePlan(plan, [call(plan, '?delay=20000')]);
    const execution = await running(stack, await stack.execute(plan, {}, plan));
    await calledOnce(plan);
    // Delete, wait until it is gone, post what was read before.
    await prune(execution);
    expect(recorder.of(`/${plan}`)[0]?.aborted).toBe(true);
    const copy = await stack.ended(await put(execution));
    expect(copy.status).toMatchObject({ phase: 'Failed', reason: 'RestoredCopy' });
    expect((await stack.getPlan(plan)).status).toMatchObject({
      phase: 'Ready',
      executionHistory: [{ uid: execution.metadata.uid, phase: 'Cancelled' }],
    });

    const quick = unique('written');
    await stack.simplePlan(quick, [call(quick)]);
    const done = await stack.ended(await stack.execute(quick, {}, quick));
    expect(done.status?.phase).toBe('Succeeded');
    await prune(done);
    await expect(stack.execute(quick, {}, quick)).rejects.toThrow(
      /was executed by .*set spec.rerun: Allowed/,
    );
    expect(recorder.of(`/${quick}`)).toHaveLength(1);
    expect(recorder.of(`/${plan}`)).toHaveLength(1);
  });
});

describe('a namespace that is deleted', () => {
  it('takes its live run with it: cancelled, settled, nothing left in Temporal [S5.38]', async () => {
    const going = await openStack('going');
    const plan = unique('going');
    await going.simplePlan(plan, [call(plan, '?delay=30000')]);
    const execution = await running(going, await going.execute(plan));
    await calledOnce(plan);
    await going.close();
    await poll(
      () => stack.kube.get({ apiVersion: 'v1', kind: 'Namespace', name: going.namespace }),
      (namespace) => namespace === undefined,
    );
    expect(recorder.of(`/${plan}`)[0]?.aborted).toBe(true);
    const workflowId = execution.status?.temporal?.workflowId ?? '';
    for (const id of [workflowId, `${workflowId}/s0`]) {
      const { status } = await stack.temporal.workflow.getHandle(id).describe();
      expect(status.name, id).toBe('COMPLETED');
    }
  });
});

describe('while the worker is away', () => {
  afterEach(mend);

  it('a run that nobody takes before its deadline does nothing when somebody does [S5.9]', async () => {
    const plan = unique('untaken');
    await stack.simplePlan(plan, [call(plan)]);
    await kill('worker');
    const seconds = 4;
    const execution = await stack.execute(plan, { startDeadlineSeconds: seconds });
    const { metadata } = await stack.until(execution, (now) => now.status?.temporal !== undefined);
    await over(metadata.creationTimestamp, seconds);
    await heal();
    const ended = await stack.ended(execution);
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'StartDeadlineExceeded' });
    expect(ended.status?.message).toContain('create a new execution');
    expect(recorder.of(`/${plan}`)).toHaveLength(0);
    expect((await stack.getPlan(plan)).status?.currentExecution).toBeUndefined();
  });
});

describe('while the bridge is away', () => {
  let replica: Replica | undefined;
  const left: DRPlanExecution[] = [];
  afterEach(async () => {
    await replica?.stop();
    replica = undefined;
    await mend();
  });

  /** A run that goes on for a while, its bridge about to be killed. */
  async function live(prefix: string, on = unreviewed): Promise<DRPlanExecution> {
    const plan = unique(prefix);
    await on.simplePlan(plan, [call(plan, '?delay=40000')]);
    const execution = await running(on, await on.execute(plan));
    await calledOnce(plan);
    left.push(execution);
    return execution;
  }
  const workflowIdOf = ({ status }: DRPlanExecution): string => status?.temporal?.workflowId ?? '';
  const called = ({ spec }: DRPlanExecution) => recorder.of(`/${spec.planRef}`);

  it('what came too late, was lost, or lost its object is told when it is back, and nothing starts [S5.9] [S5.15] [S5.44]', async () => {
    const late = unique('late');
    await unreviewed.simplePlan(late, [call(late)]);
    const other = await openStack('terminating', { admission: 'disabled' });
    const [lost, orphan, replaced, inNamespace] = [
      await live('lost'),
      await live('orphan'),
      await live('replaced'),
      await live('terminating', other),
    ];
    await kill('bridge');

    const tooLate = await unreviewed.execute(late, { startDeadlineSeconds: 1 });
    const cluster = workflowIdOf(lost).split('/')[1] ?? '';
    const foreign = await stack.temporal.workflow.start(WORKFLOW_TYPES.execution, {
      workflowId: workflowIdOf(orphan).replace(cluster, 'ffffffff'),
      taskQueue: taskQueues('ffffffff').worker,
      args: [],
      memo: { namespace: unreviewed.namespace, name: 'nobody', uid: 'nobody' },
    });
    // Temporal loses a run and all it knew of it; stages go with it.
    for (const workflowId of [workflowIdOf(lost), `${workflowIdOf(lost)}/s0`]) {
      await stack.temporal.workflowService.deleteWorkflowExecution({
        namespace: servers.temporalNamespace,
        workflowExecution: { workflowId },
      });
    }
    await poll(
      () =>
        stack.temporal.workflow
          .getHandle(workflowIdOf(lost))
          .describe()
          .then(
            () => true,
            () => false,
          ),
      (known) => !known,
    );
    // Two objects vanish although a finalizer holds them; one comes back as a copy.
    for (const execution of [orphan, replaced]) {
      await stack.kube.patch(keyOf(execution), { metadata: { finalizers: null } }, { kind: 'merge' });
      await prune(execution);
    }
    const copy = await put(replaced);
    await other.close();
    await over(tooLate.metadata.creationTimestamp, 1);
    replica = await startReplica();

    const ended = await unreviewed.ended(tooLate);
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'StartDeadlineExceeded' });
    expect(ended.status?.message).toMatch(/had to start within 1s .* to run the plan now, create a new/);
    expect(recorder.of(`/${late}`)).toHaveLength(0);

    const concluded = await unreviewed.ended(lost);
    expect(concluded.status).toMatchObject({ phase: 'Failed', reason: 'RunLost' });
    expect(concluded.status?.message).toContain('then revert this execution or create a new one');
    expect((await unreviewed.getPlan(lost.spec.planRef)).status).toMatchObject({
      executionHistory: [{ uid: lost.metadata.uid, phase: 'Failed' }],
    });
    expect((await unreviewed.getPlan(lost.spec.planRef)).status?.currentExecution).toBeUndefined();

    expect((await unreviewed.ended(copy)).status).toMatchObject({ phase: 'Failed', reason: 'RestoredCopy' });
    for (const execution of [orphan, replaced]) {
      const { status } = await poll(
        () => stack.temporal.workflow.getHandle(workflowIdOf(execution)).describe(),
        (run) => run.status.name !== 'RUNNING',
      );
      // Cancelled, not terminated: it has settled what it had begun.
      expect(status.name).toBe('COMPLETED');
      expect(called(execution)).toMatchObject([{ aborted: true }]);
      const plan = await poll(
        () => unreviewed.getPlan(execution.spec.planRef),
        (found) => found.status?.currentExecution === undefined,
      );
      expect(plan.status?.executionHistory).toMatchObject([{ phase: 'Cancelled' }]);
    }
    expect((await foreign.describe()).status.name).toBe('RUNNING');
    await foreign.terminate('test');

    await poll(
      () => stack.kube.get({ apiVersion: 'v1', kind: 'Namespace', name: other.namespace }),
      (namespace) => namespace === undefined,
    );
    expect(called(inNamespace)).toMatchObject([{ aborted: true }]);
    await replica.stop();
    replica = undefined;
    await heal();
  });

  it('a bridge that comes back to another Temporal changes nothing, and goes on when it finds the right one [S5.15]', async () => {
    const plan = unique('elsewhere');
    await unreviewed.simplePlan(plan, [call(plan, '?delay=9000')]);
    const execution = await running(unreviewed, await unreviewed.execute(plan));
    await calledOnce(plan);
    await kill('bridge');
    const other = await startSecondTemporal();
    replica = await startReplica({ temporal: other.address });
    try {
      const moved = await unreviewed.until(
        execution,
        (now) => condition(now, 'Progressing')?.reason === 'TemporalMismatch',
      );
      expect(moved.status?.phase).toBe('Running');
      expect(condition(moved, 'Progressing')?.message).toContain('connect it to the recorded one');
      const second = await unreviewed.ended(await unreviewed.execute(plan));
      expect(second.status).toMatchObject({ phase: 'Failed', reason: 'PlanBusy' });
      expect((await unreviewed.getPlan(plan)).status?.currentExecution?.uid).toBe(execution.metadata.uid);
      expect(called(execution)).toMatchObject([{ aborted: false }]);
    } finally {
      await replica.stop();
      replica = undefined;
      await other.stop();
      await heal();
    }
    expect((await unreviewed.ended(execution)).status?.phase).toBe('Succeeded');
    expect(called(execution)).toHaveLength(1);
  });
});
