import { existsSync } from 'node:fs';
import type { KubeClient } from '../kube/client.js';

/** The user's own cluster, chosen by a kubeconfig's current context. */
export interface UserCluster {
  kube: KubeClient;
  context: string;
  server: string;
  /** The kubeconfig with every path made absolute, for our own processes. */
  kubeconfig: string;
}

/**
 * Opens the user's own cluster.
 *
 * @param source - a kubeconfig file, or `current` for what kubectl would use (KUBECONFIG, else ~/.kube/config).
 * @throws Error when there is no such file or it has no usable current context.
 */
export async function openUserCluster(source: { file: string } | 'current'): Promise<UserCluster> {
  // Loaded on demand: it is large, and the embedded control plane does not need it.
  const [{ KubeConfig }, { createKubeClient }] = await Promise.all([
    import('../kube/client-node.js'),
    import('../kube/kubeconfig-client.js'),
  ]);
  const config = new KubeConfig();
  if (source === 'current') config.loadFromDefault();
  else if (existsSync(source.file)) config.loadFromFile(source.file);
  else throw new Error(`there is no kubeconfig file ${source.file}`);
  const cluster = config.getCurrentCluster();
  const where = source === 'current' ? 'the current kubeconfig' : source.file;
  if (cluster === null || config.getCurrentUser() === null) {
    throw new Error(
      `${where} has no usable current context; choose one with "kubectl config use-context NAME"`,
    );
  }
  return {
    kube: createKubeClient(config),
    context: config.getCurrentContext(),
    server: cluster.server.replace(/\/$/, ''),
    kubeconfig: config.exportConfig(),
  };
}
