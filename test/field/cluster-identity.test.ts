/** Two installations that were restored from one backup of etcd, on the real servers. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clusterId } from '../../api/plan/naming.js';
import { CLAIM_CONFIG_MAP, createClaimWords } from '../../kube/claim-words.js';
import { readClusterUid } from '../../kube/cluster-id.js';
import { createClaimNote } from '../../runtime/claim-note.js';
import { createClusterClaim, REMEMBERED_WORDS } from '../../runtime/cluster-claim.js';
import { startDetached, stopProcess } from '../../local/processes.js';
import type { ProcessRecord } from '../../local/state.js';
import { freePort } from '../../runtime/free-port.js';
import { recordServer } from '../support/leftovers.js';
import { servers } from '../support/servers.js';
import { openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { taskQueues } from '../../workflows/core/contract.js';

let stack: Stack;
const programs: ProcessRecord[] = [];
beforeAll(async () => {
  stack = await openStack('identity');
});
afterAll(async () => {
  for (const program of programs) await stopProcess(program, 0);
  await stack.close();
});

/** A program of an installation whose cluster does not remember what stands in Temporal. */
async function startStranger(program: 'crd-bridge' | 'worker'): Promise<string> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'drover-stranger-'));
  const name = program === 'worker' ? 'worker' : 'bridge';
  const record = await startDetached({
    name,
    command: process.execPath,
    args: [`dist/programs/${program}.js`],
    env: {
      DROVER_KUBECONFIG: servers.kubeconfig,
      DROVER_NAMESPACE: stack.namespace,
      DROVER_HEALTH_PORT: String(port),
      TEMPORAL_ADDRESS: servers.temporal,
      TEMPORAL_NAMESPACE: servers.temporalNamespace,
    },
    log: join(folder, 'log'),
  });
  programs.push(record);
  await recordServer(folder, name, record);
  return `http://127.0.0.1:${port}`;
}

const readiness = async (at: string): Promise<string> => {
  const { body } = await request(`${at}/readyz`);
  return body.text();
};

it('[F25] the second says ClusterIdentityTaken, is not ready and takes no tasks [S6.18]', async () => {
  const bridge = await startStranger('crd-bridge');
  const waiting = (at: string): Promise<string> =>
    poll(
      () => readiness(at).catch(() => ''),
      (text) => text.includes('ClusterIdentityTaken'),
    );
  expect(await waiting(bridge)).toMatch(/restored from the same backup.*Stop the other one/s);
  const worker = await startStranger('worker');
  await waiting(worker);
  // Nothing is half installed: neither a claim nor keys.
  const { namespace } = stack;
  expect(await stack.kube.get({ ...key, namespace })).toBeUndefined();
  expect(
    await stack.kube.get({ apiVersion: 'v1', kind: 'Secret', namespace, name: 'drover-seal' }),
  ).toBeUndefined();
  const queues = taskQueues(clusterId(await readClusterUid(stack.kube)));
  for (const taskQueue of [queues.bridge, queues.worker]) {
    const { pollers } = await stack.temporal.workflowService.describeTaskQueue({
      namespace: servers.temporalNamespace,
      taskQueue: { name: taskQueue },
      taskQueueType: 2,
    });
    const pids = (pollers ?? []).map(({ identity }) => identity?.split('@')[0]);
    for (const program of programs) expect(pids).not.toContain(String(program.pid));
  }
});

const key = { apiVersion: 'v1', kind: 'ConfigMap', name: CLAIM_CONFIG_MAP };

it('[F25] words are kept in a ConfigMap and as the note of a paused Schedule', async () => {
  const cluster = unique('c');
  const claim = (namespace: string, renews = true) =>
    createClusterClaim({
      words: createClaimWords({ kube: stack.kube, namespace }),
      note: createClaimNote(stack.temporal, cluster),
      renews,
      renewMs: 0,
      takeOverMs: 300,
    });
  const first = claim(stack.namespace);
  for (let look = 0; look < 5; look += 1) expect(await first.look()).toEqual({ kind: 'held' });
  const stored = await stack.kube.get<{ data: { words: string } }>({ ...key, namespace: stack.namespace });
  const handle = stack.temporal.schedule.getHandle(`drover-claim-${cluster}`);
  const { state, info } = await handle.describe();
  expect(state).toMatchObject({ paused: true, note: stored?.data.words.split(' ')[0]?.split('/')[1] });
  expect(stored?.data.words.split(' ')).toHaveLength(REMEMBERED_WORDS);
  expect(info.nextActionTimes).toEqual([]);
  // Another replica, and a worker, of the same installation.
  expect(await claim(stack.namespace).look()).toEqual({ kind: 'held' });
  expect(await claim(stack.namespace, false).look()).toEqual({ kind: 'held' });
  const other = claim('default');
  try {
    expect((await other.look()).kind).toBe('taken');
    await poll(
      () => other.look(),
      ({ kind }) => kind === 'held',
    );
    expect((await claim(stack.namespace).look()).kind).toBe('taken');
  } finally {
    await stack.kube.delete({ ...key, namespace: 'default' });
    await handle.delete();
  }
});
