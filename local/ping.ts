import { KubeError } from '../kube/error.js';
import { openCluster } from './open-cluster.js';

/** Only the status of the answer counts. */
const MAX_ANSWER_BYTES = 1000;

/**
 * Asks the API server a kubeconfig points at whether it is ready.
 *
 * @param own - true for a kubeconfig of the embedded control plane, false for a user's.
 * @returns undefined when it is, else why not.
 */
export async function pingKubernetes(kubeconfigFile: string, own: boolean): Promise<string | undefined> {
  try {
    const kube = await openCluster(kubeconfigFile, own);
    await kube.text({ method: 'GET', path: '/readyz', timeoutMs: 5000 }, MAX_ANSWER_BYTES);
    return undefined;
  } catch (error) {
    const isAnswer = error instanceof KubeError && error.code !== 0 && error.reason !== 'ServerStarting';
    return isAnswer ? `answered ${error.code}` : (error as Error).message;
  }
}
