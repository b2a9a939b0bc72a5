/**
 * What needs more than one moment: another Temporal, and another cluster. Each is played once in a long session, while
 * other plans are under way or not.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { ANNOTATIONS } from '../../api/core/group.js';
import { runWorkflowId } from '../../api/plan/naming.js';
import { isTerminalExecution } from '../../api/core/phase.js';
import type { DRPlan, DRPlanExecution } from '../../api/plan/types.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import { startDetached, stopProcess, waitReady } from '../../local/processes.js';
import type { ProcessSpec } from '../../local/processes.js';
import { isPortFree } from '../../local/ports.js';
import { checkTemporal } from '../../local/temporal-server.js';
import { compressingConverter } from '../../runtime/compression.js';
import { eventually, insist, insistOnCreating } from './insist.js';
import { checkEffects, checkPlan, checkRun, DR } from './oracle.js';
import type { Report } from './oracle.js';
import { startSecondCluster } from './second-cluster.js';
import type { SetPiece } from './set-piece.js';
import type { Stage } from './stage.js';
import { definitionOf } from './plans.js';
import type { JourneyKind } from './plans.js';

const NAMESPACE = 'faults';
const END_MS = 300_000;
/** Orphans are looked for every 15 s and cancelled after 5 s more: within this time it has been done twice. */
const SWEPT_MS = 45_000;

/** Plays it. Everything that is wrong is told. */
export async function play(piece: SetPiece, stage: Stage, report: Report): Promise<void> {
  switch (piece) {
    case 'empty-temporal':
      await otherTemporal(stage, report, { restart: true });
      return;
    case 'foreign-temporal':
      await otherTemporal(stage, report, { restart: false });
      return;
    case 'two-clusters':
      await twoClusters(stage, report);
  }
}

const dr = (kind: string, name: string, spec: unknown): KubeObject => ({
  ...DR,
  kind,
  metadata: { name, namespace: NAMESPACE },
  spec,
});
const executionKey = (name: string) => ({ ...DR, kind: 'DRPlanExecution', namespace: NAMESPACE, name });

/** Definitions of a plan and one execution of it. */
async function begin(kube: KubeClient, kind: JourneyKind, id: string, url: string): Promise<void> {
  for (const name of [`${id}-old`, `${id}-had`]) {
    const metadata = { name, namespace: NAMESPACE };
    await insistOnCreating(() =>
      kube.create(
        { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { site: 'a' } },
        {
          fieldManager: 'owner',
        },
      ),
    );
  }
  const definition = definitionOf(kind, id, url);
  for (const [name, spec] of Object.entries(definition.workflows)) {
    await insistOnCreating(() => kube.create(dr('DRWorkflow', name, spec)));
  }
  await insistOnCreating(() => kube.create(dr('DRPlan', id, definition.plan)));
  await eventually(
    `plan ${id} is Ready`,
    async () => {
      const plan = await insist(() =>
        kube.get<DRPlan>({ ...DR, kind: 'DRPlan', namespace: NAMESPACE, name: id }),
      );
      return plan?.status?.phase === 'Ready' ? true : undefined;
    },
    END_MS,
  );
  const spec = { planRef: id, operationType: 'Execute' };
  await insistOnCreating(() => kube.create(dr('DRPlanExecution', `${id}-x`, spec)));
}

async function read(kube: KubeClient, name: string): Promise<DRPlanExecution> {
  const found = await insist(() => kube.get<DRPlanExecution>(executionKey(name)));
  if (found === undefined) throw new Error(`execution ${name} is gone`);
  return found;
}
const shows = (
  kube: KubeClient,
  name: string,
  what: string,
  is: (execution: DRPlanExecution) => boolean,
): Promise<DRPlanExecution> => {
  let last: DRPlanExecution | undefined;
  return eventually(
    `${name} ${what}`,
    async () => {
      last = await read(kube, name);
      return is(last) ? last : undefined;
    },
    END_MS,
    () => JSON.stringify(last?.status),
  );
};
const ended = (kube: KubeClient, name: string): Promise<DRPlanExecution> =>
  shows(kube, name, 'has ended', ({ status }) => isTerminalExecution(status?.phase));
const cancel = (kube: KubeClient, name: string): Promise<unknown> =>
  insist(() =>
    kube.patch(
      executionKey(name),
      { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
      { kind: 'merge' },
    ),
  );
const progressing = ({ status }: DRPlanExecution) =>
  status?.conditions?.find(({ type }) => type === 'Progressing');

/**
 * One run is under way and recorded. Of another the bridge dies between its start and the record of it. Then the bridge
 * reaches another Temporal, which knows neither: nothing may be started there, and nothing given up.
 */
async function otherTemporal(
  { plant, endpoint, objects, striker, log }: Stage,
  report: Report,
  { restart }: { restart: boolean },
): Promise<void> {
  const { kube } = plant;
  const [first, second] = restart ? ['j9001', 'j9002'] : ['j9003', 'j9004'];
  const other = await startTemporal(plant.temporalProgram, plant.root, plant.temporalNamespace);
  try {
    await begin(kube, 'cancel', first, endpoint.url);
    await eventually(
      `the Job of ${first} is there`,
      () => (objects.names('Job', `${first}-`).length > 0 ? true : undefined),
      END_MS,
    );
    const bridges = plant.instances.filter(({ role }) => role === 'bridge');
    const trapped = striker.trap('start', 'after', second, async () => {
      for (const { process: bridge, temporal } of bridges) {
        if (restart) {
          bridge.hold();
          await bridge.kill('SIGKILL');
        }
        temporal.redirect(other.address);
        if (restart) bridge.release();
      }
      return { kind: 'cut' };
    });
    await begin(kube, 'short', second, endpoint.url);
    await trapped;
    log(`the bridge reaches another Temporal, ${restart ? 'started anew' : 'as it runs'}`);
    for (const name of [`${first}-x`, `${second}-x`]) {
      await shows(
        kube,
        name,
        'shows TemporalMismatch',
        (execution) => progressing(execution)?.reason === 'TemporalMismatch',
      );
    }
    await sleep(SWEPT_MS);
    for (const name of [`${first}-x`, `${second}-x`]) {
      const { status, metadata } = await read(kube, name);
      if (isTerminalExecution(status?.phase)) report(`${name} is ${status?.phase}: ${status?.message}`);
      const workflowId = runWorkflowId({
        cluster: plant.cluster,
        namespace: NAMESPACE,
        name,
        uid: metadata.uid ?? '',
      });
      const state = await other.client.workflow
        .getHandle(workflowId)
        .describe()
        .then(
          (found) => found.status.name,
          () => undefined,
        );
      if (state !== undefined) report(`${name} was started in the other Temporal too, and is ${state} there`);
    }
    for (const { process: bridge, temporal } of bridges) {
      temporal.redirect(plant.temporalAddress);
      if (restart) await bridge.kill('SIGKILL');
    }
    const done = await ended(kube, `${second}-x`);
    if (done.status?.phase !== 'Succeeded')
      report(`${second}-x is ${done.status?.phase}: ${done.status?.message}`);
    await cancel(kube, `${first}-x`);
    const stopped = await ended(kube, `${first}-x`);
    if (stopped.status?.phase !== 'Cancelled')
      report(`${first}-x is ${stopped.status?.phase} after its cancel`);
    for (const [id, execution] of [
      [first, stopped],
      [second, done],
    ] as const) {
      checkEffects(endpoint, id, ['open'], report);
      await checkPlan(plant, id, execution.metadata.uid ?? '', execution.status?.phase ?? '', report);
      await checkRun(plant, execution, report);
    }
  } finally {
    for (const { temporal } of plant.instances) temporal.redirect(plant.temporalAddress);
    await other.stop();
  }
}

/** Plans and executions of the same names in two clusters, whose runs are in one Temporal namespace. */
async function twoClusters({ plant, endpoint, objects, log }: Stage, report: Report): Promise<void> {
  const id = 'j9005';
  await begin(plant.kube, 'cancel', id, endpoint.url);
  await eventually(
    `the Job of ${id} is there`,
    () => (objects.names('Job', `${id}-`).length > 0 ? true : undefined),
    END_MS,
  );
  const second = await startSecondCluster(plant);
  try {
    log(`a second cluster ${second.cluster} is there`);
    const uid = (await read(plant.kube, `${id}-x`)).metadata.uid ?? '';
    await begin(second.kube, 'short', id, `${endpoint.url}/second`);
    const other = await ended(second.kube, `${id}-x`);
    if (other.status?.phase !== 'Succeeded') {
      report(`in the second cluster it is ${other.status?.phase}: ${other.status?.message}`);
    }
    const workflowId = other.status?.temporal?.workflowId ?? '';
    if (!workflowId.startsWith(`dr/${second.cluster}/`))
      report(`run ${workflowId} is not of the second cluster`);
    checkEffects(endpoint, `second/${id}`, ['open'], report);
    // Neither takes the other's runs for orphans, nor is one's deletion a matter of the other.
    await insist(() => second.kube.delete(executionKey(`${id}-x`)).then(() => undefined));
    await sleep(SWEPT_MS);
    const mine = await read(plant.kube, `${id}-x`);
    if (mine.metadata.uid !== uid || mine.status?.phase !== 'Running') {
      report(`in the first cluster it is ${mine.status?.phase}: ${mine.status?.message}`);
    }
    await cancel(plant.kube, `${id}-x`);
    const stopped = await ended(plant.kube, `${id}-x`);
    if (stopped.status?.phase !== 'Cancelled') report(`${id}-x is ${stopped.status?.phase} after its cancel`);
    checkEffects(endpoint, id, ['open'], report);
    await checkPlan(plant, id, uid, 'Cancelled', report);
    await checkRun(plant, stopped, report);
  } finally {
    await second.stop();
  }
}

/** A Temporal with nothing in it. */
async function startTemporal(
  program: string,
  root: string,
  namespace: string,
): Promise<{ address: string; client: Client; stop: () => Promise<void> }> {
  let port = 21_000;
  while (!(await isPortFree(port)) || !(await isPortFree(port + 1)) || !(await isPortFree(port + 2)))
    port += 11;
  const address = `127.0.0.1:${port}`;
  await mkdir(join(root, 'logs'), { recursive: true });
  const spec: ProcessSpec = {
    name: 'temporal',
    command: program,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--headless'],
      ...['--http-port', String(port + 1), '--metrics-port', String(port + 2)],
      ...['--namespace', namespace, '--log-level', 'warn'],
      ...['--dynamic-config-value', 'frontend.enableServerVersionCheck=false'],
    ],
    log: join(root, 'logs', 'other-temporal.log'),
    ready: async () => (await checkTemporal(address, namespace)) === undefined,
    readyTimeoutMs: 120_000,
  };
  const record = await startDetached(spec);
  await waitReady(spec, record);
  const connection = await Connection.connect({ address });
  return {
    address,
    client: new Client({
      connection,
      namespace,
      dataConverter: compressingConverter(),
    }),
    async stop() {
      await connection.close();
      await stopProcess(record, 10_000);
    },
  };
}
