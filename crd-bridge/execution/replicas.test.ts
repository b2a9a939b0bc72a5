/** What several replicas with caches of different age do to one execution. */
import { describe, expect, it } from 'vitest';
import { ANNOTATIONS } from '../../api/group.js';
import { createReplica, createWorld, populate } from '../testing/replicas.js';

describe('a start', () => {
  it('takes the plan, starts the run and records it', async () => {
    const world = createWorld();
    populate(world);
    await createReplica(world).reconcile();
    expect(world.execution().status).toMatchObject({ phase: 'Running', temporal: { runId: 'r1' } });
    expect(world.plan().status?.currentExecution?.uid).toBe('execution-uid');
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

  it('neither ends nor cancels one that runs', async () => {
    const { world, replica } = late('Running');
    const workflowId = replica.kind.workflowId(world.execution());
    world.runsById.set(workflowId, { workflowId, runId: 'r1', state: 'Running', startTime: new Date() });
    await replica.reconcile();
    expect(world.execution().status?.phase).toBe('Running');
    expect(world.signals).toEqual([]);
  });

  it('cancels the run of one that is recorded while it is being refused', async () => {
    const world = createWorld();
    populate(world);
    const replica = createReplica(world);
    world.put({ ...world.plan(), status: { ...world.plan().status, phase: 'Invalid' } });
    replica.sync();
    const workflowId = replica.kind.workflowId(world.execution());
    world.once('patch', 'DRPlanExecution', () => {
      const run = { workflowId, runId: 'r1', startTime: new Date() };
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

  it('ends it as abandoned: what another controller has done is not known', async () => {
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
