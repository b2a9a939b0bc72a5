import { isObject } from '../../../api/core/json.js';
import type { Refusal } from '../../../api/core/refusal.js';
import type { KubeObject } from '../../../kube/object.js';
import { bindingOf, isReachable } from './clusternet.js';
import type { ManagedCluster } from './clusternet.js';
import { evaluateSelector } from '../../core/label-selector.js';

/** The clusters that subscribers choose, or why they cannot be sent. */
export type Targets = { ok: true; matched: ManagedCluster[]; warning?: string } | ({ ok: false } & Refusal);

/**
 * Finds the clusters that subscribers choose. Choosing none, or none that is known, is refused: Clusternet acts on an
 * empty match too, and so removes everything everywhere (S3.39).
 */
export function chooseTargets(subscribers: unknown, clusters: readonly ManagedCluster[]): Targets {
  if (!Array.isArray(subscribers) || subscribers.length === 0) {
    return refuse('subscribers is empty; name the clusters by a clusterAffinity');
  }
  const matched = new Set<ManagedCluster>();
  const unmatched: number[] = [];
  for (const [index, subscriber] of (subscribers as unknown[]).entries()) {
    const affinity = isObject(subscriber) ? subscriber.clusterAffinity : undefined;
    if (affinity === undefined || affinity === null) {
      return refuse(
        `subscribers[${index}] has no clusterAffinity; write the labels of the clusters, or {} for all of them`,
      );
    }
    let found = false;
    for (const cluster of [{ metadata: { name: '' } } as ManagedCluster, ...clusters]) {
      const result = evaluateSelector(affinity, cluster.metadata.labels ?? {});
      if (!result.ok)
        return refuse(`clusterAffinity of subscribers[${index}] is not valid: ${result.message}`);
      if (!result.matches || cluster.metadata.name === '') continue;
      found = true;
      matched.add(cluster);
    }
    if (!found) unmatched.push(index);
  }
  if (matched.size === 0) {
    const known = clusters.map(bindingOf);
    const shown = known.length === 0 ? 'none' : known.slice(0, 20).join(', ');
    return {
      ok: false,
      reason: 'NoMatchingCluster',
      message: `no ManagedCluster matches the clusterAffinity of the subscribers, which would remove the feeds from every cluster; known clusters are ${shown}: correct the labels, or use operation Delete if that is meant`,
    };
  }
  return {
    ok: true,
    matched: [...matched],
    ...(unmatched.length > 0 && {
      warning: `no ManagedCluster matches ${unmatched.map((index) => `subscribers[${index}]`).join(', ')}`,
    }),
  };
}

/**
 * Why subscribers would stop what runs now: Clusternet binds no cluster that is not Ready, so choosing only such
 * clusters is the same as choosing none. A Subscription that tolerates their taint is bound to them, and stops what
 * runs, too.
 *
 * @param bound clusters that the Subscription is bound to now, as `namespace/name`
 * @returns undefined when nothing is stopped, or something takes its place
 */
export function strandedBy(
  matched: readonly ManagedCluster[],
  bound: readonly string[],
  clusters: readonly ManagedCluster[],
): string | undefined {
  if (matched.some(isReachable)) return undefined;
  const running = clusters.filter((one) => isReachable(one) && bound.includes(bindingOf(one))).map(bindingOf);
  if (running.length === 0) return undefined;
  return `no cluster that the subscribers choose is Ready (${matched.map(bindingOf).join(', ')}): Clusternet would remove the feeds from ${running.join(', ')} and bring them nowhere now; wait until one is Ready, choose others, or use operation Delete if a stop is meant`;
}

/** Clusters that the subscribers of a Subscription choose, whether they are Ready or not. */
export function chosenBy(
  subscription: KubeObject | undefined,
  clusters: readonly ManagedCluster[],
): ManagedCluster[] {
  const spec = isObject(subscription?.spec) ? subscription.spec : {};
  const targets = chooseTargets(spec.subscribers, clusters);
  return targets.ok ? targets.matched : [];
}

const refuse = (message: string): { ok: false } & Refusal => ({ ok: false, reason: 'InvalidSpec', message });
