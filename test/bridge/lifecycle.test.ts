import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, LABELS } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import type { RunInput } from '../../workflows/plan/contract.js';
import { condition, http, openStack, poll, unique } from '../support/stack.js';
import type { KubeObject } from '../../kube/object.js';
import type { Stack } from '../support/stack.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { smallestStatus } from '../../crd-bridge/plan/status/size-guard.js';
import { startReplica } from './replica.js';
import type { Replica } from './replica.js';

let stack: Stack;
let recorder: Recorder;
let replica: Replica;

beforeAll(async () => {
  [stack, recorder, replica] = await Promise.all([
    // What the bridge itself makes of objects that admission would refuse.
    openStack('bridge', { admission: 'disabled' }),
    startRecorder(),
    startReplica(),
  ]);
});
afterAll(async () => {
  await replica.stop();
  await recorder.close();
  await stack.close();
});

const keyOf = (execution: DRPlanExecution) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace: stack.namespace,
  name: execution.metadata.name,
});
const annotate = (execution: DRPlanExecution, annotation: string) =>
  stack.kube.patch(
    keyOf(execution),
    { metadata: { annotations: { [annotation]: 'true' } } },
    { kind: 'merge' },
  );
const lookup = (execution: DRPlanExecution) => stack.kube.get<DRPlanExecution>(keyOf(execution));
const running = (execution: DRPlanExecution) =>
  stack.until(execution, (now) => now.status?.stageStatuses?.[0]?.phase === 'Running');

describe('the plan of an execution', () => {
  it('goes to one of several executions created at once; the others name the holder [SEC12] [S5.4]', async () => {
    const plan = unique('race');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}?delay=1500`)]);
    const created = await Promise.all([1, 2, 3, 4].map((n) => stack.execute(plan, {}, `${plan}-${n}`)));
    const ended = await Promise.all(created.map((execution) => stack.ended(execution)));

    const winners = ended.filter((execution) => execution.status?.phase === 'Succeeded');
    expect(winners).toHaveLength(1);
    for (const loser of ended.filter((execution) => execution !== winners[0])) {
      expect(loser.status).toMatchObject({ phase: 'Failed', reason: 'PlanBusy' });
      expect(loser.status?.message).toContain(winners[0]?.metadata.name);
      expect(loser.status?.completionTime).toBeDefined();
    }
    expect(recorder.effects(`/${plan}`)).toBe(1);
    const { status } = await stack.getPlan(plan);
    expect(status?.currentExecution).toBeUndefined();
    expect(status?.executionHistory).toMatchObject([{ uid: winners[0]?.metadata.uid, phase: 'Succeeded' }]);
  });

  it('is Executed once, until it is reverted or a rerun is allowed [S5.26]', async () => {
    const plan = unique('once');
    await stack.simplePlan(plan, [
      http('call', `${recorder.url}/${plan}`, {
        rollback: { http: { url: `${recorder.url}/${plan}/undo`, method: 'POST' } },
      }),
    ]);
    const first = await stack.ended(await stack.execute(plan));
    expect(first.status?.phase).toBe('Succeeded');
    expect(await stack.getPlan(plan)).toMatchObject({
      status: { phase: 'Executed', lastExecutionRef: first.metadata.name },
    });
    const second = await stack.ended(await stack.execute(plan));
    expect(second.status).toMatchObject({ phase: 'Failed', reason: 'PlanExecuted' });
    const rerun = await stack.ended(await stack.execute(plan, { rerun: 'Allowed' }));
    expect(rerun.status?.phase).toBe('Succeeded');

    const early = await stack.ended(await stack.revert(first));
    expect(early.status).toMatchObject({ phase: 'Failed', reason: 'NotNewest' });
    const revert = await stack.ended(await stack.revert(rerun));
    expect(revert.status?.phase).toBe('Succeeded');
    expect(condition(revert, 'FullyReverted')).toMatchObject({ status: 'True' });
    expect((await stack.get(rerun)).status?.revertedBy?.uid).toBe(revert.metadata.uid);
    expect((await stack.getPlan(plan)).status?.phase).toBe('Ready');
    const again = await stack.ended(await stack.revert(rerun));
    expect(again.status).toMatchObject({ phase: 'Failed', reason: 'AlreadyReverted' });
  });

  it('stays Executed when a failed rerun is reverted, and is undone as the account that acted', async () => {
    const plan = unique('partly');
    const call = http('call', `${recorder.url}/${plan}`, {
      rollback: { http: { url: `${recorder.url}/${plan}/undo`, method: 'POST' } },
    });
    const then = http('then', `${recorder.url}/${plan}/then?status={{ .params.status }}`);
    await stack.simplePlan(plan, [call, then], {
      workflow: { parameters: [{ name: 'status', default: '200' }] },
      plan: { serviceAccountName: 'first' },
    });
    const first = await stack.ended(await stack.execute(plan));
    expect(first.status?.phase).toBe('Succeeded');
    const params = [{ name: 'status', value: '400' }];
    const rerun = await stack.ended(await stack.execute(plan, { rerun: 'Allowed', params }));
    expect(rerun.status?.phase).toBe('Failed');
    await stack.kube.patch(
      { apiVersion: API_VERSION, kind: 'DRPlan', namespace: stack.namespace, name: plan },
      { spec: { serviceAccountName: 'second' } },
      { kind: 'merge' },
    );
    const undone = await stack.ended(await stack.revert(rerun));
    expect(undone.status?.phase).toBe('Succeeded');
    const revision = await stack.kube.get<KubeObject>({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      namespace: stack.namespace,
      name: undone.status?.snapshotRef?.name ?? '',
    });
    // It belongs to nobody, and tells when it was last used.
    expect(revision?.metadata.ownerReferences).toBeUndefined();
    expect(revision?.metadata.annotations?.[ANNOTATIONS.used]).toMatch(/^20.*Z$/);
    expect((await stack.getPlan(plan)).status).toMatchObject({
      phase: 'Executed',
      executedBy: { uid: first.metadata.uid },
    });
    const back = await stack.ended(await stack.revert(first));
    expect(back.status?.phase).toBe('Succeeded');
    expect((await stack.getPlan(plan)).status?.phase).toBe('Ready');
    const handle = stack.temporal.workflow.getHandle(back.status?.temporal?.workflowId ?? '');
    const { events } = await handle.fetchHistory();
    const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const input = JSON.parse(Buffer.from(payload?.data ?? []).toString('utf8')) as RunInput;
    expect(input.run.serviceAccountName).toBe('first');
  });

  it('is undone by its marks where the status has no room for what it has written', async () => {
    const plan = unique('marks');
    const configMap = (name: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: stack.namespace,
      name,
    });
    const [made, changed] = [`${plan}-made`, `${plan}-changed`];
    await stack.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: changed, namespace: stack.namespace },
      data: { key: 'before' },
    });
    const apply = (name: string, operation: 'Apply' | 'Create' = 'Apply') => ({
      name,
      type: 'KubernetesResource' as const,
      resource: {
        operation,
        manifest: `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  key: after\n`,
      },
    });
    const created = `${plan}-created`;
    await stack.simplePlan(plan, [apply(made), apply(changed), apply(created, 'Create')]);
    const execution = await stack.ended(await stack.execute(plan));
    expect(execution.status?.phase).toBe('Succeeded');
    const reduced = smallestStatus(execution.status ?? {});
    await stack.kube.patch(keyOf(execution), [{ op: 'replace', path: '/status', value: reduced }], {
      kind: 'json',
      subresource: 'status',
    });
    expect(JSON.stringify(reduced)).not.toContain('priorRef');
    const revert = await stack.ended(await stack.revert(execution));
    expect(revert.status?.phase).toBe('Succeeded');
    expect(condition(revert, 'FullyReverted')).toMatchObject({ status: 'True' });
    expect(await stack.kube.get(configMap(made))).toBeUndefined();
    expect(await stack.kube.get(configMap(created))).toBeUndefined();
    expect(await stack.kube.get(configMap(changed))).toMatchObject({ data: { key: 'before' } });
  });

  it('keeps being Executed while it is Invalid [S5.26]', async () => {
    const plan = unique('invalid');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}`)]);
    await stack.ended(await stack.execute(plan));
    const workflow = { apiVersion: API_VERSION, kind: 'DRWorkflow', namespace: stack.namespace, name: plan };
    await stack.kube.delete(workflow);
    const invalid = await poll(
      () => stack.getPlan(plan),
      ({ status }) => status?.phase === 'Invalid',
    );
    expect(condition(invalid, 'Ready')).toMatchObject({ status: 'False', reason: 'WorkflowNotFound' });
    await stack.workflow(plan, { actions: [http('call', `${recorder.url}/${plan}`)] });
    const back = await poll(
      () => stack.getPlan(plan),
      ({ status }) => status?.phase !== 'Invalid',
    );
    expect(back.status?.phase).toBe('Executed');
    expect(back.metadata.labels?.[LABELS.workflow]).toBe(plan);
  });
});

describe('an execution that must not start', () => {
  it('says that there is no plan', async () => {
    const ended = await stack.ended(await stack.execute('nowhere'));
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'PlanNotFound' });
    expect(condition(ended, 'Finished')).toMatchObject({ status: 'True' });
  });

  it('is Failed RestoredCopy when it carries the stamp of another, and keeps that stamp [S5.11]', async () => {
    const plan = unique('restored');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}`)]);
    const copy = await stack.create<DRPlanExecution>({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      metadata: { name: plan, namespace: stack.namespace, annotations: { [ANNOTATIONS.stamp]: 'another' } },
      spec: { planRef: plan, operationType: 'Execute' },
    });
    const ended = await stack.ended(copy);
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'RestoredCopy' });
    expect(ended.metadata.annotations?.[ANNOTATIONS.stamp]).toBe('another');
    expect(ended.metadata.finalizers).toBeUndefined();
    expect(recorder.of(`/${plan}`)).toHaveLength(0);
  });

  it('is Cancelled at once when it is created with the cancel annotation [S5.31]', async () => {
    const plan = unique('early');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}`)]);
    const execution = await stack.create<DRPlanExecution>({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      metadata: { name: plan, namespace: stack.namespace, annotations: { [ANNOTATIONS.cancel]: 'true' } },
      spec: { planRef: plan, operationType: 'Execute' },
    });
    const ended = await stack.ended(execution);
    expect(ended.status).toMatchObject({ phase: 'Cancelled', reason: 'Cancelled' });
    expect(ended.status?.completionTime).toBeDefined();
    expect((await stack.getPlan(plan)).status?.phase).toBe('Ready');
    expect(recorder.of(`/${plan}`)).toHaveLength(0);
  });

  it('names what is wrong with an invalid plan', async () => {
    const plan = unique('bad');
    await stack.workflow(plan, { actions: [http('call', `${recorder.url}/{{ .params.nobody }}`)] });
    await stack.create({
      apiVersion: API_VERSION,
      kind: 'DRPlan',
      metadata: { name: plan, namespace: stack.namespace },
      spec: {
        stages: [{ name: 'stage', workflows: [{ workflowRef: { name: plan } }], dependsOn: ['stage'] }],
      },
    });
    const ended = await stack.ended(await stack.execute(plan));
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'PlanInvalid' });
    expect(ended.status?.message).toContain('dependsOn');
  });
});

describe('a running execution', () => {
  it('is cancelled by the annotation, long before its call would end [S5.30]', async () => {
    const plan = unique('cancel');
    await stack.simplePlan(plan, [
      http('call', `${recorder.url}/${plan}?delay=20000`),
      http('next', `${recorder.url}/${plan}/next`),
    ]);
    const execution = await stack.execute(plan);
    await running(execution);
    const asked = Date.now();
    await annotate(execution, ANNOTATIONS.cancel);
    const ended = await stack.ended(execution);
    // The call would take twenty.
    expect(Date.now() - asked).toBeLessThan(15_000);
    expect(ended.status).toMatchObject({ phase: 'Cancelled', cancelRequest: { via: 'Annotation' } });
    expect(ended.status?.summary).toMatchObject({ runningStages: 0, pendingStages: 0, runningWorkflows: 0 });
    expect(recorder.of(`/${plan}/next`)).toHaveLength(0);
    expect((await stack.getPlan(plan)).status).toMatchObject({ phase: 'Ready' });
  });

  it('is cancelled by its deletion, and leaves a history row and a free plan [S5.35]', async () => {
    const plan = unique('delete');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}?delay=20000`)]);
    const execution = await stack.execute(plan);
    await running(execution);
    await stack.kube.delete(keyOf(execution));
    await poll(
      () => lookup(execution),
      (found) => found === undefined,
    );
    const { status } = await stack.getPlan(plan);
    expect(status?.currentExecution).toBeUndefined();
    expect(status?.executionHistory).toMatchObject([{ uid: execution.metadata.uid, phase: 'Cancelled' }]);
    expect(recorder.of(`/${plan}`)[0]?.aborted).toBe(true);
  });

  it('is Failed RunTerminated when its run is terminated, and frees the plan [S5.41]', async () => {
    const plan = unique('terminate');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}?delay=20000`)]);
    const execution = await stack.execute(plan);
    const { status } = await running(execution);
    await stack.temporal.workflow.getHandle(status?.temporal?.workflowId ?? '').terminate('test');
    const ended = await stack.ended(execution);
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'RunTerminated' });
    // The stage itself has said how it ended.
    expect(ended.status?.stageStatuses?.[0]).toMatchObject({ phase: 'Failed', reason: 'Cancelled' });
    expect(ended.status?.summary).toMatchObject({ runningStages: 0, failedStages: 1 });
    expect((await stack.getPlan(plan)).status?.currentExecution).toBeUndefined();
  });

  it('keeps the plan while a stage of its terminated run still acts', async () => {
    const plan = unique('settling');
    await stack.simplePlan(plan, [
      http('call', `${recorder.url}/${plan}?delay=5000`, { interruptible: false }),
    ]);
    const execution = await stack.execute(plan);
    const { status } = await running(execution);
    await poll(
      () => Promise.resolve(recorder.of(`/${plan}`).length),
      (calls) => calls === 1,
    );
    await stack.temporal.workflow.getHandle(status?.temporal?.workflowId ?? '').terminate('test');
    const waiting = await stack.until(
      execution,
      (now) => condition(now, 'Progressing')?.reason === 'Settling',
    );
    expect(waiting.status?.phase).toBe('Running');
    expect((await stack.getPlan(plan)).status?.currentExecution?.uid).toBe(execution.metadata.uid);
    const ended = await stack.ended(execution);
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'RunTerminated' });
    const [action] = ended.status?.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses ?? [];
    expect(action).toMatchObject({ phase: 'Succeeded', effect: 'Done' });
    expect((await stack.getPlan(plan)).status?.currentExecution).toBeUndefined();
  });

  it('tells its target what a terminated revert has undone, and the next one goes on there [S5.49]', async () => {
    const plan = unique('halfway');
    const undo = (name: string, query = '') => ({
      rollback: { http: { url: `${recorder.url}/${plan}/undo-${name}${query}`, method: 'POST' as const } },
    });
    await stack.simplePlan(plan, [
      http('slow', `${recorder.url}/${plan}/slow`, undo('slow', '?delay=4000')),
      http('quick', `${recorder.url}/${plan}/quick`, undo('quick')),
    ]);
    const execution = await stack.ended(await stack.execute(plan));
    const revert = await stack.revert(execution);
    await poll(
      () => Promise.resolve(recorder.of(`/${plan}/undo-slow`).length),
      (calls) => calls === 1,
    );
    const { status } = await stack.until(revert, (now) => now.status?.temporal !== undefined);
    await stack.temporal.workflow.getHandle(status?.temporal?.workflowId ?? '').terminate('test');
    const ended = await stack.ended(revert);
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'RunTerminated', unreverted: ['0/0/0'] });
    expect(condition(ended, 'FullyReverted')).toMatchObject({ status: 'False' });
    const target = await stack.get(execution);
    expect(target.status?.undone).toEqual(['0/0/1']);
    expect(condition(target, 'FullyReverted')?.message).toContain('0/0/0');
    const again = await stack.ended(await stack.revert(execution));
    expect(again.status?.phase).toBe('Succeeded');
    expect(recorder.of(`/${plan}/undo-quick`)).toHaveLength(1);
  });

  it('is cancelled after two live looks when its object was removed by force, and then frees the plan [S5.44]', async () => {
    const plan = unique('orphan');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}?delay=20000`)]);
    const execution = await stack.execute(plan);
    const { status } = await running(execution);
    // As with kubectl: the finalizer is patched away, then the object deleted.
    await stack.kube.patch(keyOf(execution), { metadata: { finalizers: null } }, { kind: 'merge' });
    await stack.kube.delete(keyOf(execution));
    const workflowId = status?.temporal?.workflowId ?? '';
    const run = await poll(
      () => replica.runs.describe(workflowId),
      (found) => found?.state !== 'Running',
    );
    expect(run?.state).toBe('Completed');
    const plans = await poll(
      () => stack.getPlan(plan),
      (found) => found.status?.currentExecution === undefined,
    );
    expect(plans.status?.executionHistory).toMatchObject([{ phase: 'Cancelled' }]);
  });
});

describe('an execution whose run is in another Temporal', () => {
  it('says so, changes nothing, and is deleted only when a person insists; its plan is freed with the run [S5.15]', async () => {
    const plan = unique('elsewhere');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}?delay=6000`)]);
    const execution = await stack.execute(plan);
    await running(execution);
    const move = [{ op: 'replace', path: '/status/temporal/namespaceId', value: 'elsewhere' }];
    await stack.kube.patch(keyOf(execution), move, { kind: 'json', subresource: 'status' });
    const moved = await stack.until(
      execution,
      (now) => condition(now, 'Progressing')?.reason === 'TemporalMismatch',
    );
    expect(moved.status?.phase).toBe('Running');
    expect(condition(moved, 'Progressing')?.message).toContain('elsewhere');

    const before = await replica.looks('DRPlanExecution');
    await stack.kube.delete(keyOf(execution));
    await poll(
      () => replica.looks('DRPlanExecution'),
      (looks) => looks > before,
    );
    expect((await stack.get(execution)).metadata.deletionTimestamp).toBeDefined();
    await annotate(execution, ANNOTATIONS.forceDelete);
    await poll(
      () => lookup(execution),
      (found) => found === undefined,
    );
    const held = await stack.getPlan(plan);
    expect(held.status?.executionHistory).toMatchObject([{ phase: 'Cancelled' }]);
    expect(held.status?.currentExecution?.uid).toBe(execution.metadata.uid);
    await poll(
      () => stack.getPlan(plan),
      ({ status }) => status?.currentExecution === undefined,
    );
  });
});

describe('the old trigger annotation', () => {
  it('starts nothing and gets one Warning event, however many replicas see it [S1.13]', async () => {
    const plan = unique('trigger');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}`)]);
    await stack.kube.patch(
      { apiVersion: API_VERSION, kind: 'DRPlan', namespace: stack.namespace, name: plan },
      { metadata: { annotations: { [ANNOTATIONS.trigger]: 'execute' } } },
      { kind: 'merge' },
    );
    const { items } = await poll(
      () =>
        stack.kube.list<{ regarding?: { name?: string }; reason?: string }>(
          { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
          { namespace: stack.namespace },
        ),
      ({ items: found }) => found.some((event) => event.regarding?.name === plan),
    );
    expect(items.filter((event) => event.regarding?.name === plan).map((event) => event.reason)).toEqual([
      'TriggerIgnored',
    ]);
    expect(recorder.of(`/${plan}`)).toHaveLength(0);
  });
});

describe('a bridge that starts', () => {
  it('writes nothing for what has ended [S5.24]', async () => {
    const plan = unique('kept');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}`)]);
    for (let n = 0; n < 5; n += 1) {
      const ended = await stack.ended(await stack.execute(plan, { rerun: 'Allowed' }));
      await poll(
        () => stack.get(ended),
        ({ metadata }) => metadata.finalizers === undefined,
      );
    }
    const late = await startReplica();
    await poll(
      () => Promise.resolve(late.bridge.notReady()),
      (missing) => missing.length === 0,
    );
    // It has begun with what is due: plans are, ended executions are not.
    await poll(
      () => late.looks('DRPlan'),
      (looks) => looks > 0,
    );
    expect(await late.writes()).toBe(0);
    await late.stop();
  });
});
