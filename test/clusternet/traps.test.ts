/**
 * What Clusternet does not do, or does not say, one by one (seen in the clusters themselves), and what an action makes
 * of it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLocalizationHandler } from '../../activities/actions/clusternet/localization.js';
import { createSubscriptionHandler } from '../../activities/actions/clusternet/subscription.js';
import type { LocalizationAction, SubscriptionAction } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { containing, matching, openBench, startLife } from '../support/attempts.js';
import type { Bench, Life } from '../support/attempts.js';
import { servers } from '../support/servers.js';
import { unique } from '../support/stack.js';
import { APPS, eventually, openRig } from './rig.js';
import type { Feed, Rig, Site } from './rig.js';

const subscriptions = createSubscriptionHandler({ finalizerWaitMs: 15_000, driftAfterMs: 2000 });
const localizations = createLocalizationHandler({ finalizerWaitMs: 15_000 });
let bench: Bench;
let rig: Rig;

beforeAll(async () => {
  [bench, rig] = await Promise.all([openBench(servers.kubeconfig), openRig()]);
});
afterAll(async () => {
  const { items } = await bench.kube.list(
    { apiVersion: APPS, kind: 'Subscription' },
    { namespace: bench.namespace },
  );
  for (const { metadata } of items) await bench.kube.delete(key(metadata.name));
  await rig.close();
  await bench.close();
});

const key = (name: string) => ({ apiVersion: APPS, kind: 'Subscription', namespace: bench.namespace, name });

const subscription = (
  block: Omit<SubscriptionAction, 'namespace'>,
  more: { waitReady?: boolean; timeoutMs?: number } = {},
): Life =>
  startLife(
    bench,
    subscriptions,
    { type: 'Subscription', subscription: block, waitReady: more.waitReady ?? true },
    { timeoutMs: more.timeoutMs ?? 20_000 },
  );
const localization = (block: Omit<LocalizationAction, 'namespace'>): Life =>
  startLife(bench, localizations, {
    type: 'Localization',
    localization: { namespace: rig.namespaceOf('a'), ...block },
  });

/** A feed with content, and a Subscription of the same name that has brought it to sites. */
async function deployed(...sites: Site[]): Promise<{ feed: Feed; base: Life }> {
  const feed = rig.feed(unique('web'));
  await rig.manifest(feed, { data: { mode: 'standby' } });
  const base = subscription({ name: feed.name, feeds: [feed], subscribers: rig.to(...sites) });
  const result = await base.run();
  expect(result).toMatchObject({ kind: 'succeeded', message: matching(/seen ready in .* itself/) });
  for (const site of sites) expect(result).toMatchObject({ message: containing(rig.binding(site)) });
  return { feed, base };
}

const modeIn = async (site: Site, feed: Feed): Promise<string | undefined> =>
  (await rig.seen(site, feed))?.data?.mode;

describe('clusterAffinity that matches no cluster', () => {
  it('removes the feeds everywhere when it is sent, so it is refused [S3.39]', async () => {
    const { feed, base } = await deployed('a', 'b');
    const none = { operation: 'Patch' as const, name: feed.name, subscribers: rig.to('nowhere') };
    expect(await subscription(none).run()).toMatchObject({
      kind: 'failed',
      reason: 'NoMatchingCluster',
      effect: 'None',
    });
    expect(await modeIn('b', feed)).toBe('standby');

    await bench.kube.patch(key(feed.name), { spec: { subscribers: rig.to('nowhere') } }, { kind: 'merge' });
    await eventually(() => modeIn('b', feed), undefined);
    await base.undo();
  });
});

describe('clusters that are not Ready', () => {
  it('would take everything down when they alone are chosen, so that is refused, and so is an undo to them [S3.39]', async () => {
    const { feed, base } = await deployed('a');
    const move = subscription({ operation: 'Patch', name: feed.name, subscribers: rig.to('b') });
    await move.capture();
    await rig.quirk('b', 'notReady', 'yes');
    expect(await move.run()).toMatchObject({
      kind: 'retry',
      reason: 'NoReadyCluster',
      effect: 'None',
      message: matching(/\/site-b\): Clusternet would remove the feeds from .*\/site-a/),
    });
    expect(await modeIn('a', feed)).toBe('standby');
    await rig.quirk('b', 'notReady', null);

    expect(await move.run()).toMatchObject({ kind: 'succeeded' });
    await rig.quirk('a', 'notReady', 'yes');
    expect(await move.undo()).toMatchObject({ kind: 'retry', reason: 'NoReadyCluster' });
    expect(await modeIn('b', feed)).toBe('standby');
    await rig.quirk('a', 'notReady', null);
    expect(await move.undo()).toMatchObject({ kind: 'succeeded' });
    await base.undo();
  });
});

describe('two Bases for one cluster, which a race of Clusternet makes', () => {
  it('do not keep a change from being ready, and what does not follow is told [S3.37]', async () => {
    await rig.quirk('a', 'twoBases', 'yes');
    const { feed } = await deployed('a');
    await rig.quirk('a', 'twoBases', null);
    const second = rig.feed(unique('web'));
    await rig.manifest(second, { data: { mode: 'standby' } });
    expect(await subscription({ operation: 'Patch', name: feed.name, feeds: [second] }).run()).toMatchObject({
      kind: 'succeeded',
      message: matching(/seen ready in .* itself; Clusternet has made more than one Base/),
    });
    expect(await modeIn('a', second)).toBe('standby');
    const remove = subscription({ operation: 'Delete', name: feed.name });
    await remove.capture();
    expect(await remove.run()).toMatchObject({ kind: 'succeeded' });
  });
});

describe('a Success that is older than the spec', () => {
  it('is not believed: the action waits for what the cluster has [S3.37]', async () => {
    const { feed, base } = await deployed('a');
    const second = rig.feed(unique('web'));
    await rig.manifest(second, { data: { mode: 'standby' } });
    await rig.quirk('a', 'lag', '4');
    const change = subscription({ operation: 'Patch', name: feed.name, feeds: [feed, second] });
    const result = change.run();
    await eventually(async () => (await bench.kube.get<KubeObject>(key(feed.name)))?.metadata.generation, 2);
    expect(await modeIn('a', second)).toBeUndefined();
    expect(await result).toMatchObject({ kind: 'succeeded' });
    expect(await modeIn('a', second)).toBe('standby');
    await rig.quirk('a', 'lag', null);
    await base.undo();
  });
});

describe('a Description that stays empty', () => {
  it('is waited for no longer than the timeout, and Replace gets the deployment going again [S3.37]', async () => {
    await rig.credentials('a', false);
    const feed = rig.feed(unique('web'));
    await rig.manifest(feed, { data: { mode: 'standby' } });
    const block = { name: feed.name, feeds: [feed], subscribers: rig.to('a') };
    expect(await subscription(block, { timeoutMs: 8000 }).run()).toMatchObject({
      kind: 'retry',
      reason: 'NotReady',
      message: matching(/Description .* is new.*secret "child-cluster-deployer" not found/),
    });
    await rig.credentials('a', true);
    const again = subscription({ ...block, operation: 'Replace' });
    await again.capture();
    expect(await again.run()).toMatchObject({ kind: 'succeeded' });
    expect(await modeIn('a', feed)).toBe('standby');
    await bench.kube.delete(key(feed.name));
  });
});

describe('an override that cannot be applied', () => {
  it('stops everything that goes to the cluster, and the wait says which one it is [S3.35]', async () => {
    const { feed, base } = await deployed('a');
    const broken = {
      apiVersion: APPS,
      kind: 'Localization',
      metadata: { name: `${feed.name}-broken`, namespace: rig.namespaceOf('a') },
      spec: {
        overridePolicy: 'ApplyNow',
        feed,
        overrides: [{ name: 'broken', type: 'MergePatch', value: '{"data": ' }],
      },
    };
    await bench.kube.create(broken);
    const second = rig.feed(unique('web'));
    await rig.manifest(second, { data: { mode: 'standby' } });
    const change = subscription(
      { operation: 'Patch', name: feed.name, feeds: [feed, second] },
      { timeoutMs: 8000 },
    );
    expect(await change.run()).toMatchObject({
      kind: 'retry',
      message: matching(
        /Description does not hold ConfigMap .*failed to convert patch \{"data":.*told of Localization .*-broken/,
      ),
    });
    await bench.kube.delete({ ...broken, ...broken.metadata });
    await base.undo();
  });

  it('is refused where an action would write it [S3.35]', async () => {
    const feed = rig.feed('any');
    const overrides = [{ name: 'o', type: 'MergePatch', value: '{a: [' }];
    expect(await localization({ name: 'x', feed, overrides }).run()).toMatchObject({
      kind: 'failed',
      reason: 'InvalidOverride',
      effect: 'None',
    });
  });
});

describe('ApplyLater', () => {
  it('changes nothing in the cluster, and the action says so [S3.31]', async () => {
    const { feed, base } = await deployed('a');
    const later = localization({
      name: `${feed.name}-later`,
      overridePolicy: 'ApplyLater',
      feed,
      overrides: [{ name: 'mode', type: 'MergePatch', value: 'data: {mode: active}' }],
    });
    expect(await later.run()).toMatchObject({ kind: 'succeeded', message: containing('ApplyLater') });
    const after = await deployed('a');
    expect(await modeIn('a', feed)).toBe('standby');
    await after.base.undo();
    await later.undo();
    await base.undo();
  });
});

describe('Localizations of equal priority', () => {
  it('are told: which of them wins is chance [S3.34]', async () => {
    const { feed, base } = await deployed('a');
    const make = (name: string, priority: number): Life =>
      localization({
        name: `${feed.name}-${name}`,
        priority,
        feed,
        overrides: [{ name: 'mode', type: 'MergePatch', value: `data: {mode: ${name}}` }],
      });
    const [first, equal, higher] = [make('first', 600), make('equal', 600), make('higher', 700)];
    expect(await first.run()).not.toHaveProperty('message');
    expect(await equal.run()).toMatchObject({
      kind: 'succeeded',
      message: matching(/Localization .*-first in .* same priority 600/),
    });
    expect(await higher.run()).not.toHaveProperty('message');
    await eventually(() => modeIn('a', feed), 'higher');
    for (const life of [higher, equal, first]) await life.undo();
    await eventually(() => modeIn('a', feed), 'standby');
    await base.undo();
  });
});

describe('a JSONPatch whose path does not exist', () => {
  const patch = (feed: Feed, name: string, value: string, priority = 500): Life =>
    localization({
      name: `${feed.name}-${name}`,
      priority,
      feed,
      overrides: [{ name: 'patch', type: 'JSONPatch', value }],
    });

  it('is passed over without a word when it is sent, so it is refused [S3.35]', async () => {
    const { feed, base } = await deployed('a');
    const value = '[{op: replace, path: /data/mode, value: active}, {op: remove, path: /data/no}]';
    expect(await patch(feed, 'missing', value).run()).toMatchObject({
      kind: 'failed',
      reason: 'InvalidOverride',
      effect: 'None',
      message: matching(/overrides\[0\] "patch": operation 2 names path \/data\/no/),
    });
    await bench.kube.create({
      apiVersion: APPS,
      kind: 'Localization',
      metadata: { name: `${feed.name}-sent`, namespace: rig.namespaceOf('a') },
      spec: { overridePolicy: 'ApplyNow', feed, overrides: [{ name: 'p', type: 'JSONPatch', value }] },
    });
    const after = await deployed('a');
    expect(await modeIn('a', feed)).toBe('standby');
    await after.base.undo();
    await bench.kube.delete({
      apiVersion: APPS,
      kind: 'Localization',
      namespace: rig.namespaceOf('a'),
      name: `${feed.name}-sent`,
    });
    await base.undo();
  });

  it('is added by a replace of a key, which is sent with a doubt [S3.35]', async () => {
    const { feed, base } = await deployed('a');
    const adds = patch(feed, 'new', '[{op: replace, path: /data/extra, value: x}]');
    expect(await adds.run()).toMatchObject({
      kind: 'succeeded',
      message: matching(/operation 1 replaces \/data\/extra, which .* v0\.18 adds/),
    });
    await eventually(async () => (await rig.seen('a', feed))?.data, { mode: 'standby', extra: 'x' });
    await adds.undo();
    await eventually(async () => (await rig.seen('a', feed))?.data, { mode: 'standby' });
    await base.undo();
  });

  it('is taken when an override before it makes the path, in the same Localization or in one of lower priority [S3.35]', async () => {
    const { feed, base } = await deployed('a');
    const adds = patch(feed, 'adds', '[{op: add, path: /data/extra, value: x}]', 100);
    expect(await adds.run()).toMatchObject({ kind: 'succeeded' });
    const uses = patch(
      feed,
      'uses',
      '[{op: test, path: /data/extra, value: x}, {op: remove, path: /data/extra}]',
    );
    expect(await uses.run()).toMatchObject({ kind: 'succeeded' });
    await eventually(async () => (await rig.seen('a', feed))?.data, { mode: 'standby' });
    await uses.undo();
    await adds.undo();
    await base.undo();
  });

  it('inside a text field is left to Clusternet', async () => {
    const feed = rig.feed(unique('web'));
    await rig.manifest(feed, { data: { config: '{"level": 1}' } });
    const base = subscription({ name: feed.name, feeds: [feed], subscribers: rig.to('a') });
    await base.run();
    const field = localization({
      name: `${feed.name}-field`,
      feed,
      overrides: [
        {
          name: 'level',
          type: 'FieldJSONPatch',
          fieldPath: '/data/config',
          fieldFormat: 'JSON',
          value: '[{op: replace, path: /level, value: 2}]',
        },
      ],
    });
    expect(await field.run()).toMatchObject({ kind: 'succeeded' });
    await eventually(async () => JSON.parse((await rig.seen('a', feed))?.data?.config ?? 'null') as unknown, {
      level: 2,
    });
    await field.undo();
    await base.undo();
  });
});

describe('a removal', () => {
  it('that lags is waited for: the action ends when the cluster has let go [S3.40]', async () => {
    const { feed } = await deployed('a');
    await rig.quirk('a', 'lag', '3');
    const remove = subscription({ operation: 'Delete', name: feed.name });
    await remove.capture();
    const result = await remove.run();
    await rig.quirk('a', 'lag', null);
    expect(result).toMatchObject({ kind: 'succeeded' });
    expect(result).not.toHaveProperty('outputs.stopUnconfirmed');
    expect(await rig.seen('a', feed)).toBeUndefined();
  });

  it('that Clusternet has yet to do is not confirmed, though the Subscription is gone [S3.40]', async () => {
    const { feed } = await deployed('a');
    await rig.quirk('a', 'lag', '60');
    const remove = subscription({ operation: 'Delete', name: feed.name }, { timeoutMs: 5000 });
    await remove.capture();
    const result = await remove.run();
    expect(result).toMatchObject({
      kind: 'succeeded',
      message: matching(/^StopUnconfirmed: .*\/site-a does not answer Clusternet, .*Description /),
      outputs: { stopUnconfirmed: [rig.binding('a')] },
    });
    expect(await bench.kube.get(key(feed.name))).toBeUndefined();
    expect(await modeIn('a', feed)).toBe('standby');
    await rig.quirk('a', 'lag', null);
    await eventually(() => modeIn('a', feed), undefined);
  });

  it('that leaves the object in the cluster is not confirmed [S3.40]', async () => {
    const { feed } = await deployed('a');
    const child = rig.child('a').kube;
    await child.patch(feed, { metadata: { finalizers: ['example.com/hold'] } }, { kind: 'merge' });
    const remove = subscription({ operation: 'Delete', name: feed.name }, { timeoutMs: 6000 });
    await remove.capture();
    expect(await remove.run()).toMatchObject({
      kind: 'succeeded',
      message: matching(/^StopUnconfirmed: .*\/site-a still has ConfigMap .*being deleted/),
      outputs: { stopUnconfirmed: [rig.binding('a')] },
    });
    await child.patch(feed, { metadata: { finalizers: null } }, { kind: 'merge' });
  });

  it('from a cluster out of reach leaves the workload running, on undo too [S3.41]', async () => {
    const { feed, base } = await deployed('b');
    await rig.quirk('b', 'notReady', 'yes');
    const result = await base.undo();
    await rig.quirk('b', 'notReady', null);
    expect(result).toMatchObject({
      kind: 'succeeded',
      message: containing(`StopUnconfirmed: ${rig.binding('b')} is out of reach`),
      outputs: { stopUnconfirmed: [rig.binding('b')] },
    });
    expect(await modeIn('b', feed)).toBe('standby');
    await rig.child('b').kube.delete(feed);
  });
});

describe('drift, which nobody repairs', () => {
  it('is told, by place and without values [S3.38]', async () => {
    const { feed, base } = await deployed('a');
    await rig.child('a').kube.patch(feed, { data: { mode: 'changed by hand' } }, { kind: 'merge' });
    const again = subscription({ operation: 'Patch', name: feed.name, feeds: [feed] });
    const result = await again.run();
    expect(result).toMatchObject({
      kind: 'succeeded',
      message: matching(/drift, which Clusternet does not repair: .* in data\.mode$/),
    });
    await base.undo();
  });

  it('of a chart is not looked at: its release is believed, and the message says so', async () => {
    const name = unique('chart');
    const chart = { apiVersion: APPS, kind: 'HelmChart', namespace: bench.namespace, name };
    await bench.kube.create({
      apiVersion: APPS,
      kind: 'HelmChart',
      metadata: { name, namespace: bench.namespace },
      spec: { repo: 'oci://example.org/charts', chart: 'web', targetNamespace: 'shop' },
    });
    const base = subscription({ name, feeds: [chart], subscribers: rig.to('a') });
    const result = await base.run();
    expect(result).toMatchObject({
      kind: 'succeeded',
      message: matching(/not looked into .* a Helm chart has made is judged by its release/),
    });
    expect(result.message).not.toContain('seen ready');
    await base.undo();
    await bench.kube.delete(chart);
  });

  it('to no replicas at all is not ready, nor is a workload whose controller has not answered [S3.38]', async () => {
    const feed = rig.feed(unique('app'), 'Deployment');
    const labels = { app: feed.name };
    const container = { name: 'main', image: 'example.invalid/app:1' };
    const template = { metadata: { labels }, spec: { containers: [container] } };
    await rig.manifest(feed, { spec: { replicas: 2, selector: { matchLabels: labels }, template } });
    const block = { name: feed.name, feeds: [feed], subscribers: rig.to('a') };
    const base = subscription(block, { timeoutMs: 8000 });
    expect(await base.run()).toMatchObject({
      kind: 'retry',
      reason: 'NotReady',
      // Two Bases, which Clusternet makes at times, have it written twice.
      message: matching(/waits for its controller to see generation \d/),
    });
    const child = rig.child('a').kube;
    const count = { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
    const status = { observedGeneration: 2, ...count };
    await child.patch(feed, { spec: { replicas: 0 } }, { kind: 'merge' });
    await child.patch(feed, { status }, { kind: 'merge', subresource: 'status' });
    expect(await base.run()).toMatchObject({
      kind: 'retry',
      message: containing('is scaled to 0 there, and 2 replicas are wanted'),
    });
    await child.patch(feed, { spec: { replicas: 2 } }, { kind: 'merge' });
    await child.patch(
      feed,
      { status: { ...status, observedGeneration: 3 } },
      { kind: 'merge', subresource: 'status' },
    );
    expect(await base.run()).toMatchObject({ kind: 'succeeded', message: containing('seen ready in') });
    await base.undo();
  });
});

describe('a cluster that cannot be looked into', () => {
  it('is judged by its Description alone, and the message says so and why [S3.38]', async () => {
    const { feed, base } = await deployed('a', 'b');
    await rig.credentials('b', false);
    const again = subscription({ operation: 'Patch', name: feed.name, feeds: [feed] });
    const result = await again.run();
    await rig.credentials('b', true);
    expect(result).toMatchObject({
      kind: 'succeeded',
      message: containing(
        `seen ready in ${rig.binding('a')} itself; not looked into ${rig.binding('b')}: it has no Secret`,
      ),
    });
    await base.undo();
  });
});
