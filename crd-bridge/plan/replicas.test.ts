/** What several replicas with caches of different age do to one execution. */
import { describe, expect, it } from 'vitest';
import { ANNOTATIONS } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import type { RunDescription, RunMemo } from '../../client/runs/runs.js';
import type { FinishUpdate } from '../../workflows/plan/contract-updates.js';
import { createReplica } from './testing/replicas.js';
import { createWorld, populate, workflow } from './testing/world.js';
import type { World } from './testing/world.js';

describe('a start', () => {
  it('takes the plan, starts the run and records it [S5.2]', async () => {
    const world = createWorld();
    populate(world);
    await createReplica(world).reconcile();
    expect(world.execution().status).toMatchObject({ phase: 'Running', temporal: { runId: 'r1' } });
    expect(world.plan().status?.currentExecution?.uid).toBe('execution-uid');
  });
});

describe('the deadline of a start', () => {
  it.each([
    ['ahead of', 300_000],
    ['behind', -300_000],
  ])(
    'holds by the clock of the API server, five minutes %s that of the bridge [F21] [S5.9]',
    async (_, aheadMs) => {
      const begun = async (secondsAgo: number, requestedAgo = secondsAgo) => {
        const world = createWorld({ aheadMs });
        const ago = (seconds: number): string => new Date(world.kube.now() - seconds * 1000).toISOString();
        populate(world, { creationTimestamp: ago(secondsAgo) });
        const execution = world.execution();
        execution.spec = { ...execution.spec, startDeadlineSeconds: 60, requestedAt: ago(requestedAgo) };
        world.put(execution);
        await createReplica(world).reconcile();
        return { status: world.execution().status, plan: world.plan().status, ago };
      };
      const { status, plan, ago } = await begun(30);
      expect(status).toMatchObject({ phase: 'Running' });
      // These times show which of two runs came later, whichever replica wrote them.
      for (const started of [status?.startTime, plan?.executionHistory?.[0]?.startTime]) {
        expect(Math.abs(Date.parse(started ?? '') - Date.parse(ago(0)))).toBeLessThan(5_000);
      }
      expect((await begun(90, 30)).status).toMatchObject({ reason: 'StartDeadlineExceeded' });
      expect((await begun(30, 90)).status).toMatchObject({ reason: 'RequestTooOld' });
      expect((await begun(30, -360)).status).toMatchObject({ reason: 'RequestedAhead' });
    },
  );
});

describe('a start while the webhooks are not there yet', () => {
  it('waits and says for what; then what they have not let in is refused [S5.8]', async () => {
    const world = createWorld();
    populate(world);
    const replica = createReplica(world);
    Object.assign(replica.deps.settings.answers, { verified: true });
    replica.deps.admissionMissing = () => 'the webhooks are not registered';
    await replica.reconcile();
    const { conditions = [] } = world.execution().status ?? {};
    expect(conditions.find(({ type }) => type === 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'AdmissionNotReady',
      message: expect.stringContaining('the webhooks are not registered'),
    });
    expect(world.runsById.size).toBe(0);
    replica.deps.admissionMissing = () => undefined;
    replica.sync();
    await replica.reconcile();
    expect(world.execution().status).toMatchObject({ phase: 'Failed', reason: 'NotAdmitted' });
    expect(world.runsById.size).toBe(0);
  });
});

describe('a start that was interrupted after it took the plan', () => {
  const interrupted = async () => {
    const world = createWorld();
    populate(world);
    world.once('start', '', () => {
      throw new Error('killed');
    });
    const first = createReplica(world, { clusterId: 'this' });
    await expect(first.reconcile()).rejects.toThrow('killed');
    expect(world.plan().status?.currentExecution?.uid).toBe('execution-uid');
    return world;
  };

  it('is not begun a second time in another Temporal, where nobody can know of the first [SEC12] [S5.15]', async () => {
    const world = await interrupted();
    const other = createReplica(world, { clusterId: 'another' });
    await other.reconcile();
    expect(world.runsById.size).toBe(0);
    const { status } = world.execution();
    expect(status?.conditions?.find(({ type }) => type === 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'TemporalMismatch',
      message: expect.stringContaining('of cluster this'),
    });
    const deleted = world.execution();
    deleted.metadata.deletionTimestamp = new Date().toISOString();
    world.put(deleted);
    other.sync();
    await other.reconcile();
    other.clock.now += 15_000;
    await other.reconcile();
    expect(world.plan().status?.currentExecution?.uid).toBe('execution-uid');
  });

  it('goes on in the one it was begun in', async () => {
    const world = await interrupted();
    await createReplica(world, { clusterId: 'this' }).reconcile();
    expect(world.execution().status).toMatchObject({ phase: 'Running' });
  });
});

describe('a refusal by a replica whose caches are late', () => {
  const late = (phase: string) => {
    const world = createWorld();
    populate(world);
    const replica = createReplica(world);
    const ended = world.execution();
    ended.metadata.annotations = { [ANNOTATIONS.stamp]: 'execution-uid' };
    ended.status = { phase, temporal: { workflowId: replica.kind.workflowId(ended), runId: 'r1' } };
    world.put(ended);
    // Its plan is gone in the meantime, so that this replica finds a reason to refuse.
    world.remove('DRPlan', 'p');
    replica.deps.caches.plans.learn({
      metadata: { name: 'p', namespace: 'ns', uid: 'plan-uid', deletionTimestamp: 'now' },
      spec: { stages: [] },
    });
    return { world, replica };
  };

  it('leaves an execution that has ended as it is', async () => {
    const { world, replica } = late('Succeeded');
    await replica.reconcile();
    expect(world.execution().status?.phase).toBe('Succeeded');
  });

  it('neither ends nor cancels one that runs [SEC12]', async () => {
    const { world, replica } = late('Running');
    const workflowId = replica.kind.workflowId(world.execution());
    world.runsById.set(workflowId, {
      workflowId,
      runId: 'r1',
      firstRunId: 'r1',
      state: 'Running',
      startTime: new Date(),
    });
    await replica.reconcile();
    expect(world.execution().status?.phase).toBe('Running');
    expect(world.signals).toEqual([]);
  });

  it('does not take a stranger under its workflow id for its run, and frees the plan [F17]', async () => {
    const world = createWorld();
    populate(world);
    const replica = createReplica(world);
    const workflowId = replica.kind.workflowId(world.execution());
    world.runsById.set(workflowId, {
      workflowId,
      runId: 'x',
      firstRunId: 'x',
      state: 'Completed',
      startTime: new Date(),
    });
    await replica.reconcile();
    expect(world.execution().status).toMatchObject({ phase: 'Failed', reason: 'WorkflowIdTaken' });
    expect(world.plan().status?.currentExecution).toBeUndefined();
  });

  it('cancels the run of one that is recorded while it is being refused', async () => {
    const world = createWorld();
    populate(world);
    const replica = createReplica(world);
    world.put({ ...world.plan(), status: { ...world.plan().status, phase: 'Invalid' } });
    replica.sync();
    const workflowId = replica.kind.workflowId(world.execution());
    world.once('patch', 'DRPlanExecution', () => {
      const run = { workflowId, runId: 'r1', firstRunId: 'r1', startTime: new Date() };
      world.runsById.set(workflowId, { ...run, state: 'Running' });
      world.put({ ...world.execution(), status: { phase: 'Running', temporal: run } });
    });
    await replica.reconcile();
    expect(world.execution().status?.phase).toBe('Running');
    expect(world.signals).toMatchObject([{ workflowId }]);
  });
});

describe('a cancel of an execution that is not ours', () => {
  const cancel = { [ANNOTATIONS.cancel]: 'true' };

  it('ends it as abandoned: what another controller has done is not known [S5.14]', async () => {
    const world = createWorld();
    populate(world, { annotations: cancel });
    world.put({ ...world.execution(), status: { phase: 'Running' } });
    await createReplica(world).reconcile();
    expect(world.execution().status).toMatchObject({
      phase: 'Failed',
      reason: 'AbandonedByPreviousController',
    });
  });

  it('ends it as a copy when it was restored', async () => {
    const world = createWorld();
    populate(world, { annotations: { ...cancel, [ANNOTATIONS.stamp]: 'another' } });
    await createReplica(world).reconcile();
    expect(world.execution().status).toMatchObject({ phase: 'Failed', reason: 'RestoredCopy' });
  });
});

describe('the end of a run, handled by a replica that has not seen the plan taken', () => {
  const started = async () => {
    const world = createWorld();
    populate(world);
    const other = createReplica(world);
    const starter = createReplica(world);
    await starter.reconcile();
    // Its watch of executions is quick, that of plans is not.
    other.deps.caches.executions.learn(world.execution());
    const workflowId = starter.kind.workflowId(world.execution());
    const run: RunDescription = {
      workflowId,
      runId: 'r1',
      firstRunId: 'r1',
      state: 'Terminated',
      startTime: new Date(),
    };
    return { world, starter, other, run };
  };
  const finish: FinishUpdate = {
    run: {
      cluster: 'c0ffee00',
      namespace: 'ns',
      name: 'e',
      uid: 'execution-uid',
      plan: { name: 'p', namespace: 'ns', uid: 'plan-uid' },
      operation: 'Execute',
      runMode: 'Planned',
      snapshot: { name: 'snapshot', namespace: 'ns', digest: 'd', parts: 1 },
    },
    sequence: 9,
    phase: 'Succeeded',
    reason: 'Succeeded',
    message: '',
    startTime: '2026-01-01T00:00:00Z',
    completionTime: '2026-01-01T00:00:05Z',
    stages: [],
  };

  it('frees the plan and closes its row before the execution ends', async () => {
    const { world, other } = await started();
    await other.mirror.finish(finish);
    expect(world.execution().status?.phase).toBe('Succeeded');
    expect(world.plan().status).toMatchObject({
      phase: 'Executed',
      executionHistory: [{ phase: 'Succeeded' }],
    });
    expect(world.plan().status?.currentExecution).toBeUndefined();
  });

  it('does so too for one that is being deleted before its start was recorded', async () => {
    const { world, starter } = await started();
    const { temporal: _, phase: __, ...status } = world.execution().status ?? {};
    const execution = world.execution();
    world.put({
      ...execution,
      metadata: { ...execution.metadata, deletionTimestamp: '2026-01-01T00:00:03Z' },
      status,
    });
    starter.sync();
    await starter.mirror.mirror({ run: finish.run, from: 'run', sequence: 1, stages: [] });
    await starter.mirror.finish({ ...finish, phase: 'Cancelled' });
    expect(world.plan().status).toMatchObject({ executionHistory: [{ phase: 'Cancelled' }] });
    expect(world.plan().status?.currentExecution).toBeUndefined();
  });

  it('does so too for a run that was terminated', async () => {
    const { world, other, run } = await started();
    await other.kind.closed(other.cached(), run);
    expect(world.execution().status).toMatchObject({ phase: 'Failed', reason: 'RunTerminated' });
    expect(world.plan().status).toMatchObject({ executionHistory: [{ phase: 'Failed' }] });
    expect(world.plan().status?.currentExecution).toBeUndefined();
  });

  it('and before a deletion is released, even when it knows no such plan', async () => {
    const { world } = await started();
    const blank = createReplica(world, {}, { empty: true });
    blank.deps.caches.executions.learn(world.execution());
    await blank.kind.beforeRelease(blank.cached(), 'lost');
    expect(world.plan().status).toMatchObject({ executionHistory: [{ phase: 'Cancelled' }] });
    expect(world.plan().status?.currentExecution).toBeUndefined();

    const late = await started();
    await late.other.kind.beforeRelease(late.other.cached(), 'lost');
    expect(late.world.plan().status?.currentExecution).toBeUndefined();
  });

  it('and before it ends an execution whose start has died', async () => {
    const { world, other } = await started();
    world.runsById.clear();
    const { temporal: _, phase: __, ...status } = world.execution().status ?? {};
    world.put({ ...world.execution(), status });
    await other.kind.cancelBeforeStart(other.cached(), {});
    expect(world.execution().status?.phase).toBe('Cancelled');
    expect(world.plan().status?.currentExecution).toBeUndefined();
  });

  it('is made up for by the sweep, as the execution ended, where only the lock was left', async () => {
    const { world, starter } = await started();
    const ended = world.execution();
    world.put({
      ...ended,
      status: { ...ended.status, phase: 'Succeeded', completionTime: '2026-01-01T00:00:05Z' },
    });
    starter.sync();
    await starter.reconcilePlan();
    expect(world.plan().status).toMatchObject({
      phase: 'Executed',
      lastExecutionRef: 'e',
      executionHistory: [{ phase: 'Succeeded', completionTime: '2026-01-01T00:00:05Z' }],
    });
    expect(world.plan().status?.currentExecution).toBeUndefined();
  });

  it('leaves no row open when the execution is gone', async () => {
    const { world, run } = await started();
    world.remove('DRPlanExecution', 'e');
    world.runsById.set(run.workflowId, run);
    const blank = createReplica(world, {}, { empty: true });
    blank.deps.caches.plans.learn(world.plan());
    await blank.reconcilePlan();
    expect(world.plan().status).toMatchObject({ executionHistory: [{ phase: 'Cancelled' }] });
    expect(world.plan().status?.currentExecution).toBeUndefined();
  });
});

describe('a start by one replica', () => {
  const two = () => {
    const world = createWorld();
    populate(world);
    const [starter, other] = [createReplica(world), createReplica(world)];
    const workflowId = starter.kind.workflowId(world.execution());
    const change = (metadata: Partial<DRPlanExecution['metadata']>): void => {
      const execution = world.execution();
      world.put({ ...execution, metadata: { ...execution.metadata, ...metadata } });
      other.sync();
    };
    const cancel = (): void => {
      const { annotations } = world.execution().metadata;
      change({ annotations: { ...annotations, [ANNOTATIONS.cancel]: 'true' } });
    };
    return { world, starter, other, workflowId, change, cancel };
  };

  it('is waited for by another that sees a cancel between lock and start, and cancelled when it is there', async () => {
    const { world, starter, other, cancel } = two();
    world.once('start', 'dr/', async () => {
      cancel();
      await other.reconcile();
      expect(world.execution().status?.phase).toBeUndefined();
      expect(world.plan().status?.currentExecution?.uid).toBe('execution-uid');
    });
    await starter.reconcile();
    expect(world.execution().status?.phase).toBe('Running');
    other.sync();
    await other.reconcile();
    expect(world.signals).toMatchObject([{ request: { via: 'Annotation' } }]);
  });

  it('is waited for by another that sees a deletion between lock and start, and cancelled', async () => {
    const { world, starter, other, change } = two();
    world.once('start', 'dr/', async () => {
      change({ deletionTimestamp: new Date().toISOString() });
      await other.reconcile();
      expect(world.execution().metadata.finalizers).toHaveLength(1);
      expect(world.plan().status?.currentExecution?.uid).toBe('execution-uid');
    });
    await starter.reconcile();
    expect(world.signals).toMatchObject([{ request: { via: 'Delete' } }]);
  });

  it('cancels its run when the execution is gone, ended or being deleted by the time it is recorded', async () => {
    const ends: [string, (setup: ReturnType<typeof two>) => void][] = [
      ['gone', ({ world }) => world.remove('DRPlanExecution', 'e')],
      ['ended', ({ world }) => world.put({ ...world.execution(), status: { phase: 'Cancelled' } })],
      ['deleted', ({ change }) => change({ deletionTimestamp: new Date().toISOString() })],
    ];
    for (const [name, end] of ends) {
      const setup = two();
      setup.world.once('start', 'dr/', () => end(setup));
      await setup.starter.reconcile();
      expect(setup.world.signals, name).toMatchObject([{ workflowId: setup.workflowId }]);
    }
  });

  it('does not happen when a cancel is seen while the plan is taken, and the plan is free again', async () => {
    const { world, starter, cancel } = two();
    world.once('patch', 'DRPlan ', () => {
      cancel();
      starter.sync();
    });
    await starter.reconcile();
    expect(world.runsById.size).toBe(0);
    await starter.reconcile();
    expect(world.execution().status).toMatchObject({ phase: 'Cancelled', reason: 'Cancelled' });
    expect(world.plan().status?.currentExecution).toBeUndefined();
    expect(world.plan().status?.executionHistory).toEqual([]);
  });

  it('is not called Cancelled before its start when the run appears at the last moment', async () => {
    const { world, starter, other, workflowId, cancel } = two();
    let memo: RunMemo | undefined;
    starter.deps.runs.start = (request) => {
      ({ memo } = request);
      return Promise.reject(new Error('no answer'));
    };
    await expect(starter.reconcile()).rejects.toThrow('no answer');
    cancel();
    await other.reconcile();
    other.clock.now += 15_000;
    // The request that got no answer is carried out after all.
    world.once('get', 'DRPlanExecution', () => {
      const run = {
        workflowId,
        runId: 'r1',
        firstRunId: 'r1',
        state: 'Running' as const,
        startTime: new Date(),
        ...(memo !== undefined && { memo }),
      };
      world.runsById.set(workflowId, run);
    });
    await other.reconcile();
    expect(world.signals).toMatchObject([{ workflowId }]);
    expect(world.execution().status?.phase).toBeUndefined();
    await other.reconcile();
    expect(world.execution().status).toMatchObject({ phase: 'Running', temporal: { runId: 'r1' } });
  });
});

describe('a start by a replica that has not seen the newest workflow', () => {
  const setup = () => {
    const world = createWorld();
    populate(world);
    return { world, replica: createReplica(world) };
  };

  it('runs what the API server has', async () => {
    const { world, replica } = setup();
    world.put(workflow('http://127.0.0.1:1/corrected', 2));
    expect(await replica.reconcile()).toBe(0);
    await replica.reconcile();
    const { status } = world.execution();
    expect(status?.phase).toBe('Running');
    const kept = await replica.deps.snapshots.read({
      name: status?.snapshotRef?.name ?? '',
      namespace: 'ns',
      digest: status?.snapshotRef?.digest ?? '',
    });
    expect(kept.workflows['ns/w']).toMatchObject({
      generation: 2,
      spec: { actions: [{ http: { url: 'http://127.0.0.1:1/corrected' } }] },
    });
  });

  it('runs nothing when a workflow is gone', async () => {
    const { world, replica } = setup();
    world.remove('DRWorkflow', 'w');
    await replica.reconcile();
    expect(world.execution().status).toMatchObject({ phase: 'Failed', reason: 'WorkflowNotFound' });
    expect(world.plan().status?.currentExecution).toBeUndefined();
  });
});

describe('a plan whose holder was deleted', () => {
  const deleted = async () => {
    const world = createWorld();
    populate(world);
    await createReplica(world, { clusterId: 'this' }).reconcile();
    world.remove('DRPlanExecution', 'e');
    // The Temporal that is connected now knows no such run.
    world.runsById.clear();
    return world;
  };
  const sweep = async (world: World, temporal: { clusterId?: string; namespaceId?: string }) => {
    const replica = createReplica(world, temporal, { empty: true });
    replica.deps.caches.plans.learn(world.plan());
    await replica.reconcilePlan();
    return world.plan().status?.currentExecution;
  };

  it('stays locked while another Temporal is connected than the one of its run', async () => {
    const world = await deleted();
    expect(await sweep(world, { clusterId: 'another' })).toBeDefined();
    expect(await sweep(world, { clusterId: 'this', namespaceId: 'elsewhere' })).toBeDefined();
    expect(await sweep(world, { clusterId: 'this' })).toBeUndefined();
  });

  it('is freed where only the namespace is known', async () => {
    expect(await sweep(await deleted(), {})).toBeUndefined();
  });
});
