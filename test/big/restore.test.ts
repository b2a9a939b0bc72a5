/**
 * Backup and restore after losses, on real control planes and Temporals: into an empty control plane and an empty Temporal,
 * into an empty control plane beside the old Temporal, and Temporal alone.
 */
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, FINALIZERS } from '../../api/core/group.js';
import { clusterId } from '../../api/plan/naming.js';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import type { KubeClient } from '../../kube/client.js';
import { readClusterUid } from '../../kube/cluster-id.js';
import { loadKubeConfig } from '../../kube/config.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import type { KubeObject } from '../../kube/object.js';
import { down, up } from '../../local/index.js';
import type { UpResult } from '../../local/index.js';
import { droverIn } from '../support/drover.js';
import { heal, kill } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { startSecondTemporal } from '../support/second-temporal.js';
import { servers } from '../support/servers.js';
import { condition, http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { tell } from './sizes.js';

const SECRET = 'site';
const SITE_NAMESPACE = 'default';
/** Only what a bridge has looked at tells that it leaves something alone. */
const SWEEPS_OFTEN = { DROVER_ORPHAN_INTERVAL: '500ms', DROVER_ORPHAN_CONFIRM: '1s' };

let stack: Stack;
let recorder: Recorder;
/** The cluster that survives: what plans change is there. */
let site: UpResult & { dataDir: string; kube: KubeClient };
let archive: string;
const planes: string[] = [];
/** Executions by plan: one for each restore, one that waits, one for the loss of Temporal. */
const ran = new Map<string, DRPlanExecution>();

const newDataDir = async (): Promise<string> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'drover-plane-'));
  planes.push(dataDir);
  return dataDir;
};
const connect = (kubeconfig: string): KubeClient => createKubeClient(loadKubeConfig({ file: kubeconfig }));

/** A control plane, with its own Temporal or with the old one; with bridge and worker, or without. */
const plane = (dataDir: string, options: { temporal?: string; programs: boolean }): Promise<UpResult> =>
  up({
    dataDir,
    ephemeral: true,
    crdDir: 'deploy/crds',
    ...(options.temporal !== undefined && {
      temporal: options.temporal,
      temporalNamespace: servers.temporalNamespace,
    }),
    ...(options.programs && {
      bridge: { command: process.execPath, args: ['dist/programs/crd-bridge.js'], env: SWEEPS_OFTEN },
      worker: { command: process.execPath, args: ['dist/programs/worker.js'] },
    }),
    progress: () => undefined,
  });

const onSite = async (name: string): Promise<unknown> => {
  const key = { apiVersion: 'v1', kind: 'ConfigMap', namespace: SITE_NAMESPACE, name };
  return (await site.kube.get<KubeObject & { data?: Record<string, string> }>(key))?.data?.['at'];
};
/** The team's own Secret, which no backup of Drover has. */
const giveSecret = async (kube: KubeClient): Promise<void> => {
  await kube.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: SECRET, namespace: stack.namespace },
    data: { kubeconfig: Buffer.from(await readFile(site.kubeconfig, 'utf8')).toString('base64') },
  });
};

/** Calls, which can be undone by a call, and a change of an object on the site that survives. */
async function runMove(plan: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: plan, namespace: SITE_NAMESPACE } };
  await site.kube.create({ ...object, data: { at: 'a' } });
  const flip: Action = {
    name: 'flip',
    type: 'KubernetesResource',
    target: { kubeconfigSecretRef: { name: SECRET } },
    resource: { operation: 'Apply', manifest: JSON.stringify({ ...object, data: { at: 'b' } }) },
  };
  const rollback = { http: { url: `${recorder.url}/${plan}/undo` } };
  await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}/call`, { rollback }), flip]);
  const ended = await stack.ended(await stack.execute(plan));
  expect(ended.status?.phase, ended.status?.message).toBe('Succeeded');
  expect(await onSite(plan)).toBe('b');
  ran.set(plan, ended);
}

beforeAll(async () => {
  recorder = await startRecorder();
  stack = await openStack('restore');
  const dataDir = await newDataDir();
  const result = await up({
    dataDir,
    ephemeral: true,
    temporal: servers.temporal,
    temporalNamespace: servers.temporalNamespace,
    progress: () => undefined,
  });
  site = { ...result, dataDir, kube: connect(result.kubeconfig) };
  await giveSecret(stack.kube);
  for (const plan of ['both-lost', 'plane-lost', 'temporal-lost']) await runMove(plan);
  await stack.simplePlan('waits', [{ name: 'wait', type: 'Wait', wait: { duration: '24h' } }]);
  const waiting = await stack.until(
    await stack.execute('waits'),
    ({ status }) => status?.stageStatuses?.[0]?.phase === 'Running',
  );
  ran.set('waits', waiting);
  archive = join(await mkdtemp(join(tmpdir(), 'drover-backup-')), 'drover.tar');
  const taken = await droverIn(servers.dataDir, 'backup', archive, '--with-secrets');
  expect(taken, taken.err).toMatchObject({ code: 0 });
  expect(taken.err).toContain('executions had not ended');
});
afterAll(async () => {
  for (const dataDir of planes) await down({ dataDir, progress: () => undefined }).catch(() => undefined);
  await stack?.close();
  await recorder?.close();
});

/** What stands in another control plane under the same name. */
const there = (kube: KubeClient, kind: string, name: string) => ({
  get: async <T>(): Promise<T> => {
    const found = await kube.get<T>({ apiVersion: API_VERSION, kind, namespace: stack.namespace, name });
    if (found === undefined) throw new Error(`${kind} ${name} is not there`);
    return found;
  },
});
const executionIn = (kube: KubeClient, plan: string): Promise<DRPlanExecution> =>
  there(kube, 'DRPlanExecution', ran.get(plan)?.metadata.name ?? '').get<DRPlanExecution>();

async function revertIn(kube: KubeClient, plan: string): Promise<DRPlanExecution> {
  const name = `${plan}-revert`;
  await kube.create({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: { name, namespace: stack.namespace },
    spec: {
      planRef: plan,
      operationType: 'Revert',
      revertExecutionRef: ran.get(plan)?.metadata.name ?? '',
    },
  });
  return poll(
    () => there(kube, 'DRPlanExecution', name).get<DRPlanExecution>(),
    ({ status }) => ['Succeeded', 'Failed', 'Cancelled'].includes(status?.phase ?? ''),
  );
}

/** That the run of before is a record here that never starts, and that it can be undone. */
async function expectReverted(kube: KubeClient, plan: string): Promise<void> {
  const copy = await executionIn(kube, plan);
  const { uid } = ran.get(plan)?.metadata ?? {};
  expect(copy.metadata.annotations).toMatchObject({ [ANNOTATIONS.stamp]: uid });
  expect(copy.status).toMatchObject({ phase: 'Succeeded', stageStatuses: [{ phase: 'Succeeded' }] });
  const revert = await revertIn(kube, plan);
  expect(revert.status, revert.status?.message).toMatchObject({ phase: 'Succeeded' });
  expect(condition(await executionIn(kube, plan), 'FullyReverted')).toMatchObject({ status: 'True' });
  expect(await onSite(plan)).toBe('a');
  expect(recorder.effects(`/${plan}/undo`)).toBe(1);
  expect(recorder.of(`/${plan}/call`)).toHaveLength(1);
}

/** The same where nothing was restored: only Temporal has forgotten everything. */
async function expectRevertedHere(plan: string): Promise<void> {
  const revert = await revertIn(stack.kube, plan);
  expect(revert.status, revert.status?.message).toMatchObject({ phase: 'Succeeded' });
  expect(await onSite(plan)).toBe('a');
  expect(recorder.effects(`/${plan}/undo`)).toBe(1);
}

/** That what ran when the backup was taken is over here, and its plan free. */
async function expectOver(kube: KubeClient): Promise<void> {
  const copy = await poll(
    () => executionIn(kube, 'waits'),
    ({ status }) => status?.phase === 'Failed',
  );
  expect(copy.status).toMatchObject({ reason: 'RestoredCopy' });
  expect(copy.status?.message).toContain(
    `it ran as "${ran.get('waits')?.status?.temporal?.workflowId ?? ''}"`,
  );
  const plan = await there(kube, 'DRPlan', 'waits').get<{ status?: { currentExecution?: unknown } }>();
  expect(plan.status?.currentExecution).toBeUndefined();
}

describe('a restore', () => {
  it('into an empty control plane and an empty Temporal, under a live bridge: records, and their revert [S5.60]', async () => {
    const dataDir = await newDataDir();
    const began = performance.now();
    const { kubeconfig, endpoints } = await plane(dataDir, { programs: true });
    const kube = connect(kubeconfig);
    const isUp = performance.now();
    const missing = await droverIn(dataDir, 'restore', archive, '--yes');
    expect(missing.err).toMatch(/the cluster lacks namespace.*nothing was restored/s);
    expect(missing.code).toBe(3);
    const restored = await droverIn(dataDir, 'restore', archive, '--create-namespaces', '--yes');
    expect(restored, restored.err).toMatchObject({ code: 0 });
    const isRestored = performance.now();
    await giveSecret(kube);
    await expectOver(kube);
    await expectReverted(kube, 'both-lost');
    tell(
      `both lost: up ${((isUp - began) / 1000).toFixed(1)} s, restored ${((isRestored - isUp) / 1000).toFixed(1)} s, reverted ${((performance.now() - isRestored) / 1000).toFixed(1)} s`,
    );
    const plan = await there(kube, 'DRPlan', 'plane-lost').get<{ status?: object }>();
    expect(plan.status).toMatchObject({ phase: 'Executed' });
    // Nothing but that revert has run in the new Temporal.
    const connection = await Connection.connect({ address: endpoints.temporal });
    const ids: string[] = [];
    const temporal = new Client({ connection, namespace: endpoints.temporalNamespace });
    for await (const { workflowId, type } of temporal.workflow.list())
      if (type === 'drPlanExecution') ids.push(workflowId);
    await connection.close();
    expect(ids).toEqual([expect.stringContaining('/both-lost-revert/')]);
    await down({ dataDir, progress: () => undefined });
  });

  it('into an empty control plane beside the old Temporal: its open runs are listed, and never swept [S5.60]', async () => {
    const dataDir = await newDataDir();
    const old = ran.get('waits')?.status?.temporal?.workflowId ?? '';
    const { kubeconfig } = await plane(dataDir, { temporal: servers.temporal, programs: false });
    const kube = connect(kubeconfig);
    const restored = await droverIn(dataDir, 'restore', archive, '--create-namespaces', '--yes');
    expect(restored, restored.err).toMatchObject({ code: 0 });
    const id = clusterId(await readClusterUid(stack.kube));
    expect(restored.out).toContain(`was Running at the backup: ${stack.namespace}/`);
    expect(restored.out).toMatch(new RegExp(`open in Temporal, of cluster ${id}: .*${old}`));
    await giveSecret(kube);
    await plane(dataDir, { temporal: servers.temporal, programs: true });
    await expectOver(kube);
    await expectReverted(kube, 'plane-lost');

    const orphan = await leaveOrphan(kube);
    await poll(
      () => stack.temporal.workflow.getHandle(orphan).describe(),
      ({ status }) => status.name !== 'RUNNING',
    );
    const { status } = await stack.temporal.workflow.getHandle(old).describe();
    expect(status.name).toBe('RUNNING');
    const doctor = await droverIn(dataDir, 'doctor');
    expect(doctor.out).toMatch(new RegExp(`runs of other clusters .*of cluster ${id}: .*${old}`));
    await down({ dataDir, progress: () => undefined });
  });

  it('of Temporal alone, empty: what ran is ended by hand, and what had ended is reverted [S5.15] [S5.61]', async () => {
    const second = await startSecondTemporal();
    try {
      const elsewhere = { TEMPORAL_ADDRESS: second.address };
      await kill('bridge', 'worker');
      await heal(elsewhere, elsewhere);
      const running = ran.get('waits')!;
      const stuck = await stack.until(
        running,
        (now) => condition(now, 'Progressing')?.reason === 'TemporalMismatch',
      );
      expect(condition(stuck, 'Progressing')?.message).toContain(
        `drover cancel ${running.metadata.name} --temporal-lost`,
      );
      const lost = await droverIn(
        servers.dataDir,
        ...['cancel', running.metadata.name, '-n', stack.namespace, '--temporal-lost', '--yes'],
      );
      expect(lost, lost.err).toMatchObject({ code: 0 });
      const ended = await stack.ended(running);
      expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'RunLost' });
      expect((await stack.getPlan('waits')).status?.currentExecution).toBeUndefined();
      await expectRevertedHere('temporal-lost');
    } finally {
      await second.stop();
    }
  });
});

/** A run of the new cluster whose execution is taken away by force: its own bridge sweeps it. @returns its id */
async function leaveOrphan(kube: KubeClient): Promise<string> {
  const { namespace } = stack;
  const key = { apiVersion: API_VERSION, kind: 'DRPlanExecution', namespace, name: 'orphan' };
  await kube.create({
    ...key,
    metadata: { name: 'orphan', namespace },
    spec: { planRef: 'waits', operationType: 'Execute' },
  });
  const started = await poll(
    () => kube.get<DRPlanExecution>(key),
    (now) => now?.status?.stageStatuses?.[0]?.phase === 'Running',
  );
  // Both at once: the bridge must not see it being deleted.
  await kube.patch(key, { metadata: { finalizers: null } }, { kind: 'merge' });
  expect(started?.metadata.finalizers).toContain(FINALIZERS.execution);
  await kube.delete(key);
  return started?.status?.temporal?.workflowId ?? '';
}
