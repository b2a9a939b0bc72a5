/**
 * A bridge on a control plane and a Temporal of its own, which can be set and taken away as the shared ones cannot: it may
 * not act with its own rights, its Temporal dies, and its etcd is restored, and all of it is
 * taken away.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, FINALIZERS, GROUP, LABELS } from '../../api/core/group.js';
import type { DRPlan, DRPlanExecution } from '../../api/plan/types.js';
import { findServingBridge } from '../../client/cli/core/serving-bridge.js';
import { CLAIM_CONFIG_MAP, createClaimWords } from '../../kube/claim-words.js';
import { createInformer } from '../../kube/informer.js';
import type { Cacheable } from '../../kube/informer.js';
import { readEndpoints } from '../../local/endpoints.js';
import { down, up } from '../../local/index.js';
import type { UpOptions, UpResult } from '../../local/index.js';
import { dataPaths } from '../../local/paths.js';
import { condition, http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startReplica } from './replica.js';
import type { Replica } from './replica.js';

let options: UpOptions;
let parts: UpResult;
let stack: Stack;
let replica: Replica | undefined;
beforeAll(async () => {
  options = {
    dataDir: await mkdtemp(join(tmpdir(), 'drover-apart-')),
    ephemeral: true,
    crdDir: 'deploy/crds',
    progress: () => undefined,
  };
  parts = await up(options);
  const at = { kubeconfig: parts.kubeconfig, temporal: parts.endpoints.temporal };
  stack = await openStack('apart', { at });
  replica = await startReplica({ ...at, controllerIdentity: false });
});
afterAll(async () => {
  await replica?.stop();
  await stack.close();
  await down(options);
  await rm(options.dataDir, { recursive: true, force: true });
});

async function drover(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return promisify(execFile)(process.execPath, ['bin/drover.js', ...args, '--kubeconfig', parts.kubeconfig], {
    env: { ...process.env, NO_COLOR: '1' },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      out: error.stdout,
      err: error.stderr,
    }),
  );
}

const execution = (name: string) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace: stack.namespace,
  name,
});

describe('a plan', () => {
  it('that names no account is not Ready, says what to do, and starts nothing [S1.5]', async () => {
    await stack.workflow('nobody', { actions: [http('a', 'http://127.0.0.1:9/')] });
    await stack.create({
      apiVersion: API_VERSION,
      kind: 'DRPlan',
      metadata: { name: 'nobody', namespace: stack.namespace },
      spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'nobody' } }] }] },
    });
    const plan = await poll(
      () => stack.getPlan('nobody'),
      ({ status }) => status?.phase !== undefined,
    );
    expect(condition(plan, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'NoServiceAccount',
      message: expect.stringMatching(/spec\.serviceAccountName.*--default-service-account/s) as string,
    });
    const refused = await stack.ended(await stack.execute('nobody'));
    expect(refused.status).toMatchObject({ phase: 'Failed' });
    expect(refused.status?.message).toContain('serviceAccountName');
    expect(refused.status?.temporal).toBeUndefined();
    await stack.kube.patch(
      { apiVersion: API_VERSION, kind: 'DRPlan', namespace: stack.namespace, name: 'nobody' },
      { spec: { serviceAccountName: 'somebody' } },
      { kind: 'merge' },
    );
    await poll<DRPlan>(
      () => stack.getPlan('nobody'),
      ({ status }) => status?.phase === 'Ready',
    );
  });
});

describe('drover uninstall', () => {
  it(
    '[F11] notices a bridge that runs outside the cluster before anything is taken away',
    { tags: ['nightly'] },
    async () => {
      // What a bridge does every 20 s, done more often.
      const words = createClaimWords({ kube: stack.kube, namespace: stack.namespace });
      let count = 0;
      const renew = async (): Promise<void> => {
        await words.read();
        await words.write([`word-${(count += 1)}`]);
      };
      await renew();
      const renewing = setInterval(() => void renew(), 400);
      try {
        const refused = await drover('uninstall', '--yes');
        expect(refused).toMatchObject({ code: 3, out: '' });
        expect(refused.err).toContain(`a bridge renews ConfigMap ${stack.namespace}/drover-claim; nothing`);
        expect(refused.err).toMatch(/stop it and the worker.*--ignore-bridge/s);
        expect(await stack.getPlan('nobody')).toBeDefined();
        expect(await drover('uninstall', '--keep-kinds', '--ignore-bridge', '--yes')).toMatchObject({
          code: 0,
        });
      } finally {
        clearInterval(renewing);
      }
      // One that has ended says nothing more; its last word is waited for only while it may still be followed by another.
      let waits = 0;
      const look = (): Promise<string | undefined> =>
        findServingBridge(stack.kube, { claimLivesMs: 2000, onWait: () => (waits += 1) });
      expect(await poll(look, (found) => found === undefined)).toBeUndefined();
      // Times of the API server are whole seconds.
      await sleep(1000);
      waits = 0;
      expect(await look()).toBeUndefined();
      expect(waits).toBe(0);
      await stack.kube.delete({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        namespace: stack.namespace,
        name: CLAIM_CONFIG_MAP,
      });
    },
  );

  it('[F11] refuses what runs, cancels it when told to, and can leave the kinds to another controller [S5.40]', async () => {
    await stack.simplePlan('ends', [http('a', 'http://127.0.0.1:9/')], {
      plan: { serviceAccountName: 'somebody' },
    });
    const created = await stack.execute('ends');
    const running = await stack.until(created, (now) => now.status?.temporal?.runId !== undefined);
    const webhook = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      name: 'drover',
    };
    await stack.create({ ...webhook, metadata: { name: 'drover' }, webhooks: [] });
    const refused = await drover('uninstall', '--keep-kinds', '--yes');
    expect(refused.code).toBe(3);
    expect(refused.err).toMatch(
      new RegExp(`${stack.namespace}/${running.metadata.name}.*--cancel-runs`, 's'),
    );
    expect(await stack.kube.get(webhook)).toBeDefined();

    // No worker runs here: somebody releases the execution while its end is waited for.
    const uninstalling = drover('uninstall', '--keep-kinds', '--cancel-runs', '--yes');
    await stack.until(running, ({ metadata }) => metadata.annotations?.[ANNOTATIONS.cancel] === 'true');
    await stack.kube.patch(
      execution(running.metadata.name),
      { metadata: { annotations: { [ANNOTATIONS.forceDelete]: 'true' } } },
      { kind: 'merge' },
    );
    await stack.kube.delete(execution(running.metadata.name));
    const done = await uninstalling;
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining('kubectl delete') as string });
    expect(done.err).toContain('waiting for the end of 1');
    expect(await stack.kube.get(webhook)).toBeUndefined();
    expect(await stack.getPlan('ends')).toBeDefined();
  });
});

describe('a deletion while Temporal is away', () => {
  it('waits and says for what, until a person releases it [S5.36]', async () => {
    await stack.simplePlan('kept', [http('a', 'http://127.0.0.1:9/')], {
      plan: { serviceAccountName: 'somebody' },
    });
    const running = await stack.execute('kept');
    await stack.until(running, (now) => now.status?.temporal?.runId !== undefined);
    process.kill(parts.endpoints.pids.temporal ?? NaN, 'SIGKILL');
    await stack.kube.delete(execution(running.metadata.name));
    const held = await stack.until(
      running,
      (now) => condition(now, 'Progressing')?.reason === 'TemporalUnreachable',
    );
    expect(held.metadata.finalizers).toContain(FINALIZERS.execution);
    expect(condition(held, 'Progressing')).toMatchObject({ status: 'False' });
    await stack.kube.patch(
      execution(running.metadata.name),
      { metadata: { annotations: { [ANNOTATIONS.forceDelete]: 'true' } } },
      { kind: 'merge' },
    );
    await poll(
      () => stack.kube.get<DRPlanExecution>(execution(running.metadata.name)),
      (found) => found === undefined,
    );
  });
});

describe('a restore of etcd', () => {
  it(
    '[F25] ends in a fresh list, though the watch would go on from a version of the future [S6.19]',
    { tags: ['nightly'] },
    async () => {
      const { kube, namespace } = stack;
      const key = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name });
      const write = (name: string, value: string) =>
        kube.patch(
          key(name),
          { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } },
          { kind: 'apply', fieldManager: 'test' },
        );
      const informer = createInformer<Cacheable & { data?: Record<string, string> }>({
        kube,
        apiVersion: 'v1',
        kind: 'ConfigMap',
      });
      const stop = new AbortController();
      const following = informer.run(stop.signal);
      const seen = (name: string, value: string | undefined) =>
        poll(
          () => Promise.resolve(informer.get(namespace, name)?.data?.['value']),
          (found) => found === value,
        );
      const { etcdEphemeral: folder } = dataPaths(options.dataDir);
      const restart = async (whileDown: () => Promise<void>): Promise<void> => {
        const pids = (await readEndpoints(dataPaths(options.dataDir).endpoints))?.pids;
        for (const pid of [pids?.apiserver, pids?.etcd]) process.kill(pid ?? NaN, 'SIGKILL');
        await whileDown();
        await up(options);
      };

      await write('kept', 'before');
      await restart(() => cp(folder, `${folder}-backup`, { recursive: true }));
      await seen('kept', 'before');
      await write('kept', 'lost');
      for (let count = 0; count < 50; count += 1) await write('new', String(count));
      await seen('new', '49');
      await restart(async () => {
        await rm(folder, { recursive: true });
        await cp(`${folder}-backup`, folder, { recursive: true });
      });
      await seen('new', undefined);
      await seen('kept', 'before');
      await write('kept', 'after');
      const found = await seen('kept', 'after');
      expect(found).toBe('after');
      stop.abort();
      await following;
    },
  );
});

describe('drover uninstall without a bridge', () => {
  it('[F11] leaves nothing hanging [S5.40]', { tags: ['nightly'] }, async () => {
    await replica?.stop();
    replica = undefined;
    await stack.create({
      ...execution('orphan'),
      metadata: { name: 'orphan', namespace: stack.namespace, finalizers: [FINALIZERS.execution] },
      spec: { planRef: 'nobody', operationType: 'Execute' },
    });
    expect(await drover('uninstall', '--yes')).toMatchObject({
      code: 3,
      err: expect.stringContaining('--abandon-runs') as string,
    });
    expect(await drover('uninstall', '--abandon-runs', '--yes')).toMatchObject({ code: 0 });
    const kinds = await stack.kube.list(
      { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      {},
    );
    expect(kinds.items.filter(({ metadata }) => metadata.name.endsWith(GROUP))).toEqual([]);
    const revisions = await stack.kube.list(
      { apiVersion: 'apps/v1', kind: 'ControllerRevision' },
      { labelSelector: LABELS.snapshot },
    );
    expect(revisions.items).toEqual([]);
    // Nothing is left to take away, and that is no error.
    expect(await drover('uninstall', '--yes')).toMatchObject({ code: 0 });

    // All programs run and answer.
    const status = await drover('status', '--data-dir', options.dataDir);
    expect(status).toMatchObject({
      code: 3,
      out: expect.stringMatching(
        new RegExp(`^Kinds: +not installed: drplanexecutions\\.${GROUP}, .*drworkflows\\.${GROUP}$`, 'm'),
      ) as string,
      err: expect.stringMatching(/next: .* up .*after an uninstall.* down /s) as string,
    });
    expect(status.out).not.toMatch(/silent|died/);
    expect(await drover('doctor', '--data-dir', options.dataDir)).toMatchObject({
      code: 3,
      out: expect.stringMatching(
        / kinds +not installed: .*\n +to have them again, run "drover up"/,
      ) as string,
    });
    await up(options);
    expect((await drover('status', '--data-dir', options.dataDir)).out).toMatch(/^Kinds: +installed$/m);
  });
});
