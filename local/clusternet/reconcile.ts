import { isDeepStrictEqual } from 'node:util';
import type { TypedObject } from '../../kube/object.js';
import { currentBase, digest, newBases, newDescription } from './bases.js';
import { names, simulatorAnnotations } from './labels.js';
import { feedSource, isApplyNow, render, type RenderResult } from './render.js';
import { selects } from './selector.js';
import { manifestNamespace } from './sites.js';
import type {
  Base,
  Description,
  FeedSource,
  ManagedCluster,
  Override,
  Resource,
  Subscription,
  World,
  Write,
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

/**
 * The clusters a Subscription is bound to, as `namespace/name`: those it chooses and that are Ready. The real scheduler
 * drops a cluster the moment it is not Ready, unless the Subscription tolerates its taint, and binds it again when it is back.
 */
export function bindings(world: World, subscription: Subscription): string[] {
  const affinities = (subscription.spec.subscribers ?? []).map((s) => s.clusterAffinity ?? {});
  return world.managedclusters
    .filter((cluster) => affinities.some((affinity) => selects(affinity, cluster.metadata.labels)))
    .filter((cluster) => isReady(cluster) || tolerates(subscription))
    .map(key)
    .sort();
}

/** Whether a Subscription stays bound to clusters that are not Ready. */
function tolerates({ spec }: Subscription): boolean {
  return (spec.clusterTolerations ?? []).some(
    (one) => one.operator === 'Exists' && (one.key ?? unschedulable) === unschedulable,
  );
}

function reconcileCluster(cluster: ManagedCluster, now: Date): Write[] {
  if (isDeleting(cluster)) return [];
  const reachable = cluster.metadata.annotations?.[simulatorAnnotations.notReady] === undefined;
  const writes: Write[] = [];
  const tainted = (cluster.spec.taints ?? []).some((taint) => taint.key === unschedulable);
  if (tainted === reachable) {
    const taints = reachable
      ? null
      : [{ key: unschedulable, value: 'ClusterStatusUnknown', effect: 'NoSchedule' }];
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

/** Finalizers that keep a feed as long as a Subscription has it, and labels that say whose feed it is. */
function reconcileFeeds(world: World): Write[] {
  const users = new Map<string | undefined, Record<string, string>>();
  const use = (feeds: Subscription['spec']['feeds'], user: TypedObject): void => {
    for (const feed of feeds ?? []) {
      const uid = feedSource(world, feed)?.metadata.uid;
      users.set(uid, { ...users.get(uid), [user.metadata.uid ?? '']: user.kind });
    }
  };
  for (const subscription of world.subscriptions) use(subscription.spec.feeds, subscription);
  for (const base of world.bases) if (!isDeleting(base)) use(base.spec.feeds, base);
  const one = (resource: 'manifests' | 'helmcharts', source: TypedObject): Write[] => {
    const { labels = {}, annotations, uid } = source.metadata;
    const wanted = users.get(uid) ?? {};
    if (!isDeleting(source)) {
      const hasBase = Object.values(wanted).includes('Base');
      const due = Object.entries(wanted).filter(([user]) => hasBase && labels[user] === undefined);
      const over = Object.entries(labels).filter(
        ([user, kind]) => ['Base', 'Subscription'].includes(kind) && wanted[user] === undefined,
      );
      const changed = Object.fromEntries([...due, ...over.map(([user]) => [user, null] as const)]);
      return [
        ...ensureFinalizers(resource, source, [names.finalizer, names.feedProtection]),
        ...(Object.keys(changed).length === 0
          ? []
          : [patch(resource, source, { metadata: { labels: changed } })]),
      ];
    }
    if (!Object.values(wanted).includes('Subscription')) {
      return dropFinalizers(resource, source, [names.finalizer, names.feedProtection]);
    }
    if (annotations?.[names.feedProtection] !== undefined) return [];
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
    return bases.length === 0 ? dropFinalizers('subscriptions', subscription) : deleteAll('bases', bases);
  }
  const writes = [
    ...ensureFinalizers('subscriptions', subscription),
    ...ensureOwnLabel('subscriptions', subscription),
  ];
  const bound = bindings(world, subscription);
  const specHash = Number.parseInt(digest(subscription.spec).slice(0, 8), 16);
  const { status } = subscription;
  if (!isDeepStrictEqual(status?.bindingClusters ?? [], bound) || status?.specHash !== specHash) {
    // Both are left out where nothing is bound.
    const none = bound.length === 0;
    const body = {
      bindingClusters: none ? null : bound,
      desiredReleases: none ? null : bound.length,
      specHash,
    };
    writes.push(patch('subscriptions', subscription, { status: body }, 'status'));
    if (none) {
      const message = `0/${world.managedclusters.length} clusters are available`;
      writes.push({ op: 'warn', object: subscription, reason: 'FailedScheduling', message });
    }
  }
  for (const cluster of world.managedclusters.filter((one) => bound.includes(key(one)))) {
    const existing = bases.filter((base) => base.metadata.namespace === cluster.metadata.namespace);
    const feeds = subscription.spec.feeds ?? [];
    const current = currentBase(existing.filter((base) => !isDeleting(base)));
    if (existing.length === 0) {
      for (const object of newBases(subscription, cluster)) {
        writes.push({ op: 'create', resource: 'bases', object });
      }
    } else if (current !== undefined && !isDeepStrictEqual(current.spec.feeds ?? [], feeds)) {
      writes.push(patch('bases', current, { spec: { feeds } }));
    }
  }
  return writes;
}

function reconcileBase(world: World, base: Base): Write[] {
  // It does not wait for its Descriptions: they belong to it, and go once it has gone.
  if (isDeleting(base)) return dropFinalizers('bases', base);
  const subscription = world.subscriptions.find(
    (s) => s.metadata.uid === label(base, names.subscription.uid) && !isDeleting(s),
  );
  const cluster = world.managedclusters.find((c) => c.metadata.namespace === base.metadata.namespace);
  const wanted =
    subscription !== undefined &&
    cluster !== undefined &&
    bindings(world, subscription).includes(key(cluster));
  if (!wanted) return deleteAll('bases', [base]);
  return [
    ...ensureOwnLabel('bases', base),
    ...(['Generic', 'Helm'] as const).flatMap((deployer) =>
      reconcileRendering(world, base, cluster, deployer),
    ),
  ];
}

function reconcileRendering(
  world: World,
  base: Base,
  cluster: ManagedCluster,
  deployer: 'Generic' | 'Helm',
): Write[] {
  const name = `${base.metadata.name}-${deployer.toLowerCase()}`;
  const existing = world.descriptions.find(
    (d) => d.metadata.name === name && d.metadata.namespace === base.metadata.namespace,
  );
  if (existing !== undefined && isDeleting(existing)) return [];
  const result = render(world, base, cluster, deployer);
  switch (result.kind) {
    case 'nothing':
      return existing === undefined ? [] : deleteAll('descriptions', [existing]);
    case 'failed':
      return [{ op: 'warn', object: base, reason: result.reason, message: result.message }];
    case 'rendered': {
      const { renderedFrom, ...spec } = result.rendering;
      if (existing === undefined) {
        const object = newDescription(base, cluster, { name, renderedFrom, spec });
        return [{ op: 'create', resource: 'descriptions', object }];
      }
      const annotations = { [simulatorAnnotations.renderedFrom]: renderedFrom };
      return existing.metadata.annotations?.[simulatorAnnotations.renderedFrom] === renderedFrom
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
    if (cluster === undefined || !isReady(cluster)) return dropFinalizers('descriptions', description);
    const lag = lagOf(cluster);
    const since = now.getTime() - Date.parse(description.metadata.deletionTimestamp ?? '');
    if (lag > 0 && since < lag) return [];
    return child === undefined
      ? dropFinalizers('descriptions', description)
      : [{ op: 'undeploy', description, cluster }];
  }
  if (!world.bases.some((base) => base.metadata.uid === label(description, names.config.uid))) {
    // What the garbage collector of a cluster does with what belonged to a Base.
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
  const source = override.spec.feed === undefined ? undefined : feedSource(world, override.spec.feed);
  const problem = isApplyNow(override) ? renderProblem(world, source) : undefined;
  if (isDeleting(override) && problem === undefined) return dropFinalizers(resource, override);
  const isTold = problem !== undefined && (isDeleting(override) || problem.override === override);
  const told: Write[] = isTold
    ? [{ op: 'warn', object: override, reason: 'FailedSynced', message: problem.cause }]
    : [];
  if (isDeleting(override)) return told;
  const writes = [...told, ...ensureFinalizers(resource, override)];
  const uid = source?.metadata.uid;
  if (source === undefined || uid === undefined || label(override, uid) !== undefined) return writes;
  const kind = override.spec.feed?.kind ?? '';
  return [...writes, patch(resource, override, { metadata: { labels: { [uid]: kind } } })];
}

/** Why what has this feed cannot be rendered: an ApplyNow override stays until its effect can be taken back. */
function renderProblem(
  world: World,
  source: FeedSource | undefined,
): Extract<RenderResult, { kind: 'failed' }> | undefined {
  for (const base of world.bases) {
    const cluster = world.managedclusters.find((c) => c.metadata.namespace === base.metadata.namespace);
    const feeds = base.spec.feeds ?? [];
    if (cluster === undefined || isDeleting(base)) continue;
    if (source === undefined || !feeds.some((feed) => feedSource(world, feed) === source)) continue;
    for (const deployer of ['Generic', 'Helm'] as const) {
      const result = render(world, base, cluster, deployer);
      if (result.kind === 'failed') return result;
    }
  }
  return undefined;
}

function ensureFinalizers(
  resource: Resource,
  object: TypedObject,
  wanted: string[] = [names.finalizer],
): Write[] {
  const finalizers = object.metadata.finalizers ?? [];
  const missing = wanted.filter((name) => !finalizers.includes(name));
  return missing.length === 0 ? [] : [patchFinalizers(resource, object, [...finalizers, ...missing])];
}

/** Subscriptions and Bases carry their own uid, as their feeds do. */
function ensureOwnLabel(resource: 'subscriptions' | 'bases', object: TypedObject): Write[] {
  const { uid = '', labels } = object.metadata;
  return labels?.[uid] === undefined
    ? [patch(resource, object, { metadata: { labels: { [uid]: object.kind } } })]
    : [];
}

function dropFinalizers(
  resource: Resource,
  object: TypedObject,
  dropped: string[] = [names.finalizer],
): Write[] {
  const finalizers = object.metadata.finalizers ?? [];
  const kept = finalizers.filter((name) => !dropped.includes(name));
  return kept.length === finalizers.length ? [] : [patchFinalizers(resource, object, kept)];
}

function patchFinalizers(resource: Resource, object: TypedObject, finalizers: string[]): Write {
  const { resourceVersion } = object.metadata;
  return patch(resource, object, { metadata: { finalizers, resourceVersion } });
}

function deleteAll(resource: Resource, objects: TypedObject[]): Write[] {
  return objects
    .filter((object) => !isDeleting(object))
    .map(({ metadata: { name, namespace, uid = '' } }) => ({ op: 'delete', resource, namespace, name, uid }));
}

function patch(
  resource: Resource,
  object: TypedObject,
  body: Record<string, unknown>,
  subresource?: 'status',
): Write {
  const { name, namespace } = object.metadata;
  return { op: 'patch', resource, namespace, name, subresource, body };
}

function isReady(cluster: ManagedCluster): boolean {
  return cluster.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false;
}

function isDeleting(object: TypedObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

function label(object: TypedObject, name: string): string | undefined {
  return object.metadata.labels?.[name];
}

function key(cluster: ManagedCluster): string {
  return `${cluster.metadata.namespace}/${cluster.metadata.name}`;
}
