/**
 * What Descriptions say, checked in the clusters themselves. A Description reports Success as soon as its objects are
 * accepted and while a change is on its way, and nobody repairs what is later changed in the cluster; so only the
 * cluster shows whether an application runs.
 */
import { isObject } from '../../../api/core/json.js';
import type { KubeClient } from '../../../kube/client.js';
import { isNotFound, isRetryable, KubeError } from '../../../kube/error.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import { openChild } from '../../../kube/child-cluster.js';
import type { Child } from '../../../kube/child-cluster.js';
import { readinessOf } from './child-readiness.js';
import { APPS, bindingOf, isReachable, listClusters, SUBSCRIPTION_UID } from './clusternet.js';
import type { ManagedCluster } from './clusternet.js';
import { driftOf } from './drift.js';
import type { Attempt } from '../../core/handler.js';
import { objectsOf } from './subscription-ready.js';

/** How a check ended. */
export type ChildrenChecked =
  | {
      kind: 'ready';
      /** Clusters, as `namespace/name`, in which everything was seen. */
      verified: string[];
      /** Clusters that could not be looked into, or in which not everything can be seen, with the reason. */
      unverified: { binding: string; why: string }[];
      /** Objects that are there, but not as they were deployed. */
      drift: string[];
    }
  | { kind: 'waiting'; for: string; failure?: string };

/** Time bounds of a check, in milliseconds. */
export interface CheckBounds {
  timeoutMs: number;
  /** How long a difference may still be a change on its way; after that it is drift. */
  driftAfterMs: number;
}

/** A change takes Clusternet seconds at most; what differs for longer was changed in the cluster. */
export const DRIFT_AFTER_MS = 15_000;
/** Time between two looks. */
const PAUSE_MS = 1000;
/** Longest list in a message. */
const MAX_NAMED = 5;

const BY_RELEASE = 'what a Helm chart has made is judged by its release';

interface Seen {
  /** Clusters with objects that were looked at. */
  objects: Set<string>;
  /** Clusters with charts, whose objects are not known here. */
  charts: Set<string>;
  waiting: string[];
  failures: string[];
  drift: string[];
}

/**
 * Looks into every cluster that a Subscription is bound to until all objects that its Descriptions hold are there, as
 * deployed, and ready. `progress` is called with what is waited for.
 *
 * @param subscription what `judge` found of it; `stale` Descriptions are left out
 */
export async function checkChildren(
  attempt: Attempt,
  subscription: { uid: string; bindings: readonly string[]; stale: readonly string[] },
  bounds: CheckBounds,
  progress: (waitingFor: string) => void,
): Promise<ChildrenChecked> {
  const { kube, signal } = attempt;
  const started = Date.now();
  const clusters = await listClusters(kube, signal);
  const children = new Map<string, Child>();
  for (const binding of subscription.bindings) {
    const cluster = clusters.find((one) => bindingOf(one) === binding);
    children.set(
      binding,
      cluster === undefined
        ? { ok: false, why: 'there is no ManagedCluster of this name' }
        : await openChild(attempt, cluster),
    );
  }
  const open = [...children].flatMap(([binding, child]) => (child.ok ? [{ binding, kube: child.kube }] : []));
  const unverified = [...children].flatMap(([binding, child]) =>
    child.ok ? [] : [{ binding, why: child.why }],
  );
  if (open.length === 0) return { kind: 'ready', verified: [], unverified, drift: [] };
  for (;;) {
    const seen = await look(attempt, subscription, open);
    const elapsed = Date.now() - started;
    const isStable = elapsed >= bounds.driftAfterMs;
    const pending = [...seen.failures, ...seen.waiting, ...(isStable ? [] : seen.drift)];
    if (pending.length === 0) {
      const charts = open
        .filter(({ binding }) => seen.charts.has(binding))
        .map(({ binding }) => ({ binding, why: BY_RELEASE }));
      const verified = open.map(({ binding }) => binding).filter((binding) => seen.objects.has(binding));
      return { kind: 'ready', verified, unverified: [...unverified, ...charts], drift: seen.drift };
    }
    const text = named(pending);
    progress(text);
    if (elapsed + PAUSE_MS >= bounds.timeoutMs) {
      const failure = seen.failures.length > 0 ? { failure: named(seen.failures) } : {};
      return { kind: 'waiting', for: text, ...failure };
    }
    await pause(PAUSE_MS, signal);
  }
}

async function look(
  { kube, signal }: Attempt,
  { uid, stale }: { uid: string; stale: readonly string[] },
  children: readonly { binding: string; kube: KubeClient }[],
): Promise<Seen> {
  const seen: Seen = { objects: new Set(), charts: new Set(), waiting: [], failures: [], drift: [] };
  const { items } = await kube.list(
    { apiVersion: APPS, kind: 'Description' },
    { labelSelector: `${SUBSCRIPTION_UID}=${uid}`, signal },
  );
  for (const { binding, kube: child } of children) {
    const namespace = binding.split('/', 1)[0];
    const descriptions = items
      .filter(({ metadata }) => metadata.namespace === namespace && metadata.deletionTimestamp === undefined)
      .filter(({ metadata }) => !stale.includes(`${namespace}/${metadata.name}`));
    if (descriptions.some(({ spec }) => isObject(spec) && spec.deployer === 'Helm')) seen.charts.add(binding);
    const objects = descriptions.flatMap(objectsOf);
    if (objects.length > 0) seen.objects.add(binding);
    for (const deployed of objects) await inspect(child, deployed, binding, seen, signal);
  }
  return seen;
}

async function inspect(
  child: KubeClient,
  deployed: KubeObject,
  binding: string,
  seen: Seen,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion = '', kind = '' } = deployed;
  const { name, namespace } = deployed.metadata;
  const key = { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
  const what = `${binding}: ${describeKey(key)}`;
  let live: KubeObject | undefined;
  try {
    live = await child.get(key, { signal });
  } catch (error) {
    if (signal.aborted || !(error instanceof KubeError)) throw error;
    // A cluster that does not answer is waited for, as long as there is time.
    const list = isRetryable(error) ? seen.waiting : seen.failures;
    list.push(`${what} cannot be looked at: ${error.message}`);
    return;
  }
  if (live === undefined) {
    seen.waiting.push(`${what} is not there`);
    return;
  }
  if (live.metadata.deletionTimestamp !== undefined) {
    seen.waiting.push(`${what} is being deleted`);
    return;
  }
  const wanted = replicasOf(deployed);
  if (wanted !== undefined && wanted > 0 && replicasOf(live) === 0) {
    seen.waiting.push(`${what} is scaled to 0 there, and ${wanted} replicas are wanted`);
    return;
  }
  const readiness = readinessOf({ ...live, apiVersion, kind });
  if (readiness.kind === 'failed') seen.failures.push(`${what}: ${readiness.why}`);
  if (readiness.kind === 'waiting') seen.waiting.push(`${what} waits for ${readiness.for}`);
  const places = driftOf(deployed, live);
  if (places.length > 0) seen.drift.push(`${what} differs from what was deployed in ${places.join(', ')}`);
}

/**
 * Objects that are still in a cluster although Clusternet says it removed them; undefined when the cluster cannot be
 * looked into. Objects that another Description has deployed since do not count.
 */
export async function leftBehind(
  attempt: Attempt,
  cluster: ManagedCluster,
  keys: readonly ObjectKey[],
): Promise<string[] | undefined> {
  if (!isReachable(cluster)) return undefined;
  const child = await openChild(attempt, cluster);
  if (!child.ok) return undefined;
  const left: string[] = [];
  for (const key of keys) {
    try {
      const live = await child.kube.get(key, { signal: attempt.signal });
      if (live === undefined || (await isDeployedAnew(attempt, live))) continue;
      left.push(
        `${describeKey(key)}${live.metadata.deletionTimestamp === undefined ? '' : ' (being deleted)'}`,
      );
    } catch (error) {
      if (attempt.signal.aborted || !(error instanceof KubeError)) throw error;
      if (error.reason === 'KindNotFound' || isNotFound(error)) continue;
      return undefined;
    }
  }
  return left;
}

/** Annotation on what Clusternet deploys: the Description it came with, as `namespace.name`. */
const OWNED_BY = 'apps.clusternet.io/owned-by-description';

async function isDeployedAnew({ kube, signal }: Attempt, live: KubeObject): Promise<boolean> {
  const owner = live.metadata.annotations?.[OWNED_BY];
  // An object that never came from Clusternet is not one that it removed.
  if (owner === undefined) return true;
  const dot = owner.indexOf('.');
  const key = {
    apiVersion: APPS,
    kind: 'Description',
    namespace: owner.slice(0, dot),
    name: owner.slice(dot + 1),
  };
  const description = await kube.get(key, { signal });
  return description !== undefined && description.metadata.deletionTimestamp === undefined;
}

function replicasOf({ kind, spec }: KubeObject): number | undefined {
  const isWorkload = kind === 'Deployment' || kind === 'StatefulSet' || kind === 'ReplicaSet';
  const replicas = isWorkload && isObject(spec) ? spec.replicas : undefined;
  return typeof replicas === 'number' ? replicas : undefined;
}

function named(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMED;
  return `${texts.slice(0, MAX_NAMED).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
