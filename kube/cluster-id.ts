import type { KubeClient } from './client.js';
import type { KubeObject } from './object.js';

/**
 * What tells one cluster from another: the uid of its kube-system namespace, which lives as long as the cluster.
 *
 * @throws Error when the namespace cannot be read.
 */
export async function readClusterUid(kube: KubeClient): Promise<string> {
  const namespace = await kube.get<KubeObject>({ apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' });
  if (namespace?.metadata.uid === undefined) throw new Error('the cluster has no namespace kube-system');
  return namespace.metadata.uid;
}
