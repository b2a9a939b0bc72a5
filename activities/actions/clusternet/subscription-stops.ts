/**
 * Whether what a Subscription action removed from clusters has really stopped there. Clusternet drops its records of a
 * cluster out of reach without waiting, so that "deleted" is not "stopped" (S3.41).
 */
import { isObject } from '../../../api/core/json.js';
import { KubeError } from '../../../kube/error.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import { leftBehind } from './child-check.js';
import { APPS, bindingOf, isReachable, listClusters, outOfReach, SUBSCRIPTION_UID } from './clusternet.js';
import type { ManagedCluster } from './clusternet.js';
import type { Attempt } from '../../core/handler.js';
import { chosenBy } from './subscription-targets.js';

/** Clusters in which something may still run, and why that is so. */
export interface UnconfirmedStops {
  /** `namespace/name`, as in bindings. */
  clusters: string[];
  message: string;
}

/** Longest wait for what is on its way out of a cluster that can be looked into. */
const LOOK_MS = 10_000;
const PAUSE_MS = 500;
const MARGIN_MS = 1500;
const MAX_LEFT = 5;

/** What was taken away. */
export interface Removal {
  /** Clusters that lost the Subscription, as `namespace/name`. */
  bindings: readonly string[];
  /** Clusters that keep it, whether they are bound now or not. */
  kept: readonly string[];
  /** The Subscription as it was, for its feeds and for whom it chose. */
  former: KubeObject | undefined;
}

/**
 * Finds clusters that cannot confirm a removal. Clusternet unbinds a cluster by itself as soon as it is not Ready, so a
 * cluster that was chosen and is out of reach counts although it is bound no longer.
 *
 * @param look whether Clusternet has been told to remove: then it is waited for, and clusters in reach are looked into
 * @returns undefined when nothing is in doubt
 */
export async function findUnconfirmedStops(
  attempt: Attempt,
  { bindings, kept, former }: Removal,
  look: boolean,
): Promise<UnconfirmedStops | undefined> {
  let clusters: ManagedCluster[];
  try {
    clusters = await listClusters(attempt.kube, attempt.signal);
  } catch (error) {
    if (attempt.signal.aborted || !(error instanceof KubeError)) throw error;
    if (bindings.length === 0) return undefined;
    const message = `StopUnconfirmed: whether ${bindings.join(', ')} stopped what was deployed there is not known (${error.message})`;
    return { clusters: [...bindings], message };
  }
  const abandoned = chosenBy(former, clusters)
    .filter((cluster) => !isReachable(cluster))
    .map(bindingOf)
    .filter((binding) => !kept.includes(binding) && !bindings.includes(binding));
  const lost = [...outOfReach(bindings, clusters), ...abandoned];
  const texts: string[] = [];
  if (lost.length > 0) {
    texts.push(
      `${lost.join(', ')} ${lost.length === 1 ? 'is' : 'are'} out of reach, so what was deployed there may still run`,
    );
  }
  const still: string[] = [];
  const keys = feedKeys(former);
  if (look) {
    const reached = clusters.filter(
      (one) => bindings.includes(bindingOf(one)) && !lost.includes(bindingOf(one)),
    );
    for (const cluster of reached) {
      const { left, pending } = await waitUntilStopped(attempt, cluster, keys, former?.metadata.uid);
      if (left.length === 0 && pending === undefined) continue;
      still.push(bindingOf(cluster));
      const shown = `still has ${left.slice(0, MAX_LEFT).join(', ')}${left.length > MAX_LEFT ? ', …' : ''}`;
      const open = `does not answer Clusternet, which has yet to remove it from there (Description ${pending ?? ''})`;
      texts.push(`${bindingOf(cluster)} ${left.length > 0 ? shown : open}`);
    }
  }
  if (texts.length === 0) return undefined;
  return {
    clusters: [...lost, ...still],
    message: `StopUnconfirmed: ${texts.join('; ')}; make sure that it is stopped before anything else takes its place`,
  };
}

/** What remains of a removal: in the cluster, where it can be looked into, and in Clusternet's own records. */
interface Remains {
  left: string[];
  /** A Description that Clusternet has not finished with. */
  pending: string | undefined;
}

async function waitUntilStopped(
  attempt: Attempt,
  cluster: ManagedCluster,
  keys: readonly ObjectKey[],
  uid: string | undefined,
): Promise<Remains> {
  const end = Math.min(Date.now() + LOOK_MS, attempt.deadline - MARGIN_MS);
  for (;;) {
    // While Clusternet has not finished with a Description, nothing is confirmed, whatever the cluster shows.
    const pending = uid === undefined ? undefined : await pendingRemoval(attempt, cluster, uid);
    const left =
      pending !== undefined || keys.length === 0 ? [] : ((await leftBehind(attempt, cluster, keys)) ?? []);
    const isGone = left.length === 0 && pending === undefined;
    if (isGone || Date.now() + PAUSE_MS >= end) return { left, pending };
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    attempt.signal.throwIfAborted();
  }
}

/**
 * Clusternet releases a Subscription and its Bases before it has removed anything from the clusters. The Descriptions
 * stay until that is done.
 */
async function pendingRemoval(
  { kube, signal }: Attempt,
  cluster: ManagedCluster,
  uid: string,
): Promise<string | undefined> {
  try {
    const { items } = await kube.list(
      { apiVersion: APPS, kind: 'Description' },
      { namespace: cluster.metadata.namespace ?? '', labelSelector: `${SUBSCRIPTION_UID}=${uid}`, signal },
    );
    return items[0]?.metadata.name;
  } catch (error) {
    if (signal.aborted || !(error instanceof KubeError)) throw error;
    // An account that may change Subscriptions need not be allowed to read Descriptions.
    return undefined;
  }
}

/** Objects that a Subscription deploys; charts are not objects of the cluster. */
function feedKeys(subscription: KubeObject | undefined): ObjectKey[] {
  const spec = isObject(subscription?.spec) ? subscription.spec : {};
  const feeds = Array.isArray(spec.feeds) ? (spec.feeds as unknown[]) : [];
  return feeds.filter(isObject).flatMap(({ apiVersion, kind, name, namespace }): ObjectKey[] => {
    if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof name !== 'string') return [];
    if (kind === 'HelmChart') return [];
    return [{ apiVersion, kind, name, ...(typeof namespace === 'string' && { namespace }) }];
  });
}

/** Clusters that a Subscription is bound to, as `namespace/name`. */
export function bindingsOf(subscription: KubeObject | undefined): string[] {
  const status = subscription?.status;
  return isObject(status) && Array.isArray(status.bindingClusters) ? status.bindingClusters.map(String) : [];
}
