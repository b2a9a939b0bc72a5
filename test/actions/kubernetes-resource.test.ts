import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createKubernetesResourceHandler } from '../../activities/kubernetes-resource.js';
import type { KubeObject } from '../../kube/object.js';
import { containing, matching, openBench, startLife } from '../support/attempts.js';
import type { Bench, Life } from '../support/attempts.js';

const KEY = 'dr.bkbcs.tencent.com/key';
const handler = createKubernetesResourceHandler({ finalizerWaitMs: 2000 });
let bench: Bench;

beforeAll(async () => {
  bench = await openBench(inject('kubeconfig'));
});
afterAll(() => bench.close());

const life = (operation: string, manifest: string, more: { force?: boolean } = {}, options = {}): Life =>
  startLife(
    bench,
    handler,
    { type: 'KubernetesResource', resource: { operation, manifest, ...more } },
    options,
  );

const configMap = (name: string, data: Record<string, string>): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
const get = (name: string): Promise<ConfigMap | undefined> =>
  bench.kube.get<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', namespace: bench.namespace, name });
const put = (name: string, data: Record<string, string>, metadata = {}): Promise<ConfigMap> =>
  bench.kube.create<ConfigMap>(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: bench.namespace, ...metadata },
      data,
    },
    { fieldManager: 'somebody' },
  );
const edit = (name: string, patch: unknown): Promise<unknown> =>
  bench.kube.patch({ apiVersion: 'v1', kind: 'ConfigMap', namespace: bench.namespace, name }, patch, {
    kind: 'merge',
    fieldManager: 'somebody',
  });
const erase = (name: string): Promise<boolean> =>
  bench.kube.delete({ apiVersion: 'v1', kind: 'ConfigMap', namespace: bench.namespace, name });

describe('Create', () => {
  it("makes an object in the execution's namespace, marked, and deletes it on undo", async () => {
    const action = life('Create', configMap('made', { a: '{{ .params.x }}' }), {}, { params: { x: 'one' } });
    const result = await action.run();
    const made = await get('made');
    expect(made).toMatchObject({
      data: { a: 'one' },
      metadata: {
        labels: { 'dr.bkbcs.tencent.com/execution': bench.run.uid },
        annotations: { [KEY]: containing(bench.run.uid) },
      },
    });
    const reference = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: bench.namespace,
      name: 'made',
      uid: made?.metadata.uid,
    };
    expect(result).toEqual({
      kind: 'succeeded',
      outputs: { resourceRef: reference, resourceRefs: [reference], created: [reference] },
    });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('made')).toBeUndefined();
    expect(await action.undo()).toMatchObject({
      kind: 'succeeded',
      message: containing('gone'),
    });
  });

  it('adopts what a lost attempt made, also in a later round', async () => {
    const action = life('Create', configMap('adopted', { a: '1' }));
    await action.run();
    const { uid } = (await get('adopted'))?.metadata ?? {};
    expect(await action.settle()).toMatchObject({ kind: 'succeeded', outputs: { created: [{ uid }] } });
    expect(await action.run()).toMatchObject({ kind: 'succeeded', outputs: { created: [{ uid }] } });
    expect(await action.run(1)).toMatchObject({ kind: 'succeeded', outputs: { created: [{ uid }] } });
  });

  it('fails on what is not ours, and touches nothing', async () => {
    await put('foreign', { a: 'theirs' });
    const before = await get('foreign');
    const action = life(
      'Create',
      `${configMap('first', { a: '1' })}\n---\n${configMap('foreign', { a: 'ours' })}`,
    );
    expect(await action.run()).toMatchObject({
      kind: 'failed',
      reason: 'AlreadyExists',
      effect: 'None',
      message: containing(`ConfigMap ${bench.namespace}/foreign exists already and is not this action's`),
    });
    expect(await get('foreign')).toEqual(before);
    expect(await get('first')).toBeUndefined();
    expect(await action.settle()).toMatchObject({ kind: 'failed', effect: 'None' });
  });

  it('leaves an object alone that took the name of the created one', async () => {
    const action = life('Create', configMap('retaken', { a: '1' }));
    await action.run();
    await erase('retaken');
    await put('retaken', { a: 'theirs' });
    expect(await action.undo()).toMatchObject({
      kind: 'succeeded',
      message: containing('created anew by someone else'),
    });
    expect((await get('retaken'))?.data).toEqual({ a: 'theirs' });
  });

  it('says what is done when a later object fails, and undoes that', async () => {
    const bad = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'bad' },
      spec: { ports: [{ port: -1 }] },
    });
    const action = life('Create', `${configMap('partial', { a: '1' })}\n---\n${bad}`);
    const result = await action.run();
    expect(result).toMatchObject({
      kind: 'failed',
      reason: 'Invalid',
      effect: 'Done',
      outputs: { created: [{ name: 'partial' }], resourceRefs: [{ name: 'partial' }] },
      message: containing('done before it: 1 of 2'),
    });
    expect(result).not.toHaveProperty('outputs.resourceRef');
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('partial')).toBeUndefined();
  });

  it('undoes a lost attempt by its mark', async () => {
    const action = life('Create', configMap('lost', { a: '1' }));
    await handler.run(action.attempt());
    await action.settle();
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('lost')).toBeUndefined();
  });

  it('gives no namespace to cluster-wide kinds, and waits for kinds that the manifest defines', async () => {
    const group = `g${bench.namespace.slice(-8)}.example.org`;
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `things.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'things', kind: 'Thing' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    };
    const thing = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'one' } };
    const action = life('Create', `${JSON.stringify(definition)}\n---\n${JSON.stringify(thing)}`);
    let result = await action.run();
    for (let tries = 0; result.kind === 'retry' && tries < 20; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      result = await action.run();
    }
    expect(result).toMatchObject({
      kind: 'succeeded',
      outputs: {
        resourceRefs: [{ kind: 'CustomResourceDefinition' }, { kind: 'Thing', namespace: bench.namespace }],
      },
    });
    expect(result).not.toHaveProperty('outputs.resourceRefs[0].namespace');
    const undone = await action.undo();
    expect(undone).toMatchObject({ kind: 'succeeded' });
  });
});

describe('bad input', () => {
  it.each([
    [
      'a kind that is not installed',
      JSON.stringify({ apiVersion: 'nowhere.io/v1', kind: 'Nothing', metadata: { name: 'x' } }),
      'KindNotFound',
    ],
    [
      'an object without a name',
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }),
      'InvalidManifest',
    ],
    ['an empty manifest', '# nothing', 'InvalidManifest'],
    [
      'an object that stands twice',
      `${configMap('twice', {})}\n---\n${configMap('twice', {})}`,
      'InvalidManifest',
    ],
  ])('refuses %s', async (_name, manifest, reason) => {
    expect(await life('Create', manifest).run()).toMatchObject({ kind: 'failed', reason, effect: 'None' });
  });

  it('refuses YAML that cannot be read, and unknown operations', async () => {
    await expect(life('Create', 'a: [').run()).rejects.toThrow(/line 1/);
    expect(await life('Upsert', configMap('x', {})).run()).toMatchObject({ reason: 'InvalidOperation' });
  });

  it('names the missing right on 403', async () => {
    const nobody = bench.kube.as({ user: `system:serviceaccount:${bench.namespace}:nobody` });
    const action = life('Create', configMap('forbidden', {}), {}, { kube: nobody });
    expect(await action.run()).toMatchObject({ kind: 'failed', reason: 'Forbidden', effect: 'None' });
    expect(await get('forbidden')).toBeUndefined();
  });
});

describe('Apply', () => {
  it('creates what is absent and removes it on undo', async () => {
    const action = life('Apply', configMap('applied', { a: '1' }));
    await action.capture();
    const result = await action.run();
    expect(result).toMatchObject({
      kind: 'succeeded',
      outputs: { created: [{ name: 'applied' }], priorRef: { name: action.prior()?.name } },
    });
    expect(await action.run()).toMatchObject({ outputs: { created: [{ name: 'applied' }] } });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('applied')).toBeUndefined();
  });

  it('takes over fields, names whose they were, and restores them', async () => {
    await put('shared', { a: 'theirs', b: 'kept' });
    const action = life('Apply', configMap('shared', { a: 'ours', c: 'new' }));
    await action.capture();
    const result = await action.run();
    expect(result).toMatchObject({
      kind: 'succeeded',
      message: containing('"somebody" owns data.a'),
    });
    expect(result).not.toHaveProperty('outputs.created');
    expect((await get('shared'))?.data).toEqual({ a: 'ours', b: 'kept', c: 'new' });
    await edit('shared', { data: { d: 'later' }, metadata: { labels: { later: 'yes' } } });
    // A capture that is repeated after the effect must not become the truth.
    await action.capture();
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    const restored = await get('shared');
    expect(restored?.data).toEqual({ a: 'theirs', b: 'kept', d: 'later' });
    expect(restored?.metadata.labels).toEqual({ later: 'yes' });
    expect(restored?.metadata.annotations ?? {}).not.toHaveProperty([KEY]);
    expect(await action.undo()).toMatchObject({
      kind: 'succeeded',
      message: containing('already'),
    });
  });

  it('respects ownership with force: false', async () => {
    await put('owned', { a: 'theirs' });
    const action = life('Apply', configMap('owned', { a: 'ours' }), { force: false });
    await action.capture();
    expect(await action.run()).toMatchObject({
      kind: 'failed',
      reason: 'Conflict',
      effect: 'None',
      message: matching(/"somebody" owns data\.a.*force is false/),
    });
    expect((await get('owned'))?.data).toEqual({ a: 'theirs' });
  });

  it('[F5] leaves alone what another action has applied', async () => {
    const first = life('Apply', configMap('shared-out', { a: '1' }));
    await first.capture();
    await first.run();
    const second = life('Apply', configMap('shared-out', { b: '2' }));
    await second.capture();
    const result = await second.run();
    expect(result).toMatchObject({ kind: 'succeeded' });
    expect(result).not.toHaveProperty('message');
    expect((await get('shared-out'))?.data).toEqual({ a: '1', b: '2' });
    expect(await first.undo()).toMatchObject({ kind: 'succeeded' });
  });

  it('[F5] names what it takes away of what it had applied before, and restores it', async () => {
    const name = 'narrows';
    const first = life('Apply', configMap('narrowed', { a: '1', b: '1' }), {}, { name });
    await first.capture();
    await first.run();
    const second = life('Apply', configMap('narrowed', { a: '2' }), {}, { name });
    await second.capture();
    expect(await second.run()).toMatchObject({
      kind: 'succeeded',
      message: containing('took away what this action had set before and no longer names: data.b'),
    });
    expect((await get('narrowed'))?.data).toEqual({ a: '2' });
    expect(await second.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await get('narrowed'))?.data).toEqual({ a: '1', b: '1' });
    expect(await first.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('narrowed')).toBeUndefined();
  });

  it('does not undo over a later change of the same field', async () => {
    await put('contested', { a: 'before' });
    const action = life('Apply', configMap('contested', { a: 'ours' }));
    await action.capture();
    await action.run();
    await edit('contested', { data: { a: 'later' } });
    expect(await action.undo()).toMatchObject({
      kind: 'failed',
      reason: 'Conflict',
      message: containing('data.a was "ours" after the action and is "later" now'),
    });
    expect((await get('contested'))?.data).toEqual({ a: 'later' });
  });

  it('restores after an attempt that ended without a word', async () => {
    await put('silent', { a: 'before', b: 'b' });
    const action = life('Apply', configMap('silent', { a: 'ours' }));
    await action.capture();
    await action.run();
    expect(await action.settle()).toMatchObject({ kind: 'succeeded' });
    // As if neither run nor settle had told what was left behind.
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      namespace: bench.namespace,
      name: action.prior()?.name ?? '',
    };
    await bench.kube.patch(secret, { data: { 'after.json': null } }, { kind: 'merge' });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await get('silent'))?.data).toEqual({ a: 'before', b: 'b' });
  });
});

describe('Patch', () => {
  it('sends only what is written, and puts it back', async () => {
    await put('patched', { a: '1', b: '2' });
    const action = life(
      'Patch',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'patched' },
        data: { a: null, c: '3' },
      }),
    );
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    expect((await get('patched'))?.data).toEqual({ b: '2', c: '3' });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await get('patched'))?.data).toEqual({ a: '1', b: '2' });
  });

  it('fails when there is nothing to patch', async () => {
    const action = life('Patch', configMap('nowhere', { a: '1' }));
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'failed', reason: 'NotFound', effect: 'None' });
  });
});

describe('Replace', () => {
  it('replaces the whole, keeps finalizers, and restores the whole', async () => {
    await put('replaced', { a: '1', b: '2' }, { labels: { l: '1' }, finalizers: ['example.org/keep'] });
    const action = life('Replace', configMap('replaced', { c: '3' }));
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    const now = await get('replaced');
    expect(now?.data).toEqual({ c: '3' });
    expect(now?.metadata.finalizers).toEqual(['example.org/keep']);
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    const restored = await get('replaced');
    expect(restored?.data).toEqual({ a: '1', b: '2' });
    expect(restored?.metadata.labels).toEqual({ l: '1' });
    await edit('replaced', { metadata: { finalizers: null } });
  });

  it('keeps the address of a Service', async () => {
    const key = { apiVersion: 'v1', kind: 'Service', namespace: bench.namespace, name: 'svc' };
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'svc', namespace: bench.namespace },
      spec: { ports: [{ port: 80 }] },
    };
    const before = await bench.kube.create<{ spec: { clusterIP: string } }>(service);
    const action = life('Replace', JSON.stringify({ ...service, spec: { ports: [{ port: 81 }] } }));
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    const after = await bench.kube.get<{ spec: { clusterIP: string; ports: unknown[] } }>(key);
    expect(after?.spec).toMatchObject({ clusterIP: before.spec.clusterIP, ports: [{ port: 81 }] });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await bench.kube.get(key)).toMatchObject({ spec: { ports: [{ port: 80 }] } });
  });
});

describe('Delete', () => {
  it('succeeds when there is nothing, and has nothing to undo', async () => {
    const action = life('Delete', configMap('never', {}));
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    expect(await action.undo()).toMatchObject({ kind: 'skipped' });
  });

  it('deletes, and creates again on undo', async () => {
    await put('doomed', { a: '1' }, { labels: { l: '1' } });
    const action = life('Delete', configMap('doomed', {}));
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    expect(await get('doomed')).toBeUndefined();
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    expect(await action.undo()).toMatchObject({
      kind: 'succeeded',
      message: containing('created again'),
    });
    expect(await get('doomed')).toMatchObject({ data: { a: '1' }, metadata: { labels: { l: '1' } } });
    expect(await action.undo()).toMatchObject({
      kind: 'succeeded',
      message: containing('there again'),
    });
  });

  it('leaves alone what was created after it, forward and back', async () => {
    await put('reborn', { a: '1' });
    const action = life('Delete', configMap('reborn', {}));
    await action.capture();
    await action.run();
    await put('reborn', { a: 'theirs' });
    expect(await action.run()).toMatchObject({
      kind: 'succeeded',
      message: containing('left alone'),
    });
    expect(await action.undo()).toMatchObject({ kind: 'failed', reason: 'Conflict' });
    expect((await get('reborn'))?.data).toEqual({ a: 'theirs' });
  });

  it('waits for finalizers within bounds and names them', async () => {
    await put('stuck', {}, { finalizers: ['example.org/hold'] });
    const action = life('Delete', configMap('stuck', {}));
    await action.capture();
    expect(await action.run()).toMatchObject({
      kind: 'failed',
      reason: 'StillTerminating',
      effect: 'Done',
      message: matching(/accepted.*still Terminating.*example\.org\/hold/),
    });
    expect(await action.settle()).toMatchObject({ kind: 'succeeded' });
    setTimeout(() => void edit('stuck', { metadata: { finalizers: null } }), 300);
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await get('stuck'))?.metadata.deletionTimestamp).toBeUndefined();
    await edit('stuck', { metadata: { finalizers: null } });
  });
});

describe('an account with few rights', () => {
  it('may delete and wait without list and watch', async () => {
    const rbac = 'rbac.authorization.k8s.io';
    await bench.kube.create({
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata: { name: 'deleter', namespace: bench.namespace },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'delete'] }],
    });
    await bench.kube.create({
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'deleter', namespace: bench.namespace },
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'deleter' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'deleter' }],
    });
    await put('slow', {}, { finalizers: ['example.org/hold'] });
    const patient = createKubernetesResourceHandler({ finalizerWaitMs: 10_000 });
    const action = startLife(
      bench,
      patient,
      { type: 'KubernetesResource', resource: { operation: 'Delete', manifest: configMap('slow', {}) } },
      { kube: bench.kube.as({ user: 'deleter' }) },
    );
    await action.capture();
    setTimeout(() => void edit('slow', { metadata: { finalizers: null } }), 500);
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    expect(await get('slow')).toBeUndefined();
  });
});

describe('interruption', () => {
  it('keeps the outputs of what is done', async () => {
    const action = life('Create', `${configMap('cut-1', {})}\n---\n${configMap('cut-2', {})}`);
    const controller = new AbortController();
    let effects = 0;
    const result = await handler.run(
      action.attempt({
        signal: controller.signal,
        beforeEffect: () => {
          effects += 1;
          if (effects === 2) controller.abort('cancelled');
        },
      }),
    );
    expect(result).toMatchObject({
      kind: 'interrupted',
      effect: 'Done',
      outputs: { created: [{ name: 'cut-1' }] },
    });
    expect(await action.settle()).toMatchObject({
      kind: 'failed',
      effect: 'Done',
      outputs: { created: [{ name: 'cut-1' }] },
    });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('cut-1')).toBeUndefined();
  });

  it('keeps large prior state compressed, and refuses what no Secret can hold', async () => {
    const noise = Array.from({ length: 500_000 }, () => Math.random().toString(36)[2] ?? '').join('');
    await put('large-1', { a: noise });
    await put('large-2', { a: noise.split('').reverse().join('') });
    const one = life('Delete', configMap('large-1', {}));
    await one.capture();
    expect(one.prior()?.key).toBe('prior.json.gz');
    await one.run();
    expect(await one.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await get('large-1'))?.data?.a).toBe(noise);
    await put('large-3', { a: noise.slice(0, 400_000).toUpperCase() });
    await put('large-4', { a: noise.slice(100_000).split('').reverse().join('') });
    const names = ['large-1', 'large-2', 'large-3', 'large-4'];
    const many = life('Delete', names.map((name) => configMap(name, {})).join('\n---\n'));
    await expect(many.capture()).rejects.toThrow(/PriorStateTooLarge.*900 KiB/);
    expect(await get('large-1')).toBeDefined();
  });
});
