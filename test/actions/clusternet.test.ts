import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createLocalizationHandler } from '../../activities/actions/clusternet/localization.js';
import { createSubscriptionHandler } from '../../activities/actions/clusternet/subscription.js';
import type { LocalizationAction, SubscriptionAction } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { containing, openBench, startLife } from '../support/attempts.js';
import type { Bench, Life } from '../support/attempts.js';
import { servers } from '../support/servers.js';
import { configMapManifest, manifestName } from '../support/sites.js';

const APPS = 'apps.clusternet.io/v1alpha1';
const CLUSTERS = 'clusters.clusternet.io/v1beta1';
const NOT_READY = 'sim.drover.dev/not-ready';
const FAIL = 'sim.drover.dev/fail';

const localizations = createLocalizationHandler({ finalizerWaitMs: 10_000 });
const subscriptions = createSubscriptionHandler({ finalizerWaitMs: 10_000 });
const id = randomUUID().slice(0, 8);
const siteNamespace = (site: string): string => `site-${site}-${id}`;
let bench: Bench;

beforeAll(async () => {
  bench = await openBench(servers.kubeconfig);
  for (const site of ['a', 'b']) {
    const namespace = siteNamespace(site);
    await bench.kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await bench.kube.create({
      apiVersion: CLUSTERS,
      kind: 'ManagedCluster',
      metadata: { name: `site-${site}`, namespace, labels: { test: id, site } },
      spec: { clusterId: randomUUID(), syncMode: 'Dual' },
    });
  }
  for (const name of ['web', 'shop']) await bench.kube.create(configMapManifest(id, name));
  await eventually(() => clusterReady('a'), 'True');
  await eventually(() => clusterReady('b'), 'True');
});

afterAll(async () => {
  const { items } = await bench.kube.list<KubeObject>(
    { apiVersion: APPS, kind: 'Subscription' },
    { namespace: bench.namespace },
  );
  for (const { metadata } of items) await bench.kube.delete(subscriptionKey(metadata.name));
  await eventually(async () => (await basesOf('a')).length + (await basesOf('b')).length, 0);
  for (const name of ['web', 'shop']) {
    await bench.kube.delete({
      apiVersion: APPS,
      kind: 'Manifest',
      namespace: 'clusternet-reserved',
      name: manifestName(id, name),
    });
  }
  for (const site of ['a', 'b']) {
    await bench.kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: siteNamespace(site) });
  }
  await bench.close();
});

async function eventually(read: () => Promise<unknown>, expected: unknown): Promise<void> {
  await vi.waitFor(async () => expect(await read()).toEqual(expected), { timeout: 60_000, interval: 50 });
}

/** Feeds carry the run's own namespace, so that runs do not meet. */
const feed = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name, namespace: `app-${id}` });
const subscriptionKey = (name: string) => ({
  apiVersion: APPS,
  kind: 'Subscription',
  namespace: bench.namespace,
  name,
});
const localizationKey = (name: string, site = 'a') => ({
  apiVersion: APPS,
  kind: 'Localization',
  namespace: siteNamespace(site),
  name,
});

const clusterReady = async (site: string): Promise<string | undefined> => {
  const cluster = await bench.kube.get<{ status?: { conditions?: { type: string; status: string }[] } }>(
    clusterKey(site),
  );
  return cluster?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
};
const clusterKey = (site: string) => ({
  apiVersion: CLUSTERS,
  kind: 'ManagedCluster',
  namespace: siteNamespace(site),
  name: `site-${site}`,
});

async function annotate(site: string, annotation: string, value: string | null): Promise<void> {
  await bench.kube.patch(
    clusterKey(site),
    { metadata: { annotations: { [annotation]: value } } },
    { kind: 'merge' },
  );
}

async function basesOf(site: string): Promise<KubeObject[]> {
  const list = await bench.kube.list<KubeObject>(
    { apiVersion: APPS, kind: 'Base' },
    { namespace: siteNamespace(site) },
  );
  return list.items;
}

/** What a site is told to run, by object name. */
async function deployed(site: string): Promise<Record<string, unknown>> {
  const list = await bench.kube.list<KubeObject & { spec: { raw?: string[] } }>(
    { apiVersion: APPS, kind: 'Description' },
    { namespace: siteNamespace(site) },
  );
  const objects = list.items.flatMap(({ spec }) =>
    (spec.raw ?? []).map(
      (raw) =>
        JSON.parse(Buffer.from(raw, 'base64').toString()) as { metadata: { name: string }; data: unknown },
    ),
  );
  return Object.fromEntries(objects.map((object) => [object.metadata.name, object.data]));
}

interface Sub extends KubeObject {
  spec: { feeds: unknown[]; subscribers: unknown[] };
}
const getSubscription = (name: string) => bench.kube.get<Sub>(subscriptionKey(name));
interface Loc extends KubeObject {
  spec: { overridePolicy: string; priority: number; overrides: unknown[] };
}
const getLocalization = (name: string, site = 'a') => bench.kube.get<Loc>(localizationKey(name, site));

const subscription = (
  block: Omit<SubscriptionAction, 'namespace'>,
  more: { waitReady?: boolean; timeoutMs?: number } = {},
): Life =>
  startLife(
    bench,
    subscriptions,
    { type: 'Subscription', subscription: block, waitReady: more.waitReady ?? true },
    { timeoutMs: more.timeoutMs ?? 20_000, params: { site: 'a', mode: 'active' } },
  );
const localization = (block: Omit<LocalizationAction, 'namespace'>): Life =>
  startLife(
    bench,
    localizations,
    { type: 'Localization', localization: { namespace: siteNamespace('a'), ...block } },
    { params: { mode: 'active' } },
  );

const toSites = (...sites: string[]) => [
  {
    clusterAffinity: {
      matchLabels: { test: id },
      matchExpressions: [{ key: 'site', operator: 'In', values: sites }],
    },
  },
];

describe('Subscription', () => {
  it('deploys, waits until it is applied, and is removed on undo [S3.30]', async () => {
    const action = subscription({
      name: 'first',
      feeds: [feed('web')],
      subscribers: [{ clusterAffinity: { matchLabels: { test: id, site: '{{ .params.site }}' } } }],
    });
    const result = await action.run();
    const { uid } = (await getSubscription('first'))?.metadata ?? {};
    expect(result).toMatchObject({
      kind: 'succeeded',
      message: containing(`applied in ${siteNamespace('a')}/site-a`),
      outputs: { subscriptionRef: { name: 'first', uid }, created: [{ kind: 'Subscription', uid }] },
    });
    expect(await deployed('a')).toEqual({ web: { mode: 'standby' } });
    expect(await action.settle()).toMatchObject({ kind: 'succeeded' });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await getSubscription('first')).toBeUndefined();
    expect(await deployed('a')).toEqual({});
  });

  it('moves an application by a patch, waits for the new place only, and moves it back [S3.32] [S3.37]', async () => {
    const base = subscription({ name: 'moved', feeds: [feed('web')], subscribers: toSites('a') });
    await base.run();
    const move = subscription({ operation: 'Patch', name: 'moved', subscribers: toSites('b') });
    await move.capture();
    expect(await move.run()).toMatchObject({ kind: 'succeeded', message: containing('site-b') });
    expect(await deployed('a')).toEqual({});
    expect(await deployed('b')).toHaveProperty('web');
    expect((await getSubscription('moved'))?.spec.feeds).toEqual([feed('web')]);
    expect(await move.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await getSubscription('moved'))?.spec.subscribers).toEqual(toSites('a'));
    await base.undo();
  });

  it('does not take an old Success for the new spec [S3.37]', async () => {
    const base = subscription({ name: 'stale', feeds: [feed('web')], subscribers: toSites('a') });
    await base.run();
    await annotate('a', FAIL, 'image cannot be pulled');
    const change = subscription(
      {
        operation: 'Apply',
        name: 'stale',
        spec: { feeds: [feed('web'), feed('shop')], subscribers: toSites('a') },
      },
      { timeoutMs: 8000 },
    );
    await change.capture();
    const result = await change.run();
    await annotate('a', FAIL, null);
    expect(result).toMatchObject({
      kind: 'retry',
      reason: 'DeploymentFailed',
      effect: 'Done',
      message: containing('image cannot be pulled'),
      outputs: { subscriptionRef: { name: 'stale' } },
    });
    expect(await change.run()).toMatchObject({ kind: 'succeeded' });
    expect(await deployed('a')).toHaveProperty('shop');
    expect(await change.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await getSubscription('stale'))?.spec.feeds).toEqual([feed('web')]);
    await base.undo();
  });

  it('says what it waits for when the time is up', async () => {
    const action = subscription(
      { name: 'never', feeds: [feed('no-such')], subscribers: toSites('a') },
      { timeoutMs: 3500 },
    );
    expect(await action.run()).toMatchObject({
      kind: 'retry',
      reason: 'NotReady',
      message: containing(`${siteNamespace('a')}/site-a: no Description yet`),
    });
    expect(await action.settle()).toMatchObject({ kind: 'failed', effect: 'Done' });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
  });

  it('replaces by deleting first, and restores what was there [S3.30]', async () => {
    const base = subscription({ name: 'again', feeds: [feed('web')], subscribers: toSites('a') });
    await base.run();
    const old = (await getSubscription('again'))?.metadata.uid;
    const action = subscription({
      operation: 'Replace',
      name: 'again',
      feeds: [feed('shop')],
      subscribers: toSites('a'),
    });
    await action.capture();
    const result = await action.run();
    expect(result).toMatchObject({ kind: 'succeeded' });
    expect(result).not.toHaveProperty('outputs.created');
    const now = await getSubscription('again');
    expect(now?.metadata.uid).not.toBe(old);
    expect(await deployed('a')).toEqual({ shop: { mode: 'standby' } });
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    expect((await getSubscription('again'))?.metadata.uid).toBe(now?.metadata.uid);
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await getSubscription('again'))?.spec.feeds).toEqual([feed('web')]);
    await bench.kube.delete(subscriptionKey('again'));
  });

  it('keeps what is deployed when the replacement is not valid', async () => {
    const base = subscription({ name: 'kept', feeds: [feed('web')], subscribers: toSites('a') });
    await base.run();
    const action = subscription({
      operation: 'Replace',
      name: 'kept',
      spec: { feeds: [{ kind: 'ConfigMap' }], subscribers: toSites('a') },
    });
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'failed', reason: 'Invalid' });
    expect((await getSubscription('kept'))?.metadata.deletionTimestamp).toBeUndefined();
    await base.undo();
  });

  it('warns when a cluster that is out of reach cannot confirm the stop [S3.41]', async () => {
    const base = subscription({ name: 'lost', feeds: [feed('web')], subscribers: toSites('a', 'b') });
    await base.run();
    await annotate('b', NOT_READY, 'yes');
    await eventually(() => clusterReady('b'), 'Unknown');
    const narrow = subscription(
      { operation: 'Patch', name: 'lost', subscribers: toSites('a') },
      { waitReady: false },
    );
    await narrow.capture();
    expect(await narrow.run()).toMatchObject({
      kind: 'succeeded',
      message: containing(`StopUnconfirmed: ${siteNamespace('b')}/site-b is out of reach`),
    });
    await narrow.undo();
    await eventually(async () => (await getSubscription('lost'))?.spec.subscribers, toSites('a', 'b'));
    const remove = subscription({ operation: 'Delete', name: 'lost' });
    await remove.capture();
    const result = await remove.run();
    await annotate('b', NOT_READY, null);
    await eventually(() => clusterReady('b'), 'True');
    expect(result).toMatchObject({ kind: 'succeeded' });
    expect(await getSubscription('lost')).toBeUndefined();
    expect(await remove.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await getSubscription('lost'))?.spec.feeds).toEqual([feed('web')]);
    await bench.kube.delete(subscriptionKey('lost'));
  });

  it.each<[string, Omit<SubscriptionAction, 'namespace'>, string]>([
    ['no subscribers', { name: 'x', feeds: [feed('web')] }, 'InvalidSpec'],
    ['no affinity', { name: 'x', feeds: [feed('web')], subscribers: [{ weight: 1 }] }, 'InvalidSpec'],
    [
      'labels that no cluster has',
      { name: 'x', feeds: [feed('web')], subscribers: toSites('z') },
      'NoMatchingCluster',
    ],
    ['no feeds', { name: 'x', subscribers: toSites('a') }, 'InvalidSpec'],
    ['both forms at once', { name: 'x', feeds: [feed('web')], spec: { feeds: [] } }, 'InvalidSpec'],
    ['an unknown operation', { name: 'x', operation: 'Move' }, 'InvalidOperation'],
  ])('refuses %s before anything is sent [S3.39]', async (_name, block, reason) => {
    expect(await subscription(block).run()).toMatchObject({ kind: 'failed', reason, effect: 'None' });
    expect(await getSubscription('x')).toBeUndefined();
  });

  it('takes an empty affinity as all clusters', async () => {
    const action = subscription(
      { name: 'all', feeds: [feed('web')], subscribers: [{ clusterAffinity: {} }] },
      { waitReady: false },
    );
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    await action.undo();
  });
});

describe('Localization', () => {
  const override = (value: string, type = 'MergePatch') => [{ name: 'mode', type, value }];
  let base: Life;
  beforeAll(async () => {
    base = subscription({ name: 'localized', feeds: [feed('web')], subscribers: toSites('a') });
    await base.run();
  });
  afterAll(async () => {
    await base.undo();
  });

  it('takes effect at once by default, and is taken back [S3.31]', async () => {
    const action = localization({
      name: 'promote',
      feed: feed('web'),
      overrides: override('{"data": {"mode": "{{ .params.mode }}"}}'),
    });
    const result = await action.run();
    expect(result).toMatchObject({
      kind: 'succeeded',
      outputs: { localizationRef: { name: 'promote' }, created: [{ kind: 'Localization' }] },
    });
    expect((await getLocalization('promote'))?.spec).toMatchObject({
      overridePolicy: 'ApplyNow',
      priority: 500,
    });
    await eventually(() => deployed('a'), { web: { mode: 'active' } });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    await eventually(() => deployed('a'), { web: { mode: 'standby' } });
  });

  it('patches only what is written, keeps labels and finalizers, and restores [S3.32]', async () => {
    const base = localization({
      name: 'patched',
      spec: { priority: 600, feed: feed('web'), overrides: override('data: {mode: first}') },
    });
    await base.run();
    await eventually(
      async () => Object.keys((await getLocalization('patched'))?.metadata.labels ?? {}).length,
      3,
    );
    const before = await getLocalization('patched');
    const action = localization({
      operation: 'Patch',
      name: 'patched',
      overrides: override('- {op: replace, path: /data/mode, value: second}', 'JSONPatch'),
    });
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    const patched = await getLocalization('patched');
    expect(patched?.spec).toMatchObject({ priority: 600, overridePolicy: 'ApplyNow' });
    expect(Object.keys(patched?.metadata.labels ?? {})).toEqual(Object.keys(before?.metadata.labels ?? {}));
    expect(patched?.metadata.finalizers).toEqual(before?.metadata.finalizers);
    await eventually(() => deployed('a'), { web: { mode: 'second' } });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    await eventually(() => deployed('a'), { web: { mode: 'first' } });
    expect((await getLocalization('patched'))?.spec).toEqual(before?.spec);
    await base.undo();
  });

  it('keeps ApplyNow when an apply leaves it out the second time', async () => {
    const first = localization({
      operation: 'Apply',
      name: 'applied',
      feed: feed('web'),
      overrides: override('data: {mode: one}'),
    });
    await first.capture();
    await first.run();
    const second = localization({
      operation: 'Apply',
      name: 'applied',
      feed: feed('web'),
      overrides: override('data: {mode: two}'),
    });
    await second.capture();
    expect(await second.run()).toMatchObject({ kind: 'succeeded' });
    expect((await getLocalization('applied'))?.spec).toMatchObject({
      overridePolicy: 'ApplyNow',
      priority: 500,
    });
    await eventually(() => deployed('a'), { web: { mode: 'two' } });
    await second.undo();
    await eventually(() => deployed('a'), { web: { mode: 'one' } });
    await first.undo();
    expect(await getLocalization('applied')).toBeUndefined();
  });

  it('makes the delete of an ApplyLater one effective, and creates it again as it was', async () => {
    const base = localization({
      name: 'later',
      overridePolicy: 'ApplyLater',
      feed: feed('web'),
      overrides: override('data: {mode: later}'),
    });
    expect(await base.run()).toMatchObject({ message: containing('ApplyLater') });
    await eventually(
      async () => Object.keys((await getLocalization('later'))?.metadata.labels ?? {}).length,
      3,
    );
    const action = localization({ operation: 'Delete', name: 'later' });
    await action.capture();
    expect(await action.run()).toMatchObject({
      kind: 'succeeded',
      outputs: { localizationRef: { name: 'later' } },
    });
    await eventually(() => deployed('a'), { web: { mode: 'standby' } });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await getLocalization('later'))?.spec).toMatchObject({ overridePolicy: 'ApplyLater' });
    await bench.kube.delete(localizationKey('later'));
  });

  it('refuses to be retargeted', async () => {
    const base = localization({ name: 'aimed', feed: feed('web'), overrides: override('data: {}') });
    await base.run();
    const action = localization({ operation: 'Patch', name: 'aimed', feed: feed('shop') });
    await action.capture();
    expect(await action.run()).toMatchObject({
      kind: 'failed',
      reason: 'InvalidSpec',
      message: containing('feed'),
    });
    await base.undo();
  });

  it.each<[string, Omit<LocalizationAction, 'namespace'>, string]>([
    [
      'a value that is no YAML',
      { name: 'y', feed: feed('web'), overrides: override('{a: [') },
      'InvalidOverride',
    ],
    [
      'a JSONPatch that is no list',
      { name: 'y', feed: feed('web'), overrides: override('a: 1', 'JSONPatch') },
      'InvalidOverride',
    ],
    [
      'an operation without a path',
      { name: 'y', feed: feed('web'), overrides: override('[{op: add}]', 'JSONPatch') },
      'InvalidOverride',
    ],
    [
      'an unknown type',
      { name: 'y', feed: feed('web'), overrides: override('a: 1', 'Merge') },
      'InvalidOverride',
    ],
    ['no feed', { name: 'y' }, 'InvalidSpec'],
    ['Replace', { name: 'y', operation: 'Replace' }, 'InvalidOperation'],
  ])('refuses %s', async (_name, block, reason) => {
    expect(await localization(block).run()).toMatchObject({ kind: 'failed', reason, effect: 'None' });
    expect(await getLocalization('y')).toBeUndefined();
  });

  it('hints that nothing is in the namespace it is written to', async () => {
    const action = startLife(bench, localizations, {
      type: 'Localization',
      localization: { name: 'astray', namespace: bench.namespace, feed: feed('web') },
    });
    expect(await action.run()).toMatchObject({ kind: 'succeeded', message: containing('no ManagedCluster') });
    await action.undo();
  });
});
