/**
 * What a revert restores is what a worker has recorded [F19]: not what somebody has put into a Secret who may make or
 * change Secrets in the namespace.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPriorStore } from '../../activities/core/prior-store.js';
import type { PriorOwner } from '../../activities/core/prior-secret.js';
import type { PriorDocument, PriorStore } from '../../activities/core/prior.js';
import { API_VERSION } from '../../api/core/group.js';
import { canonicalJson } from '../../api/core/json.js';
import { priorSecretName } from '../../api/plan/naming.js';
import { createSealer, newSealKey, parseSealKeys } from '../../api/core/seal.js';
import type { Sealer } from '../../api/core/seal.js';
import type { KubeObject } from '../../kube/object.js';
import { openBench } from '../support/attempts.js';
import type { Bench } from '../support/attempts.js';
import { servers } from '../support/servers.js';
import { actionAt, condition, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

const entries = [1, 2].map((second): [string, string] => {
  const { id, value } = newSealKey(new Date(Date.UTC(2026, 0, 1, 0, 0, second)));
  return [id, value];
});
const sealerOf = (...ring: typeof entries): Sealer => {
  const keys = parseSealKeys(Object.fromEntries(ring));
  return createSealer({ current: () => keys, again: () => Promise.resolve(keys) });
};
const [first, second] = entries as [[string, string], [string, string]];

const inBase64 = (value: unknown): string => Buffer.from(canonicalJson(value)).toString('base64');
const planted = (name: string): PriorDocument[] => [
  {
    key: { apiVersion: 'v1', kind: 'ConfigMap', name },
    operation: 'Delete',
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, uid: 'u' }, data: { by: 'a stranger' } },
    intent: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
  },
];

describe('[F19] [SEC16] a planted Secret [S3.18]', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await openStack('planted');
  });
  afterAll(() => stack.close());

  it('of the name that an earlier release would have given it is not what a revert restores', async () => {
    const { namespace } = stack;
    const find = (name: string): Promise<(KubeObject & { data?: unknown }) | undefined> =>
      stack.kube.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name });
    const victim = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'victim', namespace } };
    await stack.create({ ...victim, data: { site: 'a' } });
    const flip = JSON.stringify({ ...victim, data: { site: 'b' } });
    await stack.simplePlan('flip', [
      { name: 'wait', type: 'Wait', wait: { duration: '1s' } },
      { name: 'flip', type: 'KubernetesResource', resource: { operation: 'Apply', manifest: flip } },
    ]);
    const execution = await stack.execute('flip');
    const { name, uid = '' } = execution.metadata;
    const at = { stage: 0, workflow: 0, action: 1 };
    await stack.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: priorSecretName({ executionName: name, uid, at }),
        namespace,
        ownerReferences: [{ apiVersion: API_VERSION, kind: 'DRPlanExecution', name, uid }],
      },
      data: {
        'prior.json': inBase64(planted('planted').map((one) => ({ ...one, key: { ...one.key, namespace } }))),
      },
    });
    const ended = await stack.ended(execution);
    expect(ended.status?.phase).toBe('Succeeded');
    expect(actionAt(ended, 0, 0, 1)?.outputs?.priorRef?.name).toMatch(/-prior-0-0-1-[0-9a-f]{16}$/);
    const reverted = await stack.ended(await stack.revert(ended));
    expect(reverted.status?.phase).toBe('Succeeded');
    expect(condition(await stack.get(ended), 'FullyReverted')?.status).toBe('True');
    expect((await find('victim'))?.data).toEqual({ site: 'a' });
    expect(await find('planted')).toBeUndefined();
  });
});

describe('[F19] [SEC16] what is kept [S3.18]', () => {
  let bench: Bench;
  let last = 0;
  beforeAll(async () => {
    bench = await openBench(servers.kubeconfig);
    store = storeOf(sealerOf(first));
  });
  afterAll(() => bench.close());

  const storeOf = (sealer: Sealer): PriorStore => createPriorStore({ kube: bench.kube, sealer });
  let store: PriorStore;
  const nextOwner = (): PriorOwner => ({
    namespace: bench.namespace,
    execution: { name: bench.run.name, uid: bench.run.uid },
    at: { stage: 0, workflow: 0, action: (last += 1) },
  });
  const secretOf = (name: string) => ({ apiVersion: 'v1', kind: 'Secret', namespace: bench.namespace, name });
  const once = { isRepeated: false };
  const sealed = { byDigest: false };
  const undo = { byDigest: true };
  const forged = { ok: false, reason: 'PriorStateForged' };

  async function recorded(owner: PriorOwner, documents = planted('true')) {
    const result = await store.record(owner, documents, once);
    if (!result.ok) throw new Error(result.message);
    return result.prior;
  }
  /** A Secret as an earlier release has written it, or a stranger. */
  async function put(owner: PriorOwner, name: string, documents: PriorDocument[], after?: unknown) {
    await bench.kube.create({
      ...secretOf(name),
      metadata: {
        name,
        namespace: bench.namespace,
        ownerReferences: [{ apiVersion: API_VERSION, kind: 'DRPlanExecution', ...owner.execution }],
      },
      data: {
        'prior.json': inBase64(documents),
        ...(after !== undefined && { 'after.json': inBase64(after) }),
      },
    });
    const digest = createHash('sha256').update(canonicalJson(documents)).digest('hex');
    return { name, key: 'prior.json', digest };
  }
  const earlierName = ({ execution, at }: PriorOwner): string =>
    priorSecretName({ executionName: execution.name, uid: execution.uid, at });

  it('is known to a capture that is made again, also when the keys were changed in between', async () => {
    const owner = nextOwner();
    const prior = await recorded(owner);
    expect(await store.record(owner, planted('later'), once)).toEqual({ ok: true, prior });
    const after = storeOf(sealerOf(first, second));
    expect(await after.record(owner, planted('later'), { isRepeated: true })).toEqual({ ok: true, prior });
    expect(await after.find(owner, prior, sealed)).toMatchObject({ state: { documents: planted('true') } });
    // A run that ended without a word has no reference.
    expect(await after.find(owner, undefined, undo)).toMatchObject({ state: { documents: planted('true') } });
  });

  it('is for one action of one run', async () => {
    const owner = nextOwner();
    const prior = await recorded(owner);
    expect(await store.find(nextOwner(), prior, undo)).toMatchObject({ reason: 'PriorStateMissing' });
    const uid = 'another-run';
    expect(await store.find({ ...owner, execution: { ...owner.execution, uid } }, prior, undo)).toMatchObject(
      {
        ok: false,
      },
    );
  });

  it('is not what somebody else has put there first', async () => {
    const owner = nextOwner();
    const [digits] = sealerOf(first).digits({ uid: owner.execution.uid, at: owner.at });
    await put(owner, `${earlierName(owner)}-${digits}`, planted('planted'));
    expect(await store.record(owner, planted('true'), once)).toMatchObject(forged);
    expect(await store.find(owner, undefined, undo)).toMatchObject(forged);
  });

  it('is not what it was changed to', async () => {
    const owner = nextOwner();
    const prior = await recorded(owner);
    const data = { 'prior.json': inBase64(planted('planted')) };
    await bench.kube.patch(secretOf(prior.name), { data }, { kind: 'merge' });
    for (const how of [sealed, undo]) expect(await store.find(owner, prior, how)).toMatchObject(forged);
    expect(await store.find(owner, undefined, undo)).toMatchObject(forged);
    // Nor what somebody sealed for another action.
    const other = nextOwner();
    const foreign = await recorded(other, planted('planted'));
    const { data: strange } = (await bench.kube.get<{ data: object }>(secretOf(foreign.name))) ?? {};
    await bench.kube.patch(secretOf(prior.name), { data: strange }, { kind: 'merge' });
    expect(await store.find(owner, prior, undo)).toMatchObject(forged);
  });

  it('of the state after an action is not what it was changed to', async () => {
    const owner = nextOwner();
    const prior = await recorded(owner);
    const after = planted('after').map(({ key, object }) => ({ key, object }));
    await store.addAfter(owner, prior, after);
    expect(await store.find(owner, prior, undo)).toMatchObject({ state: { after } });
    await bench.kube.patch(secretOf(prior.name), { data: { 'after.json': inBase64([]) } }, { kind: 'merge' });
    expect(await store.find(owner, prior, undo)).toMatchObject(forged);
    await bench.kube.patch(secretOf(prior.name), { data: { 'after.seal': null } }, { kind: 'merge' });
    expect(await store.find(owner, prior, undo)).toMatchObject(forged);
  });

  it('is restored by the digest that the run has, once its key is gone', async () => {
    const owner = nextOwner();
    const prior = await recorded(owner);
    const after = planted('after').map(({ key, object }) => ({ key, object }));
    await store.addAfter(owner, prior, after);
    const later = storeOf(sealerOf(second));
    expect(await later.find(owner, prior, undo)).toMatchObject({
      state: { documents: planted('true'), after },
    });
    // An action that goes on waits for the key; without a digest nobody knows what it was.
    await expect(later.find(owner, prior, sealed)).rejects.toMatchObject({ reason: 'SealKeyUnknown' });
    const [keyId] = first;
    expect(await later.find(owner, undefined, { ...undo, keyId })).toMatchObject({
      reason: 'PriorStateMissing',
      message: expect.stringContaining(keyId),
    });
  });

  it('by an earlier release is restored by its digest alone', async () => {
    const owner = nextOwner();
    const after = planted('after').map(({ key, object }) => ({ key, object }));
    const prior = await put(owner, earlierName(owner), planted('true'), after);
    expect(await store.find(owner, prior, undo)).toMatchObject({
      state: { documents: planted('true'), after },
    });
    expect(await store.find(owner, { ...prior, digest: 'other' }, undo)).toMatchObject(forged);
    expect(await store.find(owner, prior, sealed)).toMatchObject(forged);
    expect(await store.find(owner, undefined, undo)).toMatchObject(forged);
    expect(await store.find(nextOwner(), undefined, undo)).toEqual({ ok: true, state: undefined });
  });
});
