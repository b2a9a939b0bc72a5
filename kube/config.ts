import { KubeConfig } from './client-node.js';

/**
 * Loads the credentials of one cluster: a kubeconfig file when one is named, else the pod's service account. The
 * environment's KUBECONFIG is never looked at: a program that acts on clusters acts on the one it was given.
 *
 * @throws Error that says what is missing.
 */
export function loadKubeConfig(options: { file?: string; context?: string }): KubeConfig {
  const config = new KubeConfig();
  if (options.file !== undefined) {
    try {
      config.loadFromFile(options.file);
    } catch (error) {
      throw new Error(`kubeconfig "${options.file}" cannot be read: ${(error as Error).message}`, {
        cause: error,
      });
    }
    if (options.context !== undefined) {
      const names = config.getContexts().map((context) => context.name);
      if (!names.includes(options.context)) {
        throw new Error(
          `kubeconfig "${options.file}" has no context "${options.context}"; it has: ${names.join(', ')}`,
        );
      }
      config.setCurrentContext(options.context);
    }
    return config;
  }
  if (process.env.KUBERNETES_SERVICE_HOST === undefined) {
    throw new Error(
      'no cluster: not running in a pod, and DROVER_KUBECONFIG names no kubeconfig file; set DROVER_KUBECONFIG',
    );
  }
  config.loadFromCluster();
  return config;
}
