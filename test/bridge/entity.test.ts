/** The life of an entity, by a small kind of its own, on the real API server and the real Temporal. */
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEntityActivities } from '../../activities/core/entities.js';
import { crd } from '../../scripts/generate/crd.js';
import { BEACON_API, BEACON_GROUP, beaconKind, beaconRow, COLOUR } from '../support/beacon/kind.js';
import type { Beacon } from '../support/beacon/kind.js';
import type { BeaconActivities, BeaconSpec } from '../support/beacon/workflow.js';
import { servers } from '../support/servers.js';
import { stackSealer } from '../support/seals.js';
import { openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startReplica } from './replica.js';
import type { Replica } from './replica.js';

const cluster = unique('toy').slice(-8);
let stack: Stack;
let connection: NativeConnection | undefined;
let worker: Worker | undefined;
let working: Promise<void> | undefined;
let reads = 0;
const replicas: Replica[] = [];
const join = async (): Promise<Replica> => {
  const replica = await startReplica({
    cluster,
    rows: (services) => [beaconRow(services)],
    kinds: [beaconKind],
    flags: ['--previous-controller='],
  });
  replicas.push(replica);
  return replica;
};

beforeAll(async () => {
  stack = await openStack('entity');
  await stack.apply(JSON.stringify(crd(beaconKind)));
  await poll(
    () => stack.kube.list({ apiVersion: BEACON_API, kind: 'Beacon' }).catch(() => undefined),
    (found) => found !== undefined,
  );
  await join();
  await join();
  connection = await NativeConnection.connect({ address: servers.temporal });
  const sealer = await stackSealer();
  const own: BeaconActivities = {
    async readLevel(at) {
      reads += 1;
      const found = await stack.kube.get<{ data?: { level?: string } }>({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        ...at,
      });
      return found?.data?.level ?? '';
    },
  };
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../support/beacon/workflow.ts', import.meta.url)),
    webpackConfigHook: (config) => ({
      ...config,
      resolve: { ...config.resolve, extensionAlias: { '.js': ['.ts', '.js'] } },
    }),
    logger: { ...console, log: () => undefined, trace: () => undefined, info: () => undefined },
  });
  worker = await Worker.create({
    connection,
    namespace: servers.temporalNamespace,
    taskQueue: `drover-${cluster}`,
    workflowBundle,
    activities: {
      ...own,
      ...createEntityActivities(sealer),
    },
  });
  working = worker.run();
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()));
  worker?.shutdown();
  await working;
  await connection?.close();
  await stack.close();
});

const keyOf = (name: string) => ({
  apiVersion: BEACON_API,
  kind: 'Beacon',
  namespace: stack.namespace,
  name,
});
const read = (name: string): Promise<Beacon | undefined> => stack.kube.get<Beacon>(keyOf(name));
const until = async (name: string, what: (found: Beacon) => boolean): Promise<Beacon> => {
  const found = await poll(
    () => read(name),
    (now) => now !== undefined && what(now),
  );
  if (found === undefined) throw new Error(`no beacon ${name}`);
  return found;
};
const setLevel = (name: string, level: string) =>
  stack.kube.patch(
    { apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: stack.namespace, labels: { [`${BEACON_GROUP}/level`]: 'true' } },
      data: { level },
    },
    { kind: 'apply', force: true, fieldManager: 'test' },
  );
async function light(spec: Partial<BeaconSpec> = {}): Promise<string> {
  const name = unique('beacon');
  await setLevel(name, 'low');
  await stack.create({
    apiVersion: BEACON_API,
    kind: 'Beacon',
    metadata: { name, namespace: stack.namespace },
    spec: { colour: 'red', watches: name, ...spec },
  });
  return name;
}
const shines =
  (level: string) =>
  ({ status }: Beacon): boolean =>
    status?.phase === 'Shining' && status.level === level;
const handleOf = (found: Beacon) => stack.temporal.workflow.getHandle(found.status?.epoch?.workflowId ?? '');

it('is looked after from its creation by one workflow, though two bridges see it', async () => {
  const found = await until(await light(), shines('low'));
  expect(found.status).toMatchObject({ colour: 'red', observedGeneration: 1, requestedBy: 'somebody' });
  expect(found.metadata.finalizers).toEqual([`${BEACON_GROUP}/beacon`]);
  const { uid = '', name } = found.metadata;
  expect(found.status?.epoch).toMatchObject({
    epoch: 1,
    workflowId: `beacon/${cluster}/${stack.namespace}/${name}/${uid.slice(0, 8)}/1`,
  });
  const { raw } = await handleOf(found).describe();
  expect(found.status?.epoch?.firstRunId).toBe(raw.workflowExecutionInfo?.firstRunId);
});

it('hears of a new spec with its generation, and records what its kind lets it write', async () => {
  const name = await light();
  await until(name, shines('low'));
  await stack.kube.patch(keyOf(name), { spec: { colour: 'green' } }, { kind: 'merge' });
  const found = await until(name, ({ status }) => status?.observedGeneration === 2);
  expect(found.status?.colour).toBe('green');
  expect(found.metadata.annotations).toMatchObject({ [COLOUR]: 'green' });
  expect(found.metadata.annotations).not.toHaveProperty('not.allowed/here');
});

it('is woken by what it watches, and waits for it without a slot', async () => {
  const name = await light();
  await until(name, shines('low'));
  const before = reads;
  await setLevel(name, 'high');
  await until(name, shines('high'));
  expect(reads - before).toBeLessThan(6);
});

it('continues as new, and goes on where it was', async () => {
  const name = await light();
  const first = await until(name, shines('low'));
  for (let turn = 1; turn <= 30; turn += 1) {
    await setLevel(name, `level-${turn}`);
    const found = await until(name, shines(`level-${turn}`));
    if ((found.status?.turns ?? 0) > 0) break;
  }
  const found = await until(name, ({ status }) => (status?.turns ?? 0) > 0);
  expect(found.status?.epoch).toEqual(first.status?.epoch);
  expect(found.status?.runId).not.toBe(first.status?.runId);
});

it('is taken over by the next epoch when its workflow is ended from outside', async () => {
  const name = await light();
  const first = await until(name, shines('low'));
  await handleOf(first).terminate('a test');
  await setLevel(name, 'high');
  const found = await until(name, (now) => shines('high')(now) && now.status?.epoch?.epoch === 2);
  expect(found.status?.epoch?.workflowId).toMatch(/\/2$/);
});

it('is taken over by the next epoch when Temporal has lost it', async () => {
  const name = await light();
  const first = await until(name, shines('low'));
  await connection?.workflowService.deleteWorkflowExecution({
    namespace: servers.temporalNamespace,
    workflowExecution: { workflowId: first.status?.epoch?.workflowId ?? '' },
  });
  await setLevel(name, 'high');
  const found = await until(name, shines('high'));
  expect(found.status?.epoch?.epoch).toBe(2);
});

it('is retired when it is deleted: its workflow takes the finalizer off and ends', async () => {
  const name = await light();
  const found = await until(name, shines('low'));
  await stack.kube.delete(keyOf(name));
  await poll(
    () => read(name),
    (now) => now === undefined,
  );
  expect(await handleOf(found).result()).toEqual({ kind: 'retired' });
});

it('is retired by the next epoch when its workflow is gone', async () => {
  const name = await light();
  const found = await until(name, shines('low'));
  await handleOf(found).terminate('a test');
  await stack.kube.delete(keyOf(name));
  await poll(
    () => read(name),
    (now) => now === undefined,
  );
  const next = (found.status?.epoch?.workflowId ?? '').replace(/\/1$/, '/2');
  expect(await stack.temporal.workflow.getHandle(next).result()).toEqual({ kind: 'retired' });
});

it('may end by itself: then nobody looks after it, and it can be deleted', async () => {
  const name = await light({ endsAt: 'high' });
  await until(name, shines('low'));
  await setLevel(name, 'high');
  const found = await until(
    name,
    ({ status, metadata }) => status?.phase === 'Ended' && (metadata.finalizers ?? []).length === 0,
  );
  expect(found.status?.epoch?.epoch).toBe(1);
  await stack.kube.delete(keyOf(name));
  await poll(
    () => read(name),
    (now) => now === undefined,
  );
});

it('speaks for nobody when its input was copied and started again', async () => {
  const name = await light();
  const found = await until(name, shines('low'));
  const handle = handleOf(found);
  const { raw } = await handle.describe();
  const history = await handle.fetchHistory();
  const payloads = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const [input] = payloads.map(({ data }) => JSON.parse(Buffer.from(data ?? []).toString()) as unknown);
  await handle.terminate('an attacker');
  await stack.temporal.workflow.start('beacon', {
    workflowId: found.status?.epoch?.workflowId ?? '',
    taskQueue: raw.workflowExecutionInfo?.taskQueue ?? '',
    args: [input],
  });
  await setLevel(name, 'forged');
  // The bridge does not take the stranger for its own: another epoch looks after the object.
  const after = await until(name, shines('forged'));
  expect(after.status?.epoch?.epoch).toBe(2);
});

it('heeds no signal that the bridge has not sent, whatever is in it [F17]', async () => {
  const name = await light();
  const found = await until(name, shines('low'));
  const handle = handleOf(found);
  const spec = { colour: 'black', watches: name };
  const forged = {
    generation: 7,
    spec,
    seal: '20200101T000000Z.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  };
  for (const said of [undefined, null, 7, {}, { generation: 9 }, { ...forged, seal: '' }])
    await handle.signal('desired', said);
  for (const said of [undefined, { reason: 'forged' }, { reason: 'forged', seal: '' }])
    await handle.signal('retire', said);
  await setLevel(name, 'high');
  const after = await until(name, shines('high'));
  expect(after.status).toMatchObject({ colour: 'red', observedGeneration: 1, epoch: { epoch: 1 } });
  expect(after.metadata.finalizers).toEqual([`${BEACON_GROUP}/beacon`]);
});

it('passes over an epoch whose workflow id a stranger has taken, and says so [F17]', async () => {
  const name = await light();
  const found = await until(name, shines('low'));
  const next = (found.status?.epoch?.workflowId ?? '').replace(/\/1$/, '/2');
  const stranger = await stack.temporal.workflow.start('beacon', {
    workflowId: next,
    taskQueue: `${cluster}-nobody`,
  });
  await handleOf(found).terminate('an attacker');
  await setLevel(name, 'high');
  const after = await until(name, shines('high'));
  expect(after.status).toMatchObject({
    epoch: { epoch: 3 },
    held: { reason: 'WorkflowIdTaken', message: expect.stringContaining(next) },
  });
  await stranger.terminate();
});

const reset = async (found: Beacon): Promise<void> => {
  const workflowId = found.status?.epoch?.workflowId ?? '';
  const { runId } = await handleOf(found).describe();
  const first = await poll(
    async () => {
      const { events } = await stack.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
      return events?.find((event) => event.workflowTaskCompletedEventAttributes);
    },
    (event) => event !== undefined,
  );
  await connection?.workflowService.resetWorkflowExecution({
    namespace: servers.temporalNamespace,
    workflowExecution: { workflowId, runId },
    reason: 'a test',
    workflowTaskFinishEventId: first?.eventId ?? null,
    requestId: unique('reset'),
  });
};

it('goes on after a reset, and its status with it', async () => {
  const name = await light();
  const found = await until(name, shines('low'));
  await setLevel(name, 'high');
  await until(name, shines('high'));
  await reset(found);
  await setLevel(name, 'higher');
  const after = await until(name, shines('higher'));
  expect(after.status?.epoch).toEqual(found.status?.epoch);
  expect(after.status?.runId).not.toBe(found.status?.runId);
});

it('of an epoch that is over does nothing when somebody resets it [F17]', async () => {
  const name = await light();
  const found = await until(name, shines('low'));
  await handleOf(found).terminate('a test');
  await setLevel(name, 'high');
  const after = await until(name, (now) => shines('high')(now) && now.status?.epoch?.epoch === 2);
  await reset(found);
  await expect(handleOf(found).result()).rejects.toMatchObject({
    cause: { cause: { type: 'NotSealed', message: expect.stringContaining('epoch 1 is over') } },
  });
  expect((await read(name))?.status?.runId).toBe(after.status?.runId);
});

it('that claims to continue another but was started by hand ends at once [F17]', async () => {
  const name = await light();
  const found = await until(name, shines('low'));
  const handle = handleOf(found);
  const history = await handle.fetchHistory();
  const payload = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  const input = JSON.parse(Buffer.from(payload?.data ?? []).toString()) as object;
  await handle.terminate('an attacker');
  const forged = await stack.temporal.workflow.start('beacon', {
    workflowId: handle.workflowId,
    taskQueue: `drover-${cluster}`,
    args: [{ ...input, carried: { sequence: 9e15, state: { turns: 7 } } }],
  });
  await expect(forged.result()).rejects.toMatchObject({ cause: { type: 'NotSealed' } });
});
