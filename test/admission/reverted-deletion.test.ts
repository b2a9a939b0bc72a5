/** What a revert restores from belongs to its target: that stays until the revert has ended, with admission and without. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let admitted: Stack;
let unadmitted: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [admitted, unadmitted, recorder] = await Promise.all([
    openStack('held'),
    openStack('held-by-finalizer', { admission: 'disabled' }),
    startRecorder(),
  ]);
});
afterAll(async () => {
  await recorder.close();
  await Promise.all([admitted.close(), unadmitted.close()]);
});

const keyOf = ({ metadata: { name, namespace = '' } }: DRPlanExecution) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace,
  name,
});
const configMap = (stack: Stack, name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  namespace: stack.namespace,
  name,
});
const readData = async (stack: Stack, name: string) =>
  (await stack.kube.get<KubeObject & { data?: Record<string, string> }>(configMap(stack, name)))?.data;

/** An execution that has changed a ConfigMap, and a revert of it that first calls for so long as `delay` says. */
async function revertOf(stack: Stack, delay: number) {
  const name = unique('target');
  await stack.create({
    ...configMap(stack, name),
    metadata: { name, namespace: stack.namespace },
    data: { site: 'a' },
  });
  const manifest = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {site: b}\n`;
  const rollback = { type: 'HTTP' as const, http: { url: `${recorder.url}/${name}?delay=${delay}` } };
  await stack.simplePlan(name, [
    { name: 'change', type: 'KubernetesResource', resource: { operation: 'Apply', manifest } },
    http('call', `${recorder.url}/${name}`, { rollback }),
  ]);
  const target = await stack.ended(await stack.execute(name));
  expect(target.status).toMatchObject({ phase: 'Succeeded' });
  expect(await readData(stack, name)).toEqual({ site: 'b' });
  const revert = await stack.revert(target);
  await stack.until(revert, ({ status }) => status?.phase === 'Running');
  return { name, target, revert };
}

it('admission refuses to delete what is being reverted [S5.18]', async () => {
  const { target, revert, name } = await revertOf(admitted, 2000);
  await expect(admitted.kube.delete(keyOf(target))).rejects.toThrow(
    `DRPlanExecution "${admitted.namespace}/${target.metadata.name}" is being reverted by execution "${revert.metadata.name}"`,
  );
  expect((await admitted.ended(revert)).status).toMatchObject({ phase: 'Succeeded' });
  expect(await readData(admitted, name)).toEqual({ site: 'a' });
  expect(await admitted.kube.delete(keyOf(target))).toBe(true);
});

it('without admission the finalizer holds it until the revert has restored [S5.18]', async () => {
  const { target, revert, name } = await revertOf(unadmitted, 2000);
  await unadmitted.kube.delete(keyOf(target));
  const ended = await unadmitted.ended(revert);
  expect(ended.status).toMatchObject({ phase: 'Succeeded' });
  expect(await readData(unadmitted, name)).toEqual({ site: 'a' });
  await poll(
    () => unadmitted.kube.get(keyOf(target)),
    (found) => found === undefined,
  );
});

it('a person may let it go all the same, and hears how', async () => {
  const { target, revert } = await revertOf(unadmitted, 30_000);
  await unadmitted.kube.delete(keyOf(target));
  const events = await poll(
    () =>
      unadmitted.kube.list<KubeObject & { reason: string; note: string; regarding: { name: string } }>(
        { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
        { namespace: unadmitted.namespace },
      ),
    ({ items }) =>
      items.some(
        ({ reason, regarding }) => reason === 'DeletionHeld' && regarding.name === target.metadata.name,
      ),
  );
  expect(events.items.find(({ reason }) => reason === 'DeletionHeld')?.note).toContain(
    ANNOTATIONS.forceDelete,
  );
  await unadmitted.kube.patch(
    keyOf(target),
    { metadata: { annotations: { [ANNOTATIONS.forceDelete]: 'true' } } },
    { kind: 'merge' },
  );
  await poll(
    () => unadmitted.kube.get(keyOf(target)),
    (found) => found === undefined,
  );
  await unadmitted.kube.delete(keyOf(revert));
});

it('a namespace goes with a revert that runs and its target', { tags: ['nightly'] }, async () => {
  const going = await openStack('held-going');
  await revertOf(going, 30_000);
  await going.close();
  const gone = await poll(
    () => admitted.kube.get({ apiVersion: 'v1', kind: 'Namespace', name: going.namespace }),
    (namespace) => namespace === undefined,
  );
  expect(gone).toBeUndefined();
});
