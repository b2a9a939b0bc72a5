import { readFile } from 'node:fs/promises';
import { certificateApi } from './kube-api.js';
import { parseKubeconfig } from './kubeconfig.js';
import { openUserCluster } from './user-cluster.js';

/**
 * Asks the API server a kubeconfig points at whether it is ready.
 *
 * @param own - true for a kubeconfig of the embedded control plane, false for a user's.
 * @returns undefined when it is, else why not.
 */
export async function pingKubernetes(kubeconfigFile: string, own: boolean): Promise<string | undefined> {
  try {
    const api = own
      ? certificateApi(parseKubeconfig(await readFile(kubeconfigFile, 'utf8')))
      : (await openUserCluster({ file: kubeconfigFile })).api;
    try {
      const response = await api.request('GET', '/readyz', { timeoutMs: 5000 });
      return response.status === 200 ? undefined : `answered ${response.status}`;
    } finally {
      await api.close();
    }
  } catch (error) {
    return (error as Error).message;
  }
}
