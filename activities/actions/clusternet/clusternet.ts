/** What the actions on Clusternet's kinds share. */
import type { Refusal } from '../../../api/core/refusal.js';
import type { KubeClient } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import type { KubeObject } from '../../../kube/object.js';

export const APPS = 'apps.clusternet.io/v1alpha1';
export const CLUSTERS = 'clusters.clusternet.io/v1beta1';
/** Label on Bases and Descriptions: uid of their Subscription. */
export const SUBSCRIPTION_UID = 'apps.clusternet.io/subs.uid';
/** Label on Descriptions: uid of their Base. */
export const ORIGIN_UID = 'apps.clusternet.io/config.uid';

/** Label that Clusternet gives a ManagedCluster: its clusterId. */
export const CLUSTER_ID = 'clusters.clusternet.io/cluster-id';

/** A member cluster. */
export interface ManagedCluster extends KubeObject {
  spec?: { clusterId?: string };
  status?: { conditions?: { type: string; status: string }[] };
}

/** `namespace/name`, as Clusternet writes bindings. */
export const bindingOf = (cluster: ManagedCluster): string =>
  `${cluster.metadata.namespace ?? ''}/${cluster.metadata.name}`;

/** Whether Clusternet hears from the cluster. */
export const isReachable = (cluster: ManagedCluster): boolean =>
  cluster.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

/** All member clusters. */
export async function listClusters(kube: KubeClient, signal: AbortSignal): Promise<ManagedCluster[]> {
  const list = await kube.list<ManagedCluster>({ apiVersion: CLUSTERS, kind: 'ManagedCluster' }, { signal });
  return list.items;
}

/** Why a kind of Clusternet cannot be used; undefined when it can. */
export async function missingKind(kube: KubeClient, kind: string): Promise<Refusal | undefined> {
  try {
    await kube.resolve(APPS, kind);
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeError) || error.reason !== 'KindNotFound') throw error;
    return {
      reason: 'KindNotFound',
      message: `the cluster does not serve kind ${kind} of ${APPS}: Clusternet is not installed in it; install Clusternet, or leave this action out`,
    };
  }
}

/** Those of the bindings whose cluster Clusternet does not hear from, or does not know. */
export function outOfReach(bindings: readonly string[], clusters: readonly ManagedCluster[]): string[] {
  const reachable = new Set(clusters.filter(isReachable).map(bindingOf));
  return bindings.filter((binding) => !reachable.has(binding));
}
