/**
 * Whether what a Subscription action removed from clusters has really stopped there. Clusternet drops its records of a
 * cluster out of reach without waiting, so that "deleted" is not "stopped" (plan semantics, §3 Subscription).
 */
import { isObject } from '../api/json.js';
import { KubeError } from '../kube/error.js';
import type { KubeObject, ObjectKey } from '../kube/object.js';
import { leftBehind } from './child-check.js';
import { bindingOf, listClusters, outOfReach } from './clusternet.js';
import type { ManagedCluster } from './clusternet.js';
import type { Attempt } from './handler.js';

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

/**
 * Finds clusters that cannot confirm a removal.
 *
 * @param bindings clusters that lost the Subscription
 * @param former the Subscription as it was, for its feeds
 * @param look whether Clusternet has finished removing, so that clusters in reach can be looked into as well
 * @returns undefined when nothing is in doubt
 */
export async function findUnconfirmedStops(
  attempt: Attempt,
  removed: { bindings: readonly string[]; former: KubeObject | undefined },
  look: boolean,
): Promise<UnconfirmedStops | undefined> {
  const { bindings, former } = removed;
  if (bindings.length === 0) return undefined;
  let clusters: ManagedCluster[];
  try {
    clusters = await listClusters(attempt.kube, attempt.signal);
  } catch (error) {
    if (attempt.signal.aborted || !(error instanceof KubeError)) throw error;
    const message = `StopUnconfirmed: whether ${bindings.join(', ')} stopped what was deployed there is not known (${error.message})`;
    return { clusters: [...bindings], message };
  }
  const lost = outOfReach(bindings, clusters);
  const texts: string[] = [];
  if (lost.length > 0) {
    texts.push(
      `${lost.join(', ')} ${lost.length === 1 ? 'is' : 'are'} out of reach, so what was deployed there may still run`,
    );
  }
  const still: string[] = [];
  const keys = feedKeys(former);
  if (look && keys.length > 0) {
    const reached = clusters.filter(
      (one) => bindings.includes(bindingOf(one)) && !lost.includes(bindingOf(one)),
    );
    for (const cluster of reached) {
      const left = await waitUntilStopped(attempt, cluster, keys);
      if (left.length === 0) continue;
      still.push(bindingOf(cluster));
      const shown = left.slice(0, MAX_LEFT).join(', ');
      texts.push(`${bindingOf(cluster)} still has ${shown}${left.length > MAX_LEFT ? ', …' : ''}`);
    }
  }
  if (texts.length === 0) return undefined;
  return {
    clusters: [...lost, ...still],
    message: `StopUnconfirmed: ${texts.join('; ')}; make sure that it is stopped before anything else takes its place`,
  };
}

async function waitUntilStopped(
  attempt: Attempt,
  cluster: ManagedCluster,
  keys: readonly ObjectKey[],
): Promise<string[]> {
  const end = Math.min(Date.now() + LOOK_MS, attempt.deadline - MARGIN_MS);
  for (;;) {
    const left = (await leftBehind(attempt, cluster, keys)) ?? [];
    if (left.length === 0 || Date.now() + PAUSE_MS >= end) return left;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    attempt.signal.throwIfAborted();
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
