/** Plans that run plans, on the real servers: a nested run is an execution that one can look at, stop and revert. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, LABELS } from '../../api/core/group.js';
import type { Action, DRPlanExecution, PlanAction } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { actionAt, condition, http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('nested'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

const nested = (
  name: string,
  plan: Partial<PlanAction> & { name: string },
  more: Partial<Action> = {},
): Action => ({
  name,
  type: 'Plan',
  plan,
  ...more,
});
const call = (name: string, path: string, more: Partial<Action> = {}): Action =>
  http(name, `${recorder.url}/${path}`, {
    rollback: { http: { url: `${recorder.url}/${path}-undo`, method: 'POST' } },
    retryPolicy: { limit: 0 },
    ...more,
  });
const keyOf = (name: string) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace: stack.namespace,
  name,
});
const refOf = (execution: DRPlanExecution, action = 0) =>
  actionAt(execution, 0, 0, action)?.outputs?.planExecutionRef;

/** The nested execution, once the action shows it. */
async function childOf(parent: DRPlanExecution, action = 0): Promise<DRPlanExecution> {
  const seen = await stack.until(parent, (now) => refOf(now, action) !== undefined);
  return stack.get({ metadata: { name: refOf(seen, action)?.name ?? '' } } as DRPlanExecution);
}
const cancel = (execution: DRPlanExecution) =>
  stack.kube.patch(
    keyOf(execution.metadata.name),
    { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
    { kind: 'merge' },
  );

/** An inner plan of these actions and an outer one that runs it; names after a common stem. */
async function twoPlans(inner: Action[], action: Partial<Action> = {}, after: Action[] = []) {
  const stem = unique('p');
  await stack.simplePlan(`${stem}-inner`, inner);
  await stack.simplePlan(`${stem}-outer`, [nested('inner', { name: `${stem}-inner` }, action), ...after]);
  return { stem, inner: `${stem}-inner`, outer: `${stem}-outer` };
}
const slow = (path: string, more: Partial<Action> = {}) => call('slow', `${path}?delay=20000`, more);

describe('a nested plan', () => {
  it('runs in an execution of its own, for whoever asked for the whole, with its values, and is undone with it [S3.58]', async () => {
    const stem = unique('ok');
    await stack.simplePlan(
      `${stem}-inner`,
      [
        call('call', `${stem}-{{ .params.site }}`),
        { name: 'settle', type: 'Wait', wait: { duration: '10ms' } },
      ],
      { workflow: { parameters: [{ name: 'site' }] } },
    );
    await stack.simplePlan(
      `${stem}-outer`,
      [
        nested('inner', {
          name: '{{ .params.which }}-inner',
          params: [{ name: 'site', value: 'to-{{ .params.site }}' }],
        }),
        call('after', `${stem}-after/{{ .outputs.inner.planExecutionRef.name }}`),
      ],
      {
        plan: {
          globalParams: [
            { name: 'site', value: 'b' },
            { name: 'which', value: stem },
          ],
        },
      },
    );
    const outer = await stack.kube.as({ user: 'alice', groups: ['system:masters'] }).create<DRPlanExecution>({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      metadata: { name: `${stem}-run`, namespace: stack.namespace },
      spec: { planRef: `${stem}-outer`, operationType: 'Execute', runMode: 'Drill' },
    });
    const ended = await stack.ended(outer);
    expect(ended.status?.phase).toBe('Succeeded');
    const child = await childOf(ended);
    expect(child.metadata.name.length).toBeLessThanOrEqual(63);
    expect(child).toMatchObject({
      metadata: {
        ownerReferences: [{ name: outer.metadata.name, uid: outer.metadata.uid, controller: true }],
        labels: { [LABELS.execution]: outer.metadata.uid, [LABELS.action]: '0.0.0' },
        annotations: { [ANNOTATIONS.requestedBy]: 'alice' },
      },
      spec: {
        planRef: `${stem}-inner`,
        operationType: 'Execute',
        runMode: 'Drill',
        params: [{ name: 'site', value: 'to-b' }],
      },
      status: { phase: 'Succeeded' },
    });
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({
      phase: 'Succeeded',
      message: `execution "${child.metadata.name}" of plan "${stem}-inner" succeeded`,
      outputs: { planExecutionRef: { uid: child.metadata.uid, phase: 'Succeeded', plan: `${stem}-inner` } },
    });
    expect(recorder.effects(`/${stem}-to-b`)).toBe(1);
    expect(recorder.of(`/${stem}-after/${child.metadata.name}`)).toHaveLength(1);
    expect((await stack.getPlan(`${stem}-inner`)).status?.phase).toBe('Executed');

    const revert = await stack.ended(await stack.revert(ended));
    expect(revert.status).toMatchObject({ phase: 'Succeeded' });
    expect(condition(revert, 'FullyReverted')?.status).toBe('True');
    const undo = await childOf(revert);
    expect(undo).toMatchObject({
      metadata: { ownerReferences: [{ uid: revert.metadata.uid }] },
      spec: { operationType: 'Revert', revertExecutionRef: child.metadata.name },
      status: { phase: 'Succeeded' },
    });
    expect(recorder.effects(`/${stem}-to-b-undo`)).toBe(1);
    expect((await stack.getPlan(`${stem}-inner`)).status?.phase).toBe('Ready');
    // Newest first: what came after the nested plan is undone before it.
    const undone = recorder.requests.map(({ path }) => path).filter((path) => path.endsWith('-undo'));
    expect(undone).toEqual([`/${stem}-after/${child.metadata.name}-undo`, `/${stem}-to-b-undo`]);
  });

  it('fails with its child, says why and where to look, and what it did can be undone', async () => {
    const { stem, outer } = await twoPlans([
      call('done', 'nested-done'),
      call('bad', 'nested-bad?status=400'),
    ]);
    const ended = await stack.ended(await stack.execute(outer));
    const child = await childOf(ended);
    expect(ended.status?.phase).toBe('Failed');
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Failed', reason: 'PlanFailed', effect: 'Done' });
    const message = actionAt(ended, 0, 0, 0)?.message ?? '';
    expect(message).toContain(
      `execution "${child.metadata.name}" of plan "${stem}-inner" failed: StageFailed`,
    );
    expect(message).toContain(`drover describe ${child.metadata.name} -n ${stack.namespace}`);
    const revert = await stack.ended(await stack.revert(ended));
    expect(revert.status?.phase).toBe('Succeeded');
    expect(recorder.of('/nested-done-undo')).toHaveLength(1);
  });

  it('that is in use fails the action, and changes nothing', async () => {
    const { inner, outer } = await twoPlans([slow('busy')]);
    const holder = await stack.execute(inner);
    await stack.until(holder, (now) => now.status?.phase === 'Running');
    const ended = await stack.ended(await stack.execute(outer));
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Failed', reason: 'PlanBusy', effect: 'None' });
    expect(actionAt(ended, 0, 0, 0)?.message).toContain(holder.metadata.name);
    await cancel(holder);
  });

  it('is undone by onFailure: Rollback too', async () => {
    const stem = unique('back');
    await stack.simplePlan(`${stem}-inner`, [call('call', `${stem}`)]);
    await stack.simplePlan(
      `${stem}-outer`,
      [nested('inner', { name: `${stem}-inner` }), call('bad', `${stem}-bad?status=400`)],
      { plan: { onFailure: 'Rollback' } },
    );
    const ended = await stack.ended(await stack.execute(`${stem}-outer`));
    expect(condition(ended, 'RolledBack')).toMatchObject({ status: 'True' });
    expect(recorder.effects(`/${stem}-undo`)).toBe(1);
    expect((await stack.getPlan(`${stem}-inner`)).status?.phase).toBe('Ready');
  });

  it('may be what undoes another action', async () => {
    const stem = unique('by');
    await stack.simplePlan(`${stem}-inner`, [call('call', `${stem}-inner`)]);
    await stack.simplePlan(`${stem}-outer`, [
      call('call', stem, { rollback: { type: 'Plan', plan: { name: `${stem}-inner` } } }),
    ]);
    const ended = await stack.ended(await stack.execute(`${stem}-outer`));
    const revert = await stack.ended(await stack.revert(ended));
    expect(revert.status).toMatchObject({ phase: 'Succeeded' });
    expect(recorder.effects(`/${stem}-inner`)).toBe(1);
    expect(await childOf(revert)).toMatchObject({ spec: { operationType: 'Execute' } });
  });
});

it('may be a hook around a revert, once for each', async () => {
  const stem = unique('hook');
  await stack.simplePlan(`${stem}-inner`, [call('call', `${stem}-inner`)]);
  await stack.simplePlan(`${stem}-outer`, [
    call('call', stem),
    nested('before', { name: `${stem}-inner` }, { hookType: 'pre-rollback' }),
  ]);
  for (const times of [1, 2]) {
    const ended = await stack.ended(await stack.execute(`${stem}-outer`));
    expect(actionAt(ended, 0, 0, 1)).toMatchObject({ phase: 'Skipped', reason: 'OtherMode' });
    const revert = await stack.ended(await stack.revert(ended));
    expect(revert.status).toMatchObject({ phase: 'Succeeded' });
    expect(recorder.effects(`/${stem}-inner`)).toBe(times);
    expect(recorder.effects(`/${stem}-undo`)).toBe(times);
    const hook = await childOf(revert, 1);
    expect(hook).toMatchObject({
      metadata: { ownerReferences: [{ uid: revert.metadata.uid }] },
      spec: { operationType: 'Execute', mode: 'Rollback' },
    });
  }
});

describe('a nested plan that runs', () => {
  const running = async (action: Partial<Action> = {}) => {
    const path = unique('stop');
    const plans = await twoPlans([call('first', `${path}-first`), slow(path)], action);
    const outer = await stack.execute(plans.outer);
    const child = await childOf(outer);
    await poll(
      () => Promise.resolve(recorder.of(`/${path}`).length),
      (count) => count === 1,
    );
    return { ...plans, path, execution: outer, child };
  };

  it('is cancelled with the run that it is part of, before that has ended, and can be undone [S3.58]', async () => {
    const { execution, child, path } = await running();
    await cancel(execution);
    const ended = await stack.ended(execution);
    expect(ended.status?.phase).toBe('Cancelled');
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Failed', reason: 'Cancelled', effect: 'Done' });
    const stopped = await stack.get(child);
    expect(stopped.status).toMatchObject({
      phase: 'Cancelled',
      cancelRequest: { requestedBy: `DRPlanExecution ${stack.namespace}/${execution.metadata.name}` },
    });
    expect(Date.parse(stopped.status?.completionTime ?? '')).toBeLessThanOrEqual(
      Date.parse(ended.status?.completionTime ?? ''),
    );
    const revert = await stack.ended(await stack.revert(ended));
    expect(revert.status?.phase).toBe('Succeeded');
    expect(recorder.of(`/${path}-first-undo`)).toHaveLength(1);
  });

  it('is cancelled at the timeout of its action', async () => {
    const { execution, child } = await running({ timeout: '3s' });
    const ended = await stack.ended(execution);
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Failed', reason: 'Timeout' });
    expect(actionAt(ended, 0, 0, 0)?.message).toContain('no end within its timeout of 3s');
    expect((await stack.get(child)).status?.phase).toBe('Cancelled');
  });

  it('and rolls back goes on with that when the whole is cancelled, until that is forced [S3.58]', async () => {
    const stem = unique('force');
    await stack.simplePlan(
      `${stem}-inner`,
      [
        call('done', `${stem}-done`, {
          rollback: { http: { url: `${recorder.url}/${stem}-undo?delay=60000`, method: 'POST' } },
        }),
        call('bad', `${stem}-bad?status=400`),
      ],
      { plan: { onFailure: 'Rollback' } },
    );
    await stack.simplePlan(`${stem}-outer`, [nested('inner', { name: `${stem}-inner` })]);
    const outer = await stack.execute(`${stem}-outer`);
    const child = await childOf(outer);
    await poll(
      () => Promise.resolve(recorder.of(`/${stem}-undo`).length),
      (count) => count > 0,
      60_000,
    );
    await cancel(outer);
    const cancelled = await stack.until(child, (now) => now.status?.cancelRequest !== undefined, 60_000);
    expect(cancelled.status?.phase).toBe('Running');
    const { workflowId = '' } = (await stack.get(outer)).status?.temporal ?? {};
    await stack.temporal.workflow.getHandle(workflowId).signal('cancel', { force: true });
    // Long before the undo is over.
    const stopped = await stack.ended(child);
    expect(condition(stopped, 'RolledBack')).toMatchObject({ status: 'False' });
    expect((await stack.ended(outer)).status?.phase).toBe('Cancelled');
  });

  it('goes when the whole is deleted, and leaves no lock behind [S3.58]', async () => {
    const { execution, child, inner, outer } = await running();
    await stack.kube.delete(keyOf(execution.metadata.name), { propagationPolicy: 'Background' });
    for (const { metadata } of [execution, child]) {
      await poll(
        () => stack.kube.get(keyOf(metadata.name)),
        (found) => found === undefined,
      );
    }
    for (const name of [inner, outer]) {
      const plan = await stack.getPlan(name);
      expect(plan.status?.currentExecution).toBeUndefined();
      expect(plan.status?.executionHistory?.[0]?.phase).toBe('Cancelled');
    }
  });

  it('and is deleted by a person fails the action once its run has ended; the rest can be undone', async () => {
    const { execution, child } = await running();
    await stack.kube.delete(keyOf(child.metadata.name));
    const ended = await stack.ended(execution);
    const action = actionAt(ended, 0, 0, 0);
    expect(action?.phase).toBe('Failed');
    // The last look may have come before the record went or after.
    expect(['ExecutionDeleted', 'PlanCancelled']).toContain(action?.reason);
    const revert = await stack.ended(await stack.revert(ended));
    expect(revert.status?.phase).toBe('Succeeded');
    expect(actionAt(revert, 0, 0, 0)).toMatchObject({ phase: 'Skipped', reason: 'ExecutionGone' });
    expect(condition(revert, 'FullyReverted')).toMatchObject({ status: 'False' });
  });

  it('and was reverted by hand needs no undo any more', async () => {
    const { outer } = await twoPlans([call('first', 'by-hand')]);
    const ended = await stack.ended(await stack.execute(outer));
    await stack.ended(await stack.revert(await childOf(ended)));
    const revert = await stack.ended(await stack.revert(ended));
    expect(actionAt(revert, 0, 0, 0)).toMatchObject({ phase: 'Skipped', reason: 'AlreadyUndone' });
    expect(condition(revert, 'FullyReverted')?.status).toBe('True');
  });
});

describe('plans that nest each other', () => {
  const chain = (plan: string, next: string) =>
    stack.workflow(plan, { actions: [nested('next', { name: next })] });
  const create = (name: string, workflow = name) =>
    stack.create({
      apiVersion: API_VERSION,
      kind: 'DRPlan',
      metadata: { name, namespace: stack.namespace },
      spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: workflow } }] }] },
    });
  const ready = (name: string, status: 'True' | 'False') =>
    poll(
      () => stack.getPlan(name),
      (plan) => condition(plan, 'Ready')?.status === status,
    );

  it('are Invalid until the nested one is there, and keep it from being deleted', async () => {
    const stem = unique('late');
    await chain(`${stem}-a`, `${stem}-b`);
    await create(`${stem}-a`);
    const before = await ready(`${stem}-a`, 'False');
    expect(condition(before, 'Ready')).toMatchObject({ reason: 'NestedPlanNotFound' });
    await stack.simplePlan(`${stem}-b`, [call('call', stem)]);
    await ready(`${stem}-a`, 'True');
    const key = { apiVersion: API_VERSION, kind: 'DRPlan', namespace: stack.namespace, name: `${stem}-b` };
    await expect(stack.kube.delete(key)).rejects.toThrow(`is run by an action of DRPlan "${stem}-a"`);
    await stack.kube.delete({ ...key, name: `${stem}-a` });
    await poll(
      () => stack.kube.delete(key).catch((error: unknown) => error),
      (result) => result === true,
    );
  });

  it('are refused when they lead back, and Invalid when a workflow makes them [S3.58]', async () => {
    const stem = unique('ring');
    await stack.simplePlan(`${stem}-c`, [call('call', stem)]);
    await chain(`${stem}-b`, `${stem}-c`);
    await create(`${stem}-b`);
    await ready(`${stem}-b`, 'True');
    await chain(`${stem}-a`, `${stem}-b`);
    await create(`${stem}-a`);
    await ready(`${stem}-a`, 'True');
    await chain(`${stem}-back`, `${stem}-a`);
    await expect(create(`${stem}-d`, `${stem}-back`)).resolves.toBeDefined();
    const workflow = {
      apiVersion: API_VERSION,
      kind: 'DRWorkflow',
      namespace: stack.namespace,
      name: `${stem}-c`,
    };
    const actions = [nested('next', { name: `${stem}-a` })];
    await stack.kube.patch(workflow, { spec: { actions } }, { kind: 'merge' });
    for (const name of ['a', 'b', 'c']) {
      const plan = await ready(`${stem}-${name}`, 'False');
      expect(condition(plan, 'Ready')).toMatchObject({ reason: 'PlanCycle' });
    }
    expect(condition(await stack.getPlan(`${stem}-a`), 'Ready')?.message).toContain(
      `${stem}-a → ${stem}-b → ${stem}-c → ${stem}-a`,
    );
    await expect(create(`${stem}-c2`, `${stem}-c`)).rejects.toThrow('a plan cannot be part of itself');
    await stack.kube.patch(workflow, { spec: { actions: [call('call', stem)] } }, { kind: 'merge' });
    for (const name of ['a', 'b', 'c']) await ready(`${stem}-${name}`, 'True');
  });

  it(
    'five deep run, six deep do not, whatever their names come from [S3.58]',
    { tags: ['nightly'] },
    async () => {
      const stem = unique('deep');
      const levels = [0, 1, 2, 3, 4, 5, 6];
      // A name from a parameter of the execution: only the run itself can know.
      for (const level of levels.slice(0, -1)) {
        await stack.simplePlan(
          `${stem}-${level}`,
          [
            nested('next', {
              name: '{{ .params.stem }}-' + String(level + 1),
              params: [{ name: 'stem', value: '{{ .params.stem }}' }],
            }),
          ],
          { workflow: { parameters: [{ name: 'stem' }] } },
        );
      }
      await stack.simplePlan(`${stem}-6`, [call('call', stem)], {
        workflow: { parameters: [{ name: 'stem' }] },
      });
      const params = [{ name: 'stem', value: stem }];
      const fits = await stack.ended(await stack.execute(`${stem}-1`, { params }));
      expect(fits.status?.phase).toBe('Succeeded');
      await stack.ended(await stack.revert(fits));
      const deep = await stack.ended(await stack.execute(`${stem}-0`, { params }));
      expect(deep.status?.phase).toBe('Failed');
      expect(deep.status?.message).toContain('at most 5 are allowed');
      expect(recorder.effects(`/${stem}`)).toBe(1);
    },
  );

  it('end where a parameter leads back to a plan that runs', async () => {
    const stem = unique('loop');
    await stack.simplePlan(stem, [nested('self', { name: '{{ .params.next }}' })], {
      workflow: { parameters: [{ name: 'next' }] },
    });
    const ended = await stack.ended(await stack.execute(stem, { params: [{ name: 'next', value: stem }] }));
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Failed', reason: 'PlanCycle', effect: 'None' });
  });
});

it('nobody can say that an execution is part of another but the bridge', async () => {
  await stack.simplePlan('forged', [slow('forged')]);
  const execution = await stack.create<DRPlanExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: {
      name: unique('forged'),
      namespace: stack.namespace,
      annotations: { [ANNOTATIONS.nestedIn]: '{}', [ANNOTATIONS.key]: 'x' },
    },
    spec: { planRef: 'forged', operationType: 'Execute' },
  });
  expect(execution.metadata.annotations).not.toHaveProperty([ANNOTATIONS.nestedIn]);
  expect(execution.metadata.annotations).not.toHaveProperty([ANNOTATIONS.key]);
  await cancel(execution);
});
