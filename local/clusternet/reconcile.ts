import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../kube-api.js';
import { names, simulatorAnnotations } from './labels.js';
import { feedSource, render } from './render.js';
import { selects } from './selector.js';
import { manifestNamespace } from './sites.js';
import {
  resources,
  type Base,
  type Description,
  type FeedSource,
  type ManagedCluster,
  type Override,
  type Resource,
  type Subscription,
  type World,
  type Write,
} from './world.js';

const heartbeatSeconds = 30;
const unschedulable = 'clusters.clusternet.io/unschedulable';

/**
 * What Clusternet's controllers would do next, seen from everything there is:
 * heartbeats, binding, Bases, Descriptions with overrides applied, and the chain
 * of removals. Doing all of it and calling again until nothing comes is the
 * whole simulator; it can begin from any state.
 */
export function reconcile(world: World, now: Date): Write[] {
  return [
    ...world.managedclusters.flatMap((cluster) => reconcileCluster(cluster, now)),
    ...reconcileFeeds(world),
    ...world.subscriptions.flatMap((subscription) => reconcileSubscription(world, subscription)),
    ...world.bases.flatMap((base) => reconcileBase(world, base)),
    ...world.descriptions.flatMap((description) => reconcileDescription(world, description, now)),
    // After the Descriptions: an ApplyNow override goes once its effect has been taken back.
    ...[
      ...world.localizations.map((o) => ['localizations', o] as const),
      ...world.globalizations.map((o) => ['globalizations', o] as const),
    ].flatMap(([resource, override]) => reconcileOverride(world, resource, override)),
  ];
}

/** The clusters a Subscription chooses, as `namespace/name`; those out of reach are kept but not added. */
export function bindings(world: World, subscription: Subscription): string[] {
  const before = new Set(subscription.status?.bindingClusters ?? []);
  const affinities = (subscription.spec.subscribers ?? []).map((s) => s.clusterAffinity ?? {});
  return world.managedclusters
    .filter((cluster) => affinities.some((affinity) => selects(affinity, cluster.metadata.labels)))
    .filter((cluster) => isReady(cluster) || before.has(key(cluster)))
    .map(key)
    .sort();
}

function reconcileCluster(cluster: ManagedCluster, now: Date): Write[] {
  if (isDeleting(cluster)) return [];
  const reachable = cluster.metadata.annotations?.[simulatorAnnotations.notReady] === undefined;
  const writes: Write[] = [];
  const tainted = (cluster.spec.taints ?? []).some((taint) => taint.key === unschedulable);
  if (tainted === reachable) {
    const taints = reachable ? [] : [{ key: unschedulable, effect: 'NoSchedule' }];
    writes.push(patch('managedclusters', cluster, { spec: { taints } }));
  }
  const condition = cluster.status?.conditions?.find((c) => c.type === 'Ready');
  const status = reachable ? 'True' : 'Unknown';
  const age = now.getTime() - Date.parse(cluster.status?.lastObservedTime ?? '1970-01-01T00:00:00Z');
  const child = cluster.metadata.annotations?.[simulatorAnnotations.child];
  const isCurrent = condition?.status === status && cluster.status?.apiserverURL === child;
  if (isCurrent && (!reachable || age < heartbeatSeconds * 1000)) return writes;
  const time = `${now.toISOString().slice(0, 19)}Z`;
  const body = {
    conditions: [
      {
        type: 'Ready',
        status,
        reason: reachable ? 'ManagedClusterReady' : 'ClusterStatusUnknown',
        message: reachable ? 'managed cluster is ready.' : 'the cluster agent stopped posting its status.',
        lastTransitionTime: condition?.status === status ? condition.lastTransitionTime : time,
      },
    ],
    ...(reachable
      ? {
          lastObservedTime: time,
          heartbeatFrequencySeconds: heartbeatSeconds,
          healthz: true,
          livez: true,
          readyz: true,
          appPusher: true,
        }
      : {}),
    ...(child === undefined ? {} : { apiserverURL: child, useSocket: true }),
  };
  writes.push(patch('managedclusters', cluster, { status: body }, 'status'));
  return writes;
}

function reconcileFeeds(world: World): Write[] {
  const used = new Set<string | undefined>();
  for (const subscription of world.subscriptions) {
    for (const feed of subscription.spec.feeds ?? []) used.add(feedSource(world, feed)?.metadata.uid);
  }
  const one = (resource: 'manifests' | 'helmcharts', source: KubeObject): Write[] => {
    if (!isDeleting(source)) return ensureFinalizer(resource, source);
    if (!used.has(source.metadata.uid)) return dropFinalizer(resource, source);
    if (source.metadata.annotations?.[names.feedProtection] !== undefined) return [];
    const why = 'still used by a Subscription; it goes when no Subscription has it among its feeds';
    return [patch(resource, source, { metadata: { annotations: { [names.feedProtection]: why } } })];
  };
  return [
    ...world.manifests
      .filter((manifest) => manifest.metadata.namespace === manifestNamespace)
      .flatMap((manifest) => one('manifests', manifest)),
    ...world.helmcharts.flatMap((chart) => [...one('helmcharts', chart), ...reconcileChart(chart)]),
  ];
}

function reconcileChart(chart: FeedSource): Write[] {
  if (isDeleting(chart)) return [];
  const failure = chart.metadata.annotations?.[simulatorAnnotations.fail];
  const status =
    failure === undefined ? { phase: 'Found', reason: null } : { phase: 'NotFound', reason: failure };
  return chart.status?.phase === status.phase ? [] : [patch('helmcharts', chart, { status }, 'status')];
}

function reconcileSubscription(world: World, subscription: Subscription): Write[] {
  const bases = world.bases.filter(
    (base) => label(base, names.subscription.uid) === subscription.metadata.uid,
  );
  if (isDeleting(subscription)) {
    return bases.length === 0 ? dropFinalizer('subscriptions', subscription) : [];
  }
  const writes = ensureFinalizer('subscriptions', subscription);
  const bound = bindings(world, subscription);
  const specHash = Number.parseInt(digest(subscription.spec).slice(0, 12), 16);
  const { status } = subscription;
  if (
    !isDeepStrictEqual(status?.bindingClusters ?? null, bound) ||
    status?.specHash !== specHash ||
    status.desiredReleases !== bound.length
  ) {
    const body = { bindingClusters: bound, desiredReleases: bound.length, specHash };
    writes.push(patch('subscriptions', subscription, { status: body }, 'status'));
    if (bound.length === 0) {
      const message = 'no cluster matches; nothing is deployed any more';
      writes.push({ op: 'warn', object: subscription, reason: 'FailedScheduling', message });
    }
  }
  for (const binding of bound) {
    const namespace = binding.split('/')[0]!;
    if (bases.some((base) => base.metadata.namespace === namespace)) continue;
    writes.push({ op: 'create', resource: 'bases', object: newBase(world, subscription, namespace) });
  }
  return writes;
}

function newBase(world: World, subscription: Subscription, namespace: string): KubeObject {
  const { name, uid = '' } = subscription.metadata;
  const taken = world.bases.some((b) => b.metadata.namespace === namespace && b.metadata.name === name);
  return {
    apiVersion: resources.bases.group,
    kind: 'Base',
    metadata: {
      name: taken ? `${name}-${uid.slice(0, 8)}` : name,
      namespace,
      finalizers: [names.finalizer],
      labels: {
        ...(name.length <= 63 ? { [names.subscription.name]: name } : {}),
        [names.subscription.namespace]: subscription.metadata.namespace ?? '',
        [names.subscription.uid]: uid,
      },
    },
    spec: { feeds: subscription.spec.feeds ?? [] },
  };
}

function reconcileBase(world: World, base: Base): Write[] {
  const descriptions = world.descriptions.filter((d) => label(d, names.base.uid) === base.metadata.uid);
  if (isDeleting(base)) {
    return descriptions.length === 0 ? dropFinalizer('bases', base) : deleteAll('descriptions', descriptions);
  }
  const subscription = world.subscriptions.find(
    (s) => s.metadata.uid === label(base, names.subscription.uid) && !isDeleting(s),
  );
  const cluster = world.managedclusters.find((c) => c.metadata.namespace === base.metadata.namespace);
  const wanted =
    subscription !== undefined &&
    cluster !== undefined &&
    bindings(world, subscription).includes(key(cluster));
  if (!wanted) return deleteAll('bases', [base]);
  if (!isDeepStrictEqual(base.spec.feeds ?? [], subscription.spec.feeds ?? [])) {
    // What is below follows once the Base itself says the new thing.
    return [patch('bases', base, { spec: { feeds: subscription.spec.feeds ?? [] } })];
  }
  return (['Generic', 'Helm'] as const).flatMap((deployer) =>
    reconcileRendering(world, base, cluster, subscription, deployer),
  );
}

function reconcileRendering(
  world: World,
  base: Base,
  cluster: ManagedCluster,
  subscription: Subscription,
  deployer: 'Generic' | 'Helm',
): Write[] {
  const name = `${base.metadata.name}-${deployer.toLowerCase()}`;
  const namespace = base.metadata.namespace;
  const existing = world.descriptions.find(
    (d) => d.metadata.name === name && d.metadata.namespace === namespace,
  );
  if (existing !== undefined && isDeleting(existing)) return [];
  const result = render(world, base, cluster, deployer);
  switch (result.kind) {
    case 'nothing':
      return [];
    case 'failed':
      return [{ op: 'warn', object: base, reason: result.reason, message: result.message }];
    case 'rendered': {
      const { renderedFrom, ...spec } = result.rendering;
      // A change of the Subscription deploys again too, which is when ApplyLater overrides take effect.
      const from = `${renderedFrom}-${digest(subscription.spec).slice(0, 8)}`;
      const annotations = { [simulatorAnnotations.renderedFrom]: from };
      if (existing === undefined) {
        const object: KubeObject = {
          apiVersion: resources.descriptions.group,
          kind: 'Description',
          metadata: {
            name,
            namespace,
            finalizers: [names.finalizer],
            annotations,
            labels: {
              ...base.metadata.labels,
              ...(base.metadata.name.length <= 63 ? { [names.base.name]: base.metadata.name } : {}),
              [names.base.namespace]: namespace ?? '',
              [names.base.uid]: base.metadata.uid ?? '',
            },
          },
          spec,
        };
        return [{ op: 'create', resource: 'descriptions', object }];
      }
      return existing.metadata.annotations?.[simulatorAnnotations.renderedFrom] === from
        ? []
        : [patch('descriptions', existing, { metadata: { annotations }, spec })];
    }
  }
}

function reconcileDescription(world: World, description: Description, now: Date): Write[] {
  const cluster = world.managedclusters.find((c) => c.metadata.namespace === description.metadata.namespace);
  const child = cluster?.metadata.annotations?.[simulatorAnnotations.child];
  if (isDeleting(description)) {
    // Out of reach or gone: Clusternet lets go of the Description, and what it deployed stays where it is.
    if (cluster === undefined || !isReady(cluster)) return dropFinalizer('descriptions', description);
    const lag = lagOf(cluster);
    const since = now.getTime() - Date.parse(description.metadata.deletionTimestamp ?? '');
    if (lag > 0 && since < lag) return [];
    return child === undefined
      ? dropFinalizer('descriptions', description)
      : [{ op: 'undeploy', description, cluster }];
  }
  if (!world.bases.some((base) => base.metadata.uid === label(description, names.base.uid))) {
    return deleteAll('descriptions', [description]);
  }
  if (cluster === undefined || !isReady(cluster)) return [];
  const failure = cluster.metadata.annotations?.[simulatorAnnotations.fail];
  if (child !== undefined && failure === undefined) {
    const { uid = '', generation } = description.metadata;
    return world.handled?.get(uid) === generation ? [] : [{ op: 'deploy', description, cluster }];
  }
  const status =
    failure === undefined ? { phase: 'Success', reason: '' } : { phase: 'Failure', reason: failure };
  return description.status?.phase === status.phase && (description.status.reason ?? '') === status.reason
    ? []
    : [patch('descriptions', description, { status }, 'status')];
}

/** Milliseconds that deployments and removals in a cluster lag behind. */
export function lagOf(cluster: ManagedCluster): number {
  const seconds = Number(cluster.metadata.annotations?.[simulatorAnnotations.lag] ?? 0);
  return Number.isFinite(seconds) ? seconds * 1000 : 0;
}

function reconcileOverride(
  world: World,
  resource: 'localizations' | 'globalizations',
  override: Override,
): Write[] {
  if (isDeleting(override)) return dropFinalizer(resource, override);
  const writes = ensureFinalizer(resource, override);
  const source = override.spec.feed === undefined ? undefined : feedSource(world, override.spec.feed);
  const uid = source?.metadata.uid;
  if (source === undefined || uid === undefined || label(override, uid) !== undefined) return writes;
  return [...writes, patch(resource, override, { metadata: { labels: { [uid]: source.kind } } })];
}

function ensureFinalizer(resource: Resource, object: KubeObject): Write[] {
  const finalizers = object.metadata.finalizers ?? [];
  if (finalizers.includes(names.finalizer)) return [];
  return [patchFinalizers(resource, object, [...finalizers, names.finalizer])];
}

function dropFinalizer(resource: Resource, object: KubeObject): Write[] {
  const finalizers = object.metadata.finalizers ?? [];
  if (!finalizers.includes(names.finalizer)) return [];
  return [
    patchFinalizers(
      resource,
      object,
      finalizers.filter((f) => f !== names.finalizer),
    ),
  ];
}

function patchFinalizers(resource: Resource, object: KubeObject, finalizers: string[]): Write {
  const { resourceVersion } = object.metadata;
  return patch(resource, object, { metadata: { finalizers, resourceVersion } });
}

function deleteAll(resource: Resource, objects: KubeObject[]): Write[] {
  return objects
    .filter((object) => !isDeleting(object))
    .map(({ metadata: { name, namespace, uid = '' } }) => ({ op: 'delete', resource, namespace, name, uid }));
}

function patch(
  resource: Resource,
  object: KubeObject,
  body: Record<string, unknown>,
  subresource?: 'status',
): Write {
  const { name, namespace } = object.metadata;
  return { op: 'patch', resource, namespace, name, subresource, body };
}

function isReady(cluster: ManagedCluster): boolean {
  return cluster.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false;
}

function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

function label(object: KubeObject, name: string): string | undefined {
  return object.metadata.labels?.[name];
}

function key(cluster: ManagedCluster): string {
  return `${cluster.metadata.namespace}/${cluster.metadata.name}`;
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
