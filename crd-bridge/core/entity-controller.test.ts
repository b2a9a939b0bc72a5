import { describe, expect, it } from 'vitest';
import type { WorkflowDescription, Workflows } from '../../client/runs/workflows.js';
import type { KubeClient } from '../../kube/client.js';
import type { Cacheable, Informer } from '../../kube/informer.js';
import type { EntityInput } from '../../workflows/core/contract-entity.js';
import { createEntityController } from './entity-controller.js';
import type { EpochDecision, EntityKind, RecordedEpoch } from './entity.js';
import type { StatusWriter } from './status-writer.js';

const FINALIZER = 'test/held';

interface Thing extends Cacheable {
  metadata: Cacheable['metadata'] & { generation?: number; deletionTimestamp?: string };
  status?: { epoch?: RecordedEpoch; over?: boolean; observed?: number };
}

/** One object on an API server, a cache that may be behind it, and a Temporal that answers as the test wants. */
function setup() {
  const world = {
    now: 1_000_000,
    calls: [] as string[],
    live: {
      metadata: { name: 'o', namespace: 'ns', uid: '12345678-9', generation: 1 },
    } as Thing,
    found: {} as Record<string, WorkflowDescription | undefined>,
    result: { kind: 'retired' } as unknown,
    where: { namespaceId: 'here' },
    decision: { kind: 'start' } as EpochDecision,
    inputs: [] as EntityInput[],
    /** What workflows were started with. */
    given: {} as Record<string, unknown>,
  };
  const kind: EntityKind<Thing> = {
    words: { one: 'thing', several: 'things' },
    workflowType: 'thing',
    taskQueue: 'queue',
    idPrefix: 'thing/c/',
    finalizer: FINALIZER,
    view: ({ metadata, status }) => ({
      ...(status?.epoch !== undefined && { recorded: status.epoch }),
      over: status?.over === true,
      deleting: metadata.deletionTimestamp !== undefined,
      held: metadata.finalizers?.includes(FINALIZER) ?? false,
      ...(status?.observed !== undefined && { observed: status.observed }),
      forceRelease: metadata.annotations?.force === 'true',
    }),
    desired: () => ({ spec: { size: 1 } }),
    prepareStart: () => Promise.resolve(world.decision),
    withEpoch: ({ status }, epoch) => ({ ...status, epoch }),
    withEnd: ({ status }) => ({ ...status, over: true }),
    held: (_, reason) => {
      world.calls.push(`held ${reason}`);
      return Promise.resolve();
    },
  };
  const workflows: Workflows = {
    start({ workflowId, input }) {
      world.calls.push(`start ${workflowId}`);
      world.inputs.push(input as EntityInput);
      const known = world.found[workflowId];
      if (known !== undefined) return Promise.resolve({ kind: 'exists' });
      world.given[workflowId] = input;
      world.found[workflowId] ??= running(`first of ${workflowId}`);
      return Promise.resolve({ kind: 'started', runId: world.found[workflowId].firstRunId });
    },
    describe(workflowId) {
      world.calls.push('describe');
      return Promise.resolve(world.found[workflowId]);
    },
    signal(_, name) {
      world.calls.push(`signal ${name}`);
      return Promise.resolve('accepted');
    },
    input: (workflowId) => Promise.resolve(world.given[workflowId]),
    result: () => Promise.resolve(world.result),
  };
  const running = (firstRunId: string): WorkflowDescription => ({
    runId: firstRunId,
    type: kind.workflowType,
    taskQueue: kind.taskQueue,
    firstRunId,
    state: 'Running',
    startTime: new Date(world.now),
  });
  const store = (next: Partial<Thing>): { kind: 'written'; object: never } => {
    world.live = { ...world.live, ...next };
    return { kind: 'written', object: world.live as never };
  };
  const writer: StatusWriter = {
    status: (_, __, project) => {
      const status = project(world.live as never);
      if (status === undefined) return Promise.resolve({ kind: 'unchanged', object: world.live as never });
      world.calls.push('status');
      return Promise.resolve(store({ status }));
    },
    metadata: (_, __, project) => {
      const fields = project(world.live as never);
      if (fields === undefined) return Promise.resolve({ kind: 'unchanged', object: world.live as never });
      world.calls.push(`finalizers ${(fields.finalizers ?? []).join()}`);
      return Promise.resolve(store({ metadata: { ...world.live.metadata, ...fields } }));
    },
  };
  const silent = (): void => undefined;
  const controller = createEntityController<Thing>({
    kind,
    workflows,
    writer,
    cache: { apiVersion: 'v1', kind: 'Thing', learn: silent } as unknown as Informer<Thing>,
    kube: { get: () => Promise.resolve(world.live), now: () => world.now } as unknown as KubeClient,
    cluster: 'c',
    gate: { closed: () => undefined } as never,
    temporal: { namespace: 'default', namespaceId: 'here', searchAttributes: false },
    where: () => Promise.resolve({ namespaceId: world.where.namespaceId }),
    seal: () => 'seal',
    verify: () => Promise.resolve({ kind: 'sealed' }),
    silenceMs: 30_000,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    onStart: silent,
    now: () => world.now,
  });
  const reconcile = async (object = world.live): Promise<{ after: number | undefined; calls: string[] }> => {
    world.calls = [];
    const after = await controller.reconcile(object);
    return { after, calls: world.calls };
  };
  /** So long that the workflow is described again. */
  const silence = (): void => {
    world.now += 31_000;
  };
  /** Ends the workflow of an epoch after it has run for a time. */
  const end = (epoch: number, state: 'Closed' | 'Completed', lastedMs: number): void => {
    const id = idOf(epoch);
    const known = world.found[id];
    if (known === undefined) throw new Error(`no epoch ${epoch}`);
    world.now += lastedMs;
    world.found[id] = { ...known, state, closeTime: new Date(world.now) };
    silence();
  };
  return { world, reconcile, end, silence };
}
const idOf = (epoch: number): string => `thing/c/ns/o/12345678/${epoch}`;

describe('an object', () => {
  it('is held first, then given to the first epoch, which is recorded', async () => {
    const { reconcile, world } = setup();
    expect((await reconcile()).calls).toEqual([`finalizers ${FINALIZER}`, `start ${idOf(1)}`, 'status']);
    expect(world.live.status?.epoch).toEqual({
      epoch: 1,
      workflowId: idOf(1),
      firstRunId: `first of ${idOf(1)}`,
      namespaceId: 'here',
    });
    expect(world.inputs[0]).toMatchObject({
      entity: { uid: '12345678-9', epoch: 1 },
      desired: { generation: 1 },
    });
  });

  it('that may not be looked after yet is neither held nor started', async () => {
    const { reconcile, world } = setup();
    world.decision = { kind: 'wait', ms: 500 };
    expect(await reconcile()).toEqual({ after: 500, calls: [] });
  });

  it('that changes is told its workflow once, and again when that has not observed it in time', async () => {
    const { reconcile, world, silence } = setup();
    await reconcile();
    expect((await reconcile()).calls).toEqual([]);
    world.live = { ...world.live, metadata: { ...world.live.metadata, generation: 2 } };
    expect((await reconcile()).calls).toEqual(['signal desired']);
    silence();
    expect((await reconcile()).calls).toEqual(['describe']);
    expect((await reconcile()).calls).toEqual(['signal desired']);
    world.live = { ...world.live, status: { ...world.live.status, observed: 2 } };
    silence();
    expect((await reconcile()).calls).toEqual(['describe']);
    expect((await reconcile()).calls).toEqual([]);
  });

  it('whose Temporal is another one is left alone', async () => {
    const { reconcile, world } = setup();
    await reconcile();
    const { epoch } = world.live.status ?? {};
    world.live = {
      ...world.live,
      status: { epoch: { ...(epoch as RecordedEpoch), namespaceId: 'elsewhere' } },
    };
    expect((await reconcile()).calls).toEqual(['held TemporalMismatch']);
  });
});

describe('a further epoch', () => {
  it('takes over when the workflow was ended from outside or is lost', async () => {
    const { reconcile, world, end } = setup();
    await reconcile();
    end(1, 'Closed', 100_000);
    expect((await reconcile()).calls).toEqual(['describe', `start ${idOf(2)}`, 'status']);
    delete world.found[idOf(2)];
    world.now += 100_000;
    expect((await reconcile()).calls).toEqual(['describe', `start ${idOf(3)}`, 'status']);
  });

  it('takes over when a stranger runs under the id', async () => {
    const { reconcile, world, silence } = setup();
    await reconcile();
    silence();
    world.found[idOf(1)] = { ...(world.found[idOf(1)] as WorkflowDescription), firstRunId: 'stranger' };
    expect((await reconcile()).calls).toContain(`start ${idOf(2)}`);
  });

  it('takes over when the entity has retired although nobody has deleted its object [F17]', async () => {
    const { reconcile, world, end } = setup();
    await reconcile();
    world.result = { kind: 'retired' };
    end(1, 'Completed', 100_000);
    expect((await reconcile()).calls).toContain(`start ${idOf(2)}`);
    expect(world.live.metadata.finalizers).toEqual([FINALIZER]);
  });

  it.each<[string, (given: EntityInput) => unknown, Partial<WorkflowDescription>]>([
    ['of another type', (given) => given, { type: 'other' }],
    ['on another queue', (given) => given, { taskQueue: 'other' }],
    ['that claims to continue another', (given) => ({ ...given, carried: { sequence: 1, state: {} } }), {}],
    ['of another epoch', (given) => ({ ...given, entity: { ...given.entity, epoch: 1 } }), {}],
    ['that was given nothing', () => undefined, {}],
  ])('passes over a workflow id that a stranger has taken: one %s [F17]', async (_, change, more) => {
    const { reconcile, world, end } = setup();
    await reconcile();
    const [first] = world.inputs;
    if (first === undefined) throw new Error('nothing was started');
    const own = { ...first, entity: { ...first.entity, epoch: 2, workflowId: idOf(2) } };
    world.given[idOf(2)] = change(own);
    world.found[idOf(2)] = { ...(world.found[idOf(1)] as WorkflowDescription), ...more };
    end(1, 'Closed', 100_000);
    expect(await reconcile()).toMatchObject({
      after: 1000,
      calls: expect.arrayContaining(['held WorkflowIdTaken']),
    });
    expect((await reconcile()).calls).toContain(`start ${idOf(3)}`);
    expect(world.live.status?.epoch?.epoch).toBe(3);
  });

  it('is not begun by a replica whose cache is behind', async () => {
    const { reconcile, world, end, silence } = setup();
    await reconcile();
    const stale = world.live;
    end(1, 'Closed', 100_000);
    await reconcile();
    expect(world.live.status?.epoch?.epoch).toBe(2);
    silence();
    expect((await reconcile(stale)).calls).toEqual(['describe']);
  });

  it('waits longer each time that one ends at once', async () => {
    const { reconcile, world, end } = setup();
    await reconcile();
    const waits: number[] = [];
    for (let epoch = 1; epoch <= 9; epoch += 1) {
      end(epoch, 'Closed', 10);
      const { after = 0, calls } = await reconcile();
      if (calls.includes('held EpochsEnd')) {
        waits.push(after);
        world.now += after;
        await reconcile();
      }
      expect(world.live.status?.epoch?.epoch).toBe(epoch + 1);
    }
    expect(waits.length).toBeGreaterThan(2);
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
  });

  it('never follows an end that the entity has chosen itself', async () => {
    const { reconcile, world, end } = setup();
    await reconcile();
    world.result = { kind: 'ended', reason: 'Done', message: '' };
    end(1, 'Completed', 10);
    expect((await reconcile()).calls).toEqual(['describe', 'status', 'finalizers ']);
    expect((await reconcile()).calls).toEqual([]);
  });
});

describe('a deletion', () => {
  const beDeleted = (world: { live: Thing }): void => {
    world.live = { ...world.live, metadata: { ...world.live.metadata, deletionTimestamp: 't' } };
  };

  it('asks the workflow to retire, which takes the finalizer off itself', async () => {
    const { reconcile, world } = setup();
    await reconcile();
    beDeleted(world);
    expect((await reconcile()).calls).toEqual(['signal retire']);
    expect(world.live.metadata.finalizers).toEqual([FINALIZER]);
  });

  it('of an object that nobody has looked after lets it go', async () => {
    const { reconcile, world } = setup();
    world.live = { ...world.live, metadata: { ...world.live.metadata, finalizers: [FINALIZER] } };
    beDeleted(world);
    expect((await reconcile()).calls).toEqual(['describe', 'finalizers ']);
  });

  it('of an object whose workflow is gone gives it to a further epoch, which knows that it is to retire', async () => {
    const { reconcile, world, end } = setup();
    await reconcile();
    end(1, 'Closed', 100_000);
    beDeleted(world);
    await reconcile();
    world.now += 3_000;
    expect((await reconcile()).calls).toContain(`start ${idOf(2)}`);
    expect(world.inputs[1]?.retire).toEqual({ reason: 'the thing was deleted', seal: 'seal' });
  });

  it('is let through by a person where nobody answers', async () => {
    const { reconcile, world } = setup();
    await reconcile();
    beDeleted(world);
    world.live.metadata.annotations = { force: 'true' };
    expect((await reconcile()).calls).toEqual(['finalizers ']);
  });
});
