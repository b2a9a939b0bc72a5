/** Actions on a second, real control plane, which dies and comes back while they run. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { createEgressPolicy } from '../../activities/core/egress.js';
import { createActivities } from '../../activities/index.js';
import type { Action, ActionStatus } from '../../api/plan/types.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import { down, up } from '../../local/index.js';
import type { UpOptions, UpResult } from '../../local/index.js';
import { taskQueues } from '../../workflows/core/contract.js';
import type { ActionOutcome, ActionTask } from '../../workflows/plan/contract-tasks.js';
import { connect, openBench } from '../support/attempts.js';
import type { Bench } from '../support/attempts.js';
import type { oneAction } from '../support/one-action.js';
import { ownSealer, sealTask } from '../support/seals.js';
import { servers } from '../support/servers.js';
import { startWorkers } from '../support/workers.js';
import type { StartedWorkers } from '../support/workers.js';

const cluster = `target-${randomUUID().slice(0, 8)}`;
const taskQueue = taskQueues(cluster).worker;
const sealer = ownSealer();
const SECRET = 'site-b';
let bench: Bench;
let options: UpOptions;
let second: UpResult;
/** The second cluster as its administrator. */
let there: KubeClient;
let native: NativeConnection;
let client: Client;
let workers: StartedWorkers;

beforeAll(async () => {
  bench = await openBench(servers.kubeconfig);
  options = {
    dataDir: await mkdtemp(join(tmpdir(), 'drover-second-')),
    ephemeral: true,
    // Temporal, bridge and worker are those of the first cluster.
    temporal: servers.temporal,
    temporalNamespace: servers.temporalNamespace,
    crdDir: 'deploy/crds',
    progress: () => undefined,
  };
  second = await up(options);
  there = connect(second.kubeconfig);
  await there.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: bench.namespace } });
  await secret(SECRET, await readFile(second.kubeconfig, 'utf8'));

  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger });
  native = await NativeConnection.connect({ address: servers.temporal });
  client = new Client({
    connection: await Connection.connect({ address: servers.temporal }),
    namespace: servers.temporalNamespace,
  });
  workers = await startWorkers({
    connection: native,
    namespace: servers.temporalNamespace,
    cluster,
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: new URL('../support/one-action.ts', import.meta.url).pathname,
      logger,
    }),
    activities: createActivities({
      kube: bench.kube,
      sealer,
      egress: createEgressPolicy({ allowLoopback: true, apiServers: [bench.kube.server] }),
      log: pino({ level: 'silent' }),
      notes: { send: () => undefined },
      controllerIdentity: true,
    }),
  });
});
afterAll(async () => {
  await workers?.stop();
  await client?.connection.close();
  await native?.close();
  await down(options);
  await rm(options.dataDir, { recursive: true, force: true });
  await bench.close();
});

const secret = (name: string, kubeconfig: string): Promise<KubeObject> =>
  bench.kube.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: bench.namespace },
    data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') },
  });

let position = 0;

/** Runs an action as a run would; with `undo`, undoes what an earlier outcome says. */
async function start(
  action: Partial<Action> & { type: 'Job' | 'KubernetesResource' },
  undo?: { at: ActionTask['at']; forward: ActionStatus },
) {
  const at = undo?.at ?? { stage: 0, workflow: 0, action: (position += 1) };
  const retry = { limit: 40, intervalMs: 500, backoffMultiplier: 1, maxIntervalMs: 500 };
  const named = { name: 'act', target: { kubeconfigSecretRef: { name: SECRET } }, ...action };
  const workflowId = `target-${randomUUID()}`;
  const handle = await client.workflow.start<typeof oneAction>('oneAction', {
    taskQueue,
    workflowId,
    args: [
      {
        input: {
          name: named.name,
          type: action.type,
          dependsOn: [],
          timeoutMs: 60_000,
          retry,
          capture: false,
          interruptible: true,
          uses: [],
        },
        bounds: { undoStepMs: 60_000, settleMs: 60_000, pauseReminderMs: 600_000 },
        task: sealTask(
          sealer,
          {
            run: { ...bench.run, cluster },
            at,
            direction: undo === undefined ? 'forward' : 'undo',
            round: 0,
            name: named.name,
            type: action.type,
            timeoutMs: 60_000,
            retry,
            body: { action: named, params: {}, manager: '0123456789ab' },
            outputs: {},
            phases: {},
            ...(undo !== undefined && { forward: undo.forward }),
          },
          workflowId,
        ),
      },
    ],
  });
  return { at, handle, result: (): Promise<ActionOutcome> => handle.result() };
}

const configMap = (name: string) =>
  `{apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}, namespace: ${bench.namespace}}}`;
const find = (kube: KubeClient, kind: string, name: string, apiVersion = 'v1') =>
  kube.get({ apiVersion, kind, namespace: bench.namespace, name });

function statusOf(outcome: ActionOutcome): ActionStatus {
  const { phase, round } = outcome;
  const outputs = 'outputs' in outcome ? outcome.outputs : undefined;
  return { name: 'act', phase, round, ...(outputs !== undefined && { outputs }) };
}

/** Kills the second API server, and gives how to bring it back. */
function killServer(): () => Promise<void> {
  const { apiserver } = second.endpoints.pids;
  if (apiserver === null) throw new Error('the second control plane has no API server');
  process.kill(apiserver, 'SIGKILL');
  return async () => {
    second = await up(options);
    expect(second.started).toContain('apiserver');
  };
}

async function until(what: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await what())) {
    if (Date.now() > end) throw new Error('did not happen within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe('actions with a target', () => {
  it('act on that cluster only, and are undone there [S3.54]', async () => {
    const made = await start({ type: 'KubernetesResource', resource: { manifest: configMap('one') } });
    const outcome = await made.result();
    expect(outcome).toMatchObject({ phase: 'Succeeded', retryCount: 0 });
    expect(await find(there, 'ConfigMap', 'one')).toBeDefined();
    expect(await find(bench.kube, 'ConfigMap', 'one')).toBeUndefined();

    const undone = await start(
      { type: 'KubernetesResource', resource: { manifest: configMap('one') } },
      { at: made.at, forward: statusOf(outcome) },
    );
    expect(await undone.result()).toMatchObject({ phase: 'Succeeded' });
    expect(await find(there, 'ConfigMap', 'one')).toBeUndefined();
  });

  it('are retried while the cluster is dead, saying which one it is, and succeed when it is back [S3.54]', async () => {
    const heal = killServer();
    const action = await start({ type: 'KubernetesResource', resource: { manifest: configMap('two') } });
    let message = '';
    await until(async () => {
      const { raw } = await action.handle.describe();
      message = JSON.stringify(raw.pendingActivities?.map(({ lastFailure }) => lastFailure) ?? []);
      return message.includes('cannot be reached');
    });
    expect(message).toContain(
      `Kubernetes API of cluster \\"drover\\" from Secret ${bench.namespace}/${SECRET} (${second.endpoints.kubernetes}) cannot be reached`,
    );
    await heal();
    const outcome = await action.result();
    expect(outcome).toMatchObject({ phase: 'Succeeded' });
    expect(outcome.retryCount).toBeGreaterThan(0);
    expect(await find(there, 'ConfigMap', 'two')).toBeDefined();
  });

  it('find their Job again when the cluster died while it ran', { tags: ['nightly'] }, async () => {
    const pod = {
      metadata: { annotations: { 'sim.drover.dev/duration': '4s' } },
      spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example/none' }] },
    };
    const action = await start({
      type: 'Job',
      job: { namespace: bench.namespace, template: { spec: { backoffLimit: 0, template: pod } } },
    });
    const jobs = () => there.list({ apiVersion: 'batch/v1', kind: 'Job' }, { namespace: bench.namespace });
    await until(async () => (await jobs()).items.length === 1);
    await killServer()();
    expect(await action.result()).toMatchObject({ phase: 'Succeeded' });
    expect((await jobs()).items).toHaveLength(1);
    const here = await bench.kube.list(
      { apiVersion: 'batch/v1', kind: 'Job' },
      { namespace: bench.namespace },
    );
    expect(here.items).toEqual([]);
  });

  it('fail for good on a kubeconfig that may not be used, before anything is sent', async () => {
    const kubeconfig = parse(await readFile(second.kubeconfig, 'utf8')) as {
      users: { user: Record<string, unknown> }[];
    };
    const [user] = kubeconfig.users;
    if (user === undefined) throw new Error('the kubeconfig has no user');
    user.user = { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'touch' } };
    await secret('with-exec', stringify(kubeconfig));
    const action = await start({
      type: 'KubernetesResource',
      resource: { manifest: configMap('three') },
      target: { kubeconfigSecretRef: { name: 'with-exec' } },
    });
    expect(await action.result()).toMatchObject({
      phase: 'Failed',
      reason: 'InvalidKubeconfig',
      effect: 'None',
      message: expect.stringContaining('user "drover:admin": exec is not allowed'),
    });
  });
});
