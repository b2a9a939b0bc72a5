import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKubernetesResourceHandler } from '../../activities/actions/objects/kubernetes-resource.js';
import type { Action } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { containing, matching, openBench, startLife } from '../support/attempts.js';
import type { Bench, Life } from '../support/attempts.js';
import { servers } from '../support/servers.js';

const KEY = 'dr.bkbcs.tencent.com/key';
const handler = createKubernetesResourceHandler({ finalizerWaitMs: 2000 });
let bench: Bench;

beforeAll(async () => {
  bench = await openBench(servers.kubeconfig);
});
afterAll(() => bench.close());

const life = (
  operation: string,
  manifest: string,
  more: Partial<NonNullable<Action['resource']>> = {},
  options = {},
): Life =>
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
  it("makes an object in the execution's namespace, marked, and deletes it on undo [S3.7]", async () => {
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

  it('adopts what a lost attempt made, also in a later round [S3.9]', async () => {
    const action = life('Create', configMap('adopted', { a: '1' }));
    await action.run();
    const { uid } = (await get('adopted'))?.metadata ?? {};
    expect(await action.settle()).toMatchObject({ kind: 'succeeded', outputs: { created: [{ uid }] } });
    expect(await action.run()).toMatchObject({ kind: 'succeeded', outputs: { created: [{ uid }] } });
    expect(await action.run(1)).toMatchObject({ kind: 'succeeded', outputs: { created: [{ uid }] } });
  });

  it('fails on what is not ours, and touches nothing [S3.9]', async () => {
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

  it('leaves an object alone that took the name of the created one [S3.52] [S5.47]', async () => {
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

  it('says what is done when a later object fails, and undoes that [S3.45]', async () => {
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

  it('[F8] takes a definition and its objects in any order, and gives no namespace to cluster-wide kinds [S3.45]', async () => {
    const { definition, thing } = aKind('early');
    const action = life('Create', `${JSON.stringify(thing)}\n---\n${JSON.stringify(definition)}`);
    const result = await action.run();
    expect(result).toMatchObject({
      kind: 'succeeded',
      outputs: {
        // As they are written, whatever was made first.
        resourceRefs: [{ kind: 'Thing', namespace: bench.namespace }, { kind: 'CustomResourceDefinition' }],
        created: [{ kind: 'CustomResourceDefinition' }, { kind: 'Thing' }],
      },
    });
    expect(result).not.toHaveProperty('outputs.resourceRefs[1].namespace');
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
  });

  it('[F8] ends a definition only when its kind is served, so that the next action finds it', async () => {
    const { definition, thing } = aKind('next');
    // What was not there a moment ago is not taken for missing now.
    expect(await life('Create', JSON.stringify(thing)).run()).toMatchObject({ reason: 'KindNotFound' });
    const first = life('Apply', JSON.stringify(definition));
    await first.capture();
    expect(await first.run()).toMatchObject({ kind: 'succeeded' });
    const second = life('Apply', JSON.stringify(thing));
    await second.capture();
    expect(await second.run()).toMatchObject({ kind: 'succeeded' });
    expect(await second.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await first.undo()).toMatchObject({ kind: 'succeeded' });
  });

  it('[F8] says why a definition is never served', async () => {
    const { definition } = aKind('taken');
    const other = structuredClone(definition);
    other.metadata.name = `others.${other.spec.group}`;
    other.spec.names.plural = 'others';
    const action = life('Create', `${JSON.stringify(definition)}\n---\n${JSON.stringify(other)}`);
    expect(await action.run()).toMatchObject({
      kind: 'failed',
      reason: 'NotServed',
      message: containing('is already in use'),
    });
    await action.undo();
  });

  it('[F8] takes a namespace and what is in it in any order, and a List for its items [S3.45]', async () => {
    const namespace = `${bench.namespace}-inner`;
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'inside', namespace } },
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      ],
    };
    const action = life('Create', JSON.stringify(list));
    expect(await action.run()).toMatchObject({ kind: 'succeeded', outputs: { created: { length: 2 } } });
    await bench.kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: namespace });
  });
});

/** A kind of this test's own, and an object of it. */
function aKind(prefix: string) {
  const group = `${prefix}-${bench.namespace.slice(-8)}.example.org`;
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
  return { definition, thing: { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'one' } } };
}

describe('what does not fit its kind', () => {
  const deployment = (name: string, spec: object, metadata = {}): string =>
    JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, ...metadata }, spec });
  const secret = (more: object): string =>
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bad' }, ...more });

  it.each<[string, string, string, RegExp, object?]>([
    ['Create', 'an unknown field', JSON.stringify({ ...JSON.parse(configMap('bad', {})), dta: {} }), /"dta"/],
    [
      'Patch',
      'an unknown field',
      JSON.stringify({ ...JSON.parse(configMap('typed', {})), datas: {} }),
      /"datas"/,
    ],
    [
      'Replace',
      'an unknown field',
      JSON.stringify({ ...JSON.parse(configMap('typed', {})), dta: {} }),
      /"dta"/,
    ],
    ['Apply', 'an unknown field', deployment('bad', { replica: 3 }), /\.spec\.replica\b/],
    ['Apply', 'a wrong type', deployment('bad', { replicas: 'three' }), /\.spec\.replicas/],
    [
      'Apply',
      'a label that is no text',
      deployment('bad', {}, { labels: { v: 1.1 } }),
      /metadata\.labels\.v.*in quotes/,
    ],
    [
      'Create',
      'an annotation that is no text',
      deployment('bad', {}, { annotations: { on: true } }),
      /metadata\.annotations\.on.*in quotes/,
    ],
    [
      'Patch',
      'a wrong type',
      JSON.stringify({ ...JSON.parse(configMap('typed', {})), data: { a: 1 } }),
      /no text: data\.a/,
    ],
    [
      'Patch',
      'an unknown field',
      JSON.stringify({ ...JSON.parse(configMap('typed', {})), datas: {} }),
      /"datas"/,
      { patchType: 'strategic' },
    ],
    [
      'Patch',
      'a wrong type',
      JSON.stringify({ ...JSON.parse(configMap('typed', {})), data: { a: 1 } }),
      /no text: data\.a/,
      { patchType: 'strategic' },
    ],
    ['Create', 'a secret that is no text', secret({ stringData: { pin: 918273 } }), /stringData\.pin/],
    ['Apply', 'a secret that is no text', secret({ stringData: { pin: 918273 } }), /stringData\.pin/],
  ])(
    '[F7] %s with %s is Invalid at once, with the path and without the content [S3.50]',
    async (operation, _, manifest, message, more = {}) => {
      if (operation === 'Patch' || operation === 'Replace') {
        await put('typed', { password: 'hunter2-canary' }).catch(() => undefined);
      }
      const action = life(operation, manifest, more);
      await action.capture();
      const result = await action.run();
      expect(result).toMatchObject({
        kind: 'failed',
        reason: 'Invalid',
        effect: 'None',
        message: matching(message),
      });
      expect(JSON.stringify(result)).not.toMatch(/hunter2|aHVudGVy|918273/);
    },
  );

  it('[F7] is dropped where the action says so, and never refused to an undo [S3.50]', async () => {
    const lenient = { fieldValidation: 'Warn' as const };
    const manifest = JSON.stringify({ ...JSON.parse(configMap('lenient', { a: '1' })), dta: {} });
    const action = life('Create', manifest, lenient);
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    expect((await get('lenient'))?.data).toEqual({ a: '1' });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
  });

  it('is told of a manifest that holds for one state of its object only', async () => {
    const action = life('Apply', deployment('pinned', {}, { uid: 'aaaa-bbb', resourceVersion: '1' }));
    await action.capture();
    expect(await action.run()).toMatchObject({
      kind: 'failed',
      reason: 'Conflict',
      message: containing('remove them, unless that is what is meant'),
    });
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

  it('names the missing right on 403 [S3.6]', async () => {
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

  it('takes over fields, names whose they were, and restores them [S3.15] [S3.45] [S3.48]', async () => {
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

  it('respects ownership with force: false [S3.45] [S3.48]', async () => {
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

  it('[F5] leaves alone what another action has applied [S3.46]', async () => {
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

  it('[F5] takes what earlier releases had applied, and removes nothing of it [S3.47]', async () => {
    const key = { apiVersion: 'v1', kind: 'ConfigMap', namespace: bench.namespace, name: 'inherited' };
    const { apiVersion, kind, ...metadata } = key;
    const before = { apiVersion, kind, metadata, data: { a: '1', b: '1' } };
    await bench.kube.patch(key, before, { kind: 'apply', fieldManager: 'drover', force: true });
    const action = life('Apply', configMap('inherited', { a: '2' }), { force: false });
    await action.capture();
    const result = await action.run();
    expect(result).toMatchObject({ kind: 'succeeded' });
    expect(result).not.toHaveProperty('message');
    expect((await get('inherited'))?.data).toEqual({ a: '2', b: '1' });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await get('inherited'))?.data).toEqual({ a: '1', b: '1' });
  });

  it('[F5] is in conflict with another action of ours, and names it when it takes over [S3.48]', async () => {
    const first = life('Apply', configMap('rivals', { a: '1' }), {}, { name: 'first' });
    await first.capture();
    await first.run();
    const polite = life('Apply', configMap('rivals', { a: '2' }), { force: false });
    await polite.capture();
    expect(await polite.run()).toMatchObject({
      kind: 'failed',
      reason: 'Conflict',
      message: matching(/"drover\/plan\/first\/[0-9a-f]{12}" owns data\.a, and force is false/),
    });
    const forced = life('Apply', configMap('rivals', { a: '2' }), { force: true });
    await forced.capture();
    expect(await forced.run()).toMatchObject({
      kind: 'succeeded',
      message: matching(/took over from others: "drover\/plan\/first\/[0-9a-f]{12}" owns data\.a$/),
    });
  });

  it('[F5] leaves one entry an action, however often they run and are undone [S3.46]', async () => {
    await put('often', { a: 'theirs', kept: '1' });
    const one = (name: string, data: Record<string, string>): Life =>
      life('Apply', configMap('often', data), {}, { name });
    const seen: string[][] = [];
    for (let run = 0; run < 6; run += 1) {
      const lives = [one('often-1', { a: `${run}`, b: '1' }), one('often-2', { a: 'x', c: `${run}` })];
      for (const action of lives) {
        await action.capture();
        expect(await action.run()).toMatchObject({ kind: 'succeeded' });
      }
      const { managedFields = [] } = (await get('often'))?.metadata ?? {};
      seen.push(managedFields.map(({ manager, operation }) => `${manager} ${operation}`).sort());
      for (const action of lives.reverse()) expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
      expect((await get('often'))?.data).toEqual({ a: 'theirs', kept: '1' });
    }
    const last = seen.at(-1) ?? [];
    expect(last.filter((entry) => entry.endsWith('Apply'))).toHaveLength(2);
    expect(new Set(last).size).toBe(last.length);
    // From the second run on nothing comes to it.
    expect(seen.slice(1).every((entries) => entries.join() === last.join())).toBe(true);
  });

  it('[F5] names what it takes away of what it had applied before, and restores it [S3.47]', async () => {
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

  it('does not undo over a later change of the same field [S3.16]', async () => {
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

  it('restores after an attempt that ended without a word [S3.13]', async () => {
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
  it('sends only what is written, and puts it back [S3.49]', async () => {
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

  it('[F8] says what is lost of lists that it replaces, and keeps the rest as a strategic patch [S3.51]', async () => {
    const name = 'listed';
    const key = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: bench.namespace, name };
    const web = {
      name: 'web',
      image: 'web:1',
      env: [{ name: 'A', value: '1' }],
      ports: [{ containerPort: 80 }],
    };
    await bench.kube.create({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: bench.namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [web, { name: 'sidecar', image: 'side:1' }] },
        },
      },
    });
    const containers = async (): Promise<{ name: string; image: string; env?: unknown }[]> =>
      (await bench.kube.get<{ spec: { template: { spec: { containers: never } } } }>(key))?.spec.template.spec
        .containers ?? [];
    const manifest = JSON.stringify({
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } },
      spec: { template: { spec: { containers: [{ name: 'web', image: 'web:2' }] } } },
    });
    const strategic = life('Patch', manifest, { patchType: 'strategic' });
    await strategic.capture();
    const kept = await strategic.run();
    expect(kept).toMatchObject({ kind: 'succeeded' });
    expect(kept).not.toHaveProperty('message');
    expect(await containers()).toMatchObject([{ image: 'web:2', env: web.env }, { name: 'sidecar' }]);
    expect(await strategic.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await containers()).toMatchObject([{ image: 'web:1', env: web.env }, { name: 'sidecar' }]);
    const merge = life('Patch', manifest);
    await merge.capture();
    expect(await merge.run()).toMatchObject({
      kind: 'succeeded',
      message: containing('spec.template.spec.containers: item "sidecar"; of "web": env, ports'),
    });
    expect(await containers()).toHaveLength(1);
    expect(await merge.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await containers()).toMatchObject([web, { name: 'sidecar' }]);
  });

  it('[F6] gives back what the server has taken away with what was patched [S3.17]', async () => {
    const key = { apiVersion: 'v1', kind: 'Service', namespace: bench.namespace, name: 'moved' };
    const before = await bench.kube.create<KubeObject>({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'moved', namespace: bench.namespace },
      spec: { type: 'NodePort', ports: [{ port: 80 }] },
    });
    const spec = { type: 'ExternalName', externalName: 'site-b.example.org' };
    const { apiVersion, kind } = key;
    const action = life('Patch', JSON.stringify({ apiVersion, kind, metadata: { name: 'moved' }, spec }));
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    expect((await bench.kube.get(key))?.spec).not.toHaveProperty('clusterIP');
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await bench.kube.get(key))?.spec).toEqual(before.spec);
  });

  it('says that kinds of others know no strategic patch', async () => {
    const { definition, thing } = aKind('plain');
    const made = life('Create', `${JSON.stringify(definition)}\n---\n${JSON.stringify(thing)}`);
    await made.run();
    const action = life('Patch', JSON.stringify(thing), { patchType: 'strategic' });
    await action.capture();
    expect(await action.run()).toMatchObject({
      kind: 'failed',
      reason: 'Invalid',
      message: containing('use patchType: merge, or operation Apply'),
    });
    await made.undo();
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
  it('succeeds when there is nothing, and has nothing to undo [S3.52]', async () => {
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

  it('leaves alone what was created after it, forward and back [S3.52]', async () => {
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

  it('waits for finalizers within bounds and names them [S3.52]', async () => {
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
  it('keeps the outputs of what is done [S3.13]', async () => {
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

  it('keeps large prior state compressed, and refuses what no Secret can hold [S5.18]', async () => {
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
