/**
 * Whoever reaches only Temporal moves nothing [F17]: runs, stages, activities and answers that were made up, changed in any
 * part, or repeated too late. The attacker has the inputs of a true run, which anybody may read there, and a worker of his
 * own; the programs are the stack's.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterId } from '../../api/plan/naming.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { readClusterUid } from '../../kube/cluster-id.js';
import type { KubeObject } from '../../kube/object.js';
import { taskQueues } from '../../workflows/core/contract.js';
import { stageWorkflowId } from '../../workflows/plan/contract.js';
import type { RunInput, StageRunInput } from '../../workflows/plan/contract.js';
import type { ActionTask } from '../../workflows/plan/contract-tasks.js';
import { createAccount } from '../support/accounts.js';
import { openAttacker } from '../support/attacker.js';
import type { Attacker } from '../support/attacker.js';
import type { Forged, Forgery } from '../support/forger.js';
import { actionAt, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

/** Tasks that are made up by chance for the real worker; many more are looked at without one, in test/fuzz. */
const FORGERIES = 300;
const AT_ONCE = 100;
/** No ConfigMap of this name may ever be there. */
const PLANTED = 'forged-by-temporal';
/** What the true run makes; taken away before it is attacked. */
const TRUE = 'made-by-the-plan';

let stack: Stack;
let queues: ReturnType<typeof taskQueues>;
let attacker: Attacker;
/** A run that has ended, whose start deadline is over. */
let ended: DRPlanExecution;
let input: RunInput;
let stage: StageRunInput;

const manifest = (name: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { by: name } });
const find = (name: string): Promise<KubeObject | undefined> =>
  stack.kube.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name });
const idOf = ({ status }: DRPlanExecution): string => status?.temporal?.workflowId ?? '';

beforeAll(async () => {
  stack = await openStack('forged');
  queues = taskQueues(clusterId(await readClusterUid(stack.kube)));
  attacker = await openAttacker(stack.temporal);
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'delete'] }];
  for (const name of ['rich', 'poor'])
    await createAccount(stack.kube, { namespace: stack.namespace, name }, name === 'rich' ? rules : []);
  await stack.simplePlan(
    'sealed',
    [
      {
        name: 'make',
        type: 'KubernetesResource',
        resource: { operation: 'Create', manifest: manifest(TRUE) },
      },
    ],
    { plan: { serviceAccountName: 'rich' } },
  );
  ended = await stack.ended(await stack.execute('sealed', { startDeadlineSeconds: 2 }));
  expect(ended.status).toMatchObject({ phase: 'Succeeded' });
  await stack.kube.delete({ apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name: TRUE });
  [input, stage] = await Promise.all([
    attacker.inputOf<RunInput>(idOf(ended)),
    attacker.inputOf<StageRunInput>(stageWorkflowId(idOf(ended), 0)),
  ]);
  await poll(
    () => Promise.resolve(new Date()),
    (now) => now > new Date(input.startDeadline),
  );
});
afterAll(async () => {
  await attacker?.close();
  await stack.close();
});

const forgeFrom: Attacker['forgeFrom'] = (...asked) => attacker.forgeFrom(...asked);

const activity = (name: string, task: unknown, queue = queues.worker): Forgery => ({
  kind: 'activity',
  queue,
  name,
  input: task,
});

/** Starts a workflow of Drover's; how it ended. */
const start = (type: string, workflowId: string, argument: unknown): Promise<Forged> =>
  attacker.start(type, { taskQueue: queues.worker, workflowId }, argument);

async function nothingHappened(): Promise<void> {
  expect(await find(PLANTED)).toBeUndefined();
  expect(await find(TRUE)).toBeUndefined();
  expect((await stack.get(ended)).status).toEqual(ended.status);
}

const copy = <T>(value: T): T => structuredClone(value);
/** What the true run would make, with another name. */
function withPlanted<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll(TRUE, PLANTED)) as T;
}
const changed = (change: (forged: RunInput) => void, from = input): RunInput => {
  const forged = copy(from);
  change(forged);
  return forged;
};
/** The task of the true run's action. */
const taskOf = (more: Partial<ActionTask> = {}): ActionTask => {
  const action = stage.stage.workflows[0]?.actions[0];
  if (action === undefined) throw new Error('no action');
  const { name, type, timeoutMs, retry, body, bodySeal } = action;
  return {
    run: stage.run,
    at: { stage: 0, workflow: 0, action: 0 },
    direction: 'forward',
    round: 0,
    name,
    type,
    timeoutMs,
    retry,
    ...(body !== undefined && { body }),
    ...(bodySeal !== undefined && { seals: { body: bodySeal } }),
    outputs: {},
    phases: {},
    ...more,
  };
};
const sealless = ({ seal: _, workflowId: __, inputDigest: ___, ...run }: RunInput['run']) => run;

/** A task with one covered place of it changed, or taken away. */
const forgeryOf = (task: ActionTask): fc.Arbitrary<ActionTask> => {
  const { round: _, timeoutMs: __, retry: ___, outputs: ____, phases: _____, ...covered } = task;
  const paths = pathsIn(covered);
  const values = fc.constantFrom<unknown>(undefined, null, '', 'x', 7, true, {}, []);
  return fc
    .tuple(fc.constantFrom(...paths), values)
    .map(([path, value]) => replaced(task, path, value) as ActionTask)
    .filter((forged) => JSON.stringify(forged) !== JSON.stringify(task) && forged.body !== undefined);
};

const pathsIn = (value: unknown): string[][] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, inner]) => [
        [key],
        ...pathsIn(inner).map((path) => [key, ...path]),
      ]);

const replaced = (value: unknown, [key = '', ...rest]: string[], by: unknown): unknown => ({
  ...(value as object),
  [key]: rest.length === 0 ? by : replaced((value as Record<string, unknown>)[key], rest, by),
});

describe('[F17] [SEC15] a run', () => {
  it('says under which key it is sealed', () => {
    expect(ended.status?.temporal?.sealKey).toMatch(/^\d{8}T\d{6}Z$/);
    expect(input.run.seal?.startsWith(`${ended.status?.temporal?.sealKey}.`)).toBe(true);
  });

  it('that nobody created does nothing, says so, and waits until it is cancelled [S6.20]', async () => {
    const forged = changed((own) => {
      own.run = { ...sealless(own.run), uid: randomUUID(), name: 'forged' };
      own.startDeadline = '2099-01-01T00:00:00Z';
    }, withPlanted(input));
    const workflowId = `forged-${randomUUID()}`;
    const handle = await stack.temporal.workflow.start('drPlanExecution', {
      taskQueue: queues.worker,
      workflowId,
      args: [forged],
    });
    const own = stack.temporal.workflow.getHandle(stageWorkflowId(workflowId, 0));
    const seen = await poll(
      () =>
        own.describe().then(
          ({ raw }) => raw.pendingActivities ?? [],
          () => [],
        ),
      (pending) =>
        pending.some(({ lastFailure }) => lastFailure?.message?.includes('without seals') === true),
    );
    expect(seen[0]?.lastFailure?.applicationFailureInfo?.type).toBe('NotSealed');
    await handle.terminate();
    await own.terminate();
    await nothingHappened();
  });

  it.each<[string, RegExp, (forged: RunInput) => void]>([
    ['another deadline', /input is not the one/, (own) => (own.startDeadline = '2099-01-01T00:00:00Z')],
    ['another order', /input is not the one/, (own) => own.stages.push(...copy(own.stages))],
    ['other times', /input is not the one/, (own) => (own.bounds.settleMs = 1)],
    ['another id in its identity', /this is not workflow/, (own) => (own.run.workflowId = 'x')],
    ['another uid', /nobody vouches for who the run is/, (own) => (own.run.uid = randomUUID())],
    ['another account', /nobody vouches for who/, (own) => (own.run.serviceAccountName = 'poor')],
    ['another snapshot', /nobody vouches for who/, (own) => (own.run.snapshot.digest = 'd')],
    ['another requester', /nobody vouches for who/, (own) => (own.run.requestedBy = 'admin')],
    ['an undo', /nobody vouches for who/, (own) => (own.run.rollsBack = true)],
  ])('with %s does nothing', async (_, message, change) => {
    // After the deadline a run ends before it does anything: what is sealed is looked at all the same.
    expect(await start('drPlanExecution', idOf(ended), changed(change))).toMatchObject({
      failure: 'NotSealed',
      message: expect.stringMatching(message),
    });
    await nothingHappened();
  });

  it('with another body does nothing', async () => {
    const [forged] = await forgeFrom(idOf(ended), activity('kubernetesResource', withPlanted(taskOf())));
    expect(forged).toMatchObject({ result: { phase: 'Failed', reason: 'NotSealed', effect: 'None' } });
    await nothingHappened();
  });

  it('under another id does nothing', async () => {
    expect(await start('drPlanExecution', `forged-${randomUUID()}`, input)).toMatchObject({
      failure: 'NotSealed',
    });
    await nothingHappened();
  });

  it('that is repeated after its start deadline does nothing', async () => {
    // Its last word is that of an execution that has ended, so that nobody hears it.
    expect(await start('drPlanExecution', idOf(ended), input)).toMatchObject({
      result: { phase: 'Failed', reason: 'StartDeadlineExceeded' },
    });
    await nothingHappened();
  });
});

describe('[F17] [SEC15] a stage', () => {
  it('without its run as parent ends at once', async () => {
    expect(await start('drStage', stageWorkflowId(idOf(ended), 0), stage)).toMatchObject({
      failure: 'NotSealed',
      message: expect.stringContaining('not started by its run'),
    });
    const { run, mirror, bounds } = stage;
    const undo = { index: 0, name: 's', steps: [], status: { name: 's', phase: 'Pending' } };
    expect(await start('drStageRollback', `${idOf(ended)}/r0`, { run, undo, mirror, bounds })).toMatchObject({
      failure: 'NotSealed',
    });
    await nothingHappened();
  });

  it('with another run as parent ends at once, and one with other actions does nothing', async () => {
    const child = (workflowId: string, own: StageRunInput): Forgery => ({
      kind: 'child',
      queue: queues.worker,
      type: 'drStage',
      workflowId,
      input: own,
    });
    const other = `forged-${randomUUID()}`;
    const [stranger] = await forgeFrom(other, child(`${other}/s0`, stage));
    expect(stranger).toMatchObject({ failure: 'NotSealed' });
    const [forged] = await forgeFrom(idOf(ended), child(stageWorkflowId(idOf(ended), 0), withPlanted(stage)));
    expect(forged).toMatchObject({
      result: {
        status: { workflowExecutions: [{ actionStatuses: [{ phase: 'Failed', reason: 'NotSealed' }] }] },
      },
    });
    await nothingHappened();
  });
});

describe('[F17] [SEC15] an activity', () => {
  const notSealed = { result: { phase: 'Failed', reason: 'NotSealed' } };

  it('of a workflow that is not of its run does nothing, nor one of no workflow at all', async () => {
    for (const id of [`forged-${randomUUID()}`, `${idOf(ended)}/s1`, `${idOf(ended)}/x`]) {
      expect(await forgeFrom(id, activity('kubernetesResource', taskOf()))).toEqual([
        expect.objectContaining({ result: expect.objectContaining({ reason: 'NotSealed' }) }),
      ]);
    }
    const alone = await stack.temporal.activity
      .execute('kubernetesResource', {
        id: `alone-${randomUUID()}`,
        taskQueue: queues.worker,
        startToCloseTimeout: '20s',
        heartbeatTimeout: '8s',
        retry: { maximumAttempts: 1 },
        args: [taskOf()],
      })
      .then((result: unknown) => ({ result }));
    expect(alone).toMatchObject(notSealed);
    await nothingHappened();
  });

  it('of a true run that was changed in any part does nothing', async () => {
    const victim = await stack.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'victim', namespace: stack.namespace },
    });
    const created = [{ ...victim.metadata, apiVersion: 'v1', kind: 'ConfigMap' }].map(
      ({ apiVersion, kind, name, namespace, uid }) => ({ apiVersion, kind, name, namespace, uid }),
    ) as never;
    const forward = { name: 'make', phase: 'Succeeded', effect: 'Done', outputs: { created } } as const;
    const undo = { direction: 'undo', forward } as const;
    const parts: [string, ActionTask][] = [
      ['run', taskOf({ run: { ...stage.run, serviceAccountName: 'poor' } })],
      ['position', taskOf({ at: { stage: 0, workflow: 0, action: 1 } })],
      ['direction', taskOf({ direction: 'sideways' as never })],
      ['name', taskOf({ name: 'other' })],
      ['type', taskOf({ type: 'Job' })],
      ['cluster', taskOf({ at: { stage: 0, workflow: 0, action: 0, cluster: 'ns/east' }, clusterId: 'e' })],
      ['an undo', taskOf(undo)],
      [
        'an undo in a run that says that it rolls back',
        taskOf({ ...undo, run: { ...stage.run, rollsBack: true } }),
      ],
      ['no seal of the body', taskOf({ seals: {} })],
    ];
    const told = await forgeFrom(
      idOf(ended),
      ...parts.map(([, task]) => activity('kubernetesResource', task)),
    );
    told.forEach((forged, index) => {
      expect(forged, parts[index]?.[0]).toMatchObject(notSealed);
    });
    // What else an action is made of.
    const others = await forgeFrom(
      idOf(ended),
      activity('capture', withPlanted(taskOf())),
      activity('settle', withPlanted(taskOf())),
      activity('cleanUp', { ...taskOf(), moment: 'after', made: { created } }),
      activity('cleanUp', { ...withPlanted(taskOf()), moment: 'before' }),
      activity('decide', withPlanted(taskOf()), queues.urgent),
      activity('targets', withPlanted(taskOf({ type: 'Subscription' })), queues.urgent),
      activity('http', withPlanted(taskOf())),
    );
    for (const forged of others) {
      expect(forged).toMatchObject({ result: expect.objectContaining({ reason: 'NotSealed' }) });
    }
    expect((await find('victim'))?.metadata.uid).toBe(victim.metadata.uid);
    await nothingHappened();
  });

  it('that was changed by chance does nothing', async () => {
    const random = fc.sample(forgeryOf(taskOf()), { numRuns: FORGERIES, seed: 17 });
    for (let from = 0; from < random.length; from += AT_ONCE) {
      const told = await forgeFrom(
        idOf(ended),
        ...random.slice(from, from + AT_ONCE).map((task) => activity('kubernetesResource', task)),
      );
      told.forEach((forged, index) => {
        expect(forged, JSON.stringify(random[from + index])).not.toMatchObject({
          result: { phase: 'Succeeded' },
        });
      });
    }
    await nothingHappened();
  });

  it('of the bridge does nothing for whom it does not vouch for', async () => {
    const { run } = stage;
    const finish = { run, sequence: 99, phase: 'Failed', reason: 'Forged', message: 'forged', stages: [] };
    const mirror = { run, from: 'run', sequence: 99, stages: [], message: 'forged' };
    const stranger = await forgeFrom(
      `forged-${randomUUID()}`,
      activity('mirror', mirror, queues.bridge),
      activity('finish', finish, queues.bridge),
      activity('unfinished', { workflowId: stageWorkflowId(idOf(ended), 0), run }, queues.bridge),
      activity('nestedPlan', { task: taskOf({ type: 'Plan' }) }, queues.bridge),
    );
    const [mirrored, finished, unfinished, nested] = stranger;
    for (const forged of [mirrored, finished, unfinished])
      expect(forged).toMatchObject({ failure: 'NotSealed' });
    expect(nested).toMatchObject({ result: { kind: 'ended', outcome: { reason: 'NotSealed' } } });
    // Under its id, for another run.
    const other = { ...run, uid: randomUUID() };
    const [forged, foreign] = await forgeFrom(
      idOf(ended),
      activity('finish', { ...finish, run: other }, queues.bridge),
      activity('unfinished', { workflowId: 'dr/somebody/else/s0', run }, queues.bridge),
    );
    expect([forged, foreign]).toMatchObject([{ failure: 'NotSealed' }, { failure: 'NotSealed' }]);
    await nothingHappened();
  });
});

describe('[F17] [SEC15] an approval', () => {
  it('by a signal does not count, and the status says so [S6.20]', async () => {
    await stack.simplePlan('asks', [
      { name: 'ask', type: 'Approval', approval: { message: 'go?', approvers: { users: ['boss'] } } },
    ]);
    const execution = await stack.execute('asks');
    const waiting = await stack.until(execution, (now) => actionAt(now, 0, 0, 0)?.phase === 'Running');
    await stack.until(execution, (now) => actionAt(now, 0, 0, 0)?.message?.includes('(0/1)') === true);
    const answer = {
      id: 'x',
      at: '0/0/0',
      decision: 'Approve',
      user: 'boss',
      groups: [],
      time: 't',
      verified: true,
    };
    const handle = stack.temporal.workflow.getHandle(stageWorkflowId(idOf(waiting), 0));
    const { seal = '' } = input.run;
    for (const forged of [answer, { ...answer, verified: false }, { ...answer, seal }])
      await handle.signal('answer', forged);
    const told = await stack.until(
      execution,
      (now) => actionAt(now, 0, 0, 0)?.message?.includes('not counted') === true,
    );
    expect(actionAt(told, 0, 0, 0)).toMatchObject({
      phase: 'Running',
      message: expect.stringContaining('the bridge has not sent this answer'),
    });
    await handle.signal('cancel');
    expect((await stack.ended(execution)).status).toMatchObject({ phase: 'Cancelled' });
  });
});
