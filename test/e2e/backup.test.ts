/** A backup and its restore into the same control plane, by the command line, as a person does it. */
import { mkdtemp, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { drover } from '../support/drover.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { actionAt, condition, http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
let file: string;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('backup'), startRecorder()]);
  // A backup has all namespaces: those that earlier files have left are going.
  await poll(
    async () => (await stack.kube.list<KubeObject>({ apiVersion: 'v1', kind: 'Namespace' })).items,
    (namespaces) => namespaces.every(({ metadata }) => metadata.deletionTimestamp === undefined),
  );
  file = join(await mkdtemp(join(tmpdir(), 'drover-backup-')), 'drover.tar');
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

const remove = async (kind: string, name: string, apiVersion = API_VERSION): Promise<void> => {
  const key = { apiVersion, kind, namespace: stack.namespace, name };
  await stack.kube.delete(key);
  await poll(
    () => stack.kube.get(key),
    (found) => found === undefined,
  );
};
const site = async (): Promise<unknown> => {
  const key = { apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name: 'site' };
  return (await stack.kube.get<KubeObject & { data?: Record<string, string> }>(key))?.data?.['at'];
};

/** A plan that has run, whose objects are then lost. */
async function runAndLose(): Promise<DRPlanExecution> {
  const { namespace } = stack;
  await stack.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'site', namespace },
    data: { at: 'a' },
  });
  const manifest = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'site' },
    data: { at: 'b' },
  });
  await stack.simplePlan('move', [
    http('call', `${recorder.url}/call`, { rollback: { http: { url: `${recorder.url}/undo` } } }),
    { name: 'flip', type: 'KubernetesResource', resource: { operation: 'Apply', manifest } },
  ]);
  await stack.simplePlan('stays', [http('call', `${recorder.url}/stays`)]);
  const ended = await stack.ended(await stack.execute('move'));
  expect(ended.status?.phase).toBe('Succeeded');
  expect(await site()).toBe('b');
  const taken = await drover('backup', file, '--with-secrets');
  expect(taken.err).toContain('back it up at the same time (docs/backup.md)');
  expect(taken.code).toBe(0);
  await remove('DRPlanExecution', ended.metadata.name);
  await remove('DRPlan', 'move');
  await remove('DRWorkflow', 'move');
  const secret = actionAt(ended, 0, 0, 1)?.outputs?.priorRef?.name ?? '';
  await remove('Secret', secret, 'v1');
  return ended;
}

describe('a backup', () => {
  it('brings back what was lost: a record that never runs again, and that can be reverted [S5.60]', async () => {
    const lost = await runAndLose();
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const refused = await drover('restore', file, '--yes');
    expect(refused.code).toBe(3);
    expect(refused.err).toMatch(/has .* already; nothing was restored/);
    expect(refused.err).toContain('--merge');

    const tried = await drover('restore', file, '--merge', '--dry-run');
    expect(tried.out).toMatch(/^executions +\d+ +\d+ +1$/m);
    expect(tried.code).toBe(0);
    expect(await stack.kube.get({ ...move, namespace: stack.namespace })).toBeUndefined();

    const restored = await drover('restore', file, '--merge', '--yes');
    expect(restored.err).toContain('drplanexecutions: 1 restored');
    expect(restored.code).toBe(0);
    const copy = await stack.get(lost);
    expect(copy.metadata.uid).not.toBe(lost.metadata.uid);
    expect(copy.metadata.annotations).toMatchObject({ [ANNOTATIONS.stamp]: lost.metadata.uid });
    expect(copy.status).toEqual(lost.status);
    const plan = await poll(
      () => stack.getPlan('move'),
      ({ status, metadata }) =>
        status?.observedGeneration === metadata.generation && status?.phase !== undefined,
    );
    expect(plan.status).toMatchObject({
      phase: 'Executed',
      executedBy: { name: lost.metadata.name, uid: copy.metadata.uid },
      executionHistory: [{ uid: copy.metadata.uid, phase: 'Succeeded' }],
    });

    const again = await drover('restore', file, '--merge', '--yes');
    expect(again.err).toMatch(/drplanexecutions: 0 restored, \d+ there already/);

    const revert = await stack.ended(await stack.revert(copy));
    expect(revert.status).toMatchObject({ phase: 'Succeeded' });
    expect(await site()).toBe('a');
    const target = await stack.until(copy, ({ metadata }) => (metadata.finalizers ?? []).length === 0);
    expect(condition(target, 'FullyReverted')?.status).toBe('True');
    expect(target.metadata.annotations).toMatchObject({ [ANNOTATIONS.stamp]: lost.metadata.uid });
    expect((await stack.getPlan('move')).status?.phase).toBe('Ready');
    expect(recorder.of('/call')).toHaveLength(1);
  });

  it('that was cut or altered is refused, and nothing of it is restored', async () => {
    const broken = `${file}.broken`;
    const bytes = await readFile(file);
    await writeFile(broken, bytes);
    await truncate(broken, bytes.length / 2);
    const cut = await drover('restore', broken, '--merge', '--yes');
    expect(cut.err).toMatch(/is not a usable backup: it was cut.*nothing was restored/);
    expect(cut.code).toBe(3);
    bytes.write('c', bytes.indexOf('"site'));
    await writeFile(broken, bytes);
    const altered = await drover('restore', broken, '--merge', '--yes');
    expect(altered.err).toMatch(/was altered.*nothing was restored/);
    expect(altered.code).toBe(3);
  });

  it('without Secrets lets a revert say what is missing, before it begins and when it fails [S5.60]', async () => {
    const bare = `${file}.bare`;
    const lost = await stack.ended(await stack.execute('move'));
    expect(lost.status?.phase).toBe('Succeeded');
    expect((await drover('backup', bare, '--without-secrets')).code).toBe(0);
    await remove('DRPlanExecution', lost.metadata.name);
    const secret = actionAt(lost, 0, 0, 1)?.outputs?.priorRef?.name ?? '';
    await remove('Secret', secret, 'v1');
    const restored = await drover('restore', bare, '--merge', '--yes');
    expect(restored.err).toContain(
      'the archive has no Secrets: reverts that put objects back fail, PriorStateMissing',
    );
    expect(restored.err).toContain('drplanexecutions: 1 restored');
    const revert = await drover(
      ...['revert', lost.metadata.name, '-n', stack.namespace, '--yes', '--watch', '--name', 'missing'],
    );
    expect(revert.err).toContain(`what 1 of its actions have changed cannot be put back, PriorStateMissing`);
    expect(revert.err).toContain(secret);
    const ended = await stack.kube.get<DRPlanExecution>({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      namespace: stack.namespace,
      name: 'missing',
    });
    expect(ended?.status).toMatchObject({ phase: 'Failed', reason: 'UndoFailed' });
    expect(JSON.stringify(ended?.status)).toContain('PriorStateMissing');
    expect(await site()).toBe('b');
  });

  it('says whether it has Secrets, and what comes of it without, and replaces no file', async () => {
    const undecided = await drover('backup', `${file}.2`);
    expect(undecided.code).toBe(64);
    expect(undecided.err).toContain('say whether Secrets belong into the archive');
    const without = await drover('backup', `${file}.2`, '--without-secrets');
    expect(without.err).toContain('WITHOUT SECRETS');
    expect(without.code).toBe(0);
    const twice = await drover('backup', `${file}.2`, '--without-secrets');
    expect(twice.err).toContain('exists already');
    expect(twice.code).toBe(3);
  });
});

const move = { apiVersion: API_VERSION, kind: 'DRPlan', name: 'move' };
