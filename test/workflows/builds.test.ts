/** Several builds of workers beside each other: each run is carried on by the build that began it. */
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterId } from '../../api/plan/naming.js';
import { createRuns } from '../../client/runs/runs.js';
import type { Runs } from '../../client/runs/runs.js';
import { lookAtRun } from '../../crd-bridge/plan/status/standstill.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import { readClusterUid } from '../../kube/cluster-id.js';
import { loadKubeConfig } from '../../kube/config.js';
import { dataPaths } from '../../local/paths.js';
import { startDetached, stopProcess } from '../../local/processes.js';
import { becomeCurrent } from '../../worker/current-build.js';
import { recordServer } from '../support/leftovers.js';
import { action, stages, startScriptedWorker, workflow } from '../support/scripted.js';
import type { ScriptedRun, ScriptedWorker } from '../support/scripted.js';
import { startSecondTemporal } from '../support/second-temporal.js';
import { servers } from '../support/servers.js';
import { poll } from '../support/stack.js';

const namespace = servers.temporalNamespace;
const ending = new AbortController();
let one: ScriptedWorker;
let two: ScriptedWorker;
let runs: Runs;

const buildOf = (buildId: string) => ({ deploymentName: '', buildId, pinsRuns: true });

/** Starts a build beside another one, and lets it begin runs as a worker does. */
async function start(buildId: string, beside?: ScriptedWorker): Promise<ScriptedWorker> {
  const worker = await startScriptedWorker(servers.temporal, namespace, {
    build: buildOf(buildId),
    ...(beside !== undefined && { beside }),
  });
  await becomeCurrent(
    worker.client.workflowService,
    { ...buildOf(buildId), deploymentName: `drover-${worker.cluster}` },
    { namespace, identity: 'test', log: pino({ level: 'silent' }), signal: ending.signal },
  );
  return worker;
}

beforeAll(async () => {
  one = await start('one');
  runs = createRuns(one.client);
});
afterAll(async () => {
  ending.abort();
  await two?.close();
});

/** Waits a while, then acts. */
const paused = (ms: number) => {
  const pause = action('pause', { type: 'Wait', step: { kind: 'timer', ms }, harmless: true });
  return stages({ name: 'only', workflows: [workflow([pause, 'a'])] });
};
const buildsOf = async ({ handle: { workflowId } }: ScriptedRun): Promise<unknown[]> =>
  Promise.all([workflowId, `${workflowId}/s0`].map(async (id) => (await runs.describe(id))?.build));

it('the worker names its build, and with DROVER_PIN_RUNS lets a new one begin runs', async () => {
  // Of its own: on that of the stack no other worker would be given tasks any more.
  const temporal = await startSecondTemporal();
  const connection = await Connection.connect({ address: temporal.address });
  const folder = await mkdtemp(join(tmpdir(), 'drover-build-'));
  const worker = await startDetached({
    name: 'worker',
    command: process.execPath,
    args: ['dist/programs/worker.js'],
    env: {
      DROVER_KUBECONFIG: servers.kubeconfig,
      DROVER_SEAL_RING: dataPaths(servers.dataDir).sealRing,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: namespace,
      DROVER_PIN_RUNS: 'true',
    },
    log: join(folder, 'log'),
  });
  await recordServer(folder, 'worker', worker);
  try {
    const kube = createKubeClient(loadKubeConfig({ file: servers.kubeconfig }));
    const deploymentName = `drover-${clusterId(await readClusterUid(kube))}`;
    const current = await poll(
      () =>
        connection.workflowService.describeWorkerDeployment({ namespace, deploymentName }).then(
          ({ workerDeploymentInfo }) =>
            workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? '',
          () => '',
        ),
      (buildId) => buildId !== '',
    );
    expect(current).toMatch(/^\d+\.\d+\.\d+-[0-9a-f]{12}$/);
  } finally {
    await stopProcess(worker, 0);
    await connection.close();
    await temporal.stop();
  }
});

describe('a run', () => {
  it('stays with the build that began it, while a newer one begins others; without workers of it, it says so and can be moved [S6.22]', async () => {
    const [begun, stranded] = [
      await one.run({ stages: paused(4_000) }),
      await one.run({ stages: paused(9_000) }),
    ];
    await poll(
      () => buildsOf(stranded),
      (builds) => builds.every(Boolean),
    );
    two = await start('two', one);
    const fresh = await two.run({ stages: paused(10) });
    expect((await fresh.result()).phase).toBe('Succeeded');
    const pinned = (buildId: string) =>
      [1, 2].map(() => expect.objectContaining({ buildId, isPinned: true }) as unknown);
    expect(await buildsOf(fresh)).toEqual(pinned('two'));
    expect((await begun.result()).phase).toBe('Succeeded');
    expect(await buildsOf(begun)).toEqual(pinned('one'));

    await one.close();
    runs = createRuns(two.client);
    const { workflowId } = stranded.handle;
    const waiting = await poll(
      () => runs.describe(workflowId, { withStages: true }),
      (run) => run?.waiting !== undefined,
    );
    if (waiting === undefined) throw new Error('the run is gone');
    const answers = async () => (await runs.progress(workflowId, { timeoutMs: 1_000 })) !== undefined;
    const look = await lookAtRun(waiting, answers, { now: Date.now(), taskWaitMs: 0 });
    expect(look).toMatchObject({ kind: 'stands', standstill: { reason: 'NoWorker' } });
    const message = look.kind === 'stands' ? look.standstill.message : '';
    expect(message).toContain('is pinned to build "one"');

    const command = /\(temporal (workflow update-options [^)]*)\)/.exec(message)?.[1] ?? '';
    const words = [...command.replace(/BUILD$/, 'two').matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word ?? '',
    );
    const where = ['--address', servers.temporal, '--namespace', namespace, '--yes'];
    await promisify(execFile)(servers.endpoints.temporalCli ?? 'temporal', [...words, ...where]);
    expect(await two.client.workflow.getHandle(workflowId).result()).toMatchObject({ phase: 'Succeeded' });
  });
});
