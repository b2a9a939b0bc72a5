import { readFile } from 'node:fs/promises';
import { certificateEndpoint } from '../kube/certificate-endpoint.js';
import { createEndpointClient, type KubeClient } from '../kube/client.js';
import { parseKubeconfig } from './kubeconfig.js';
import { openUserCluster } from './user-cluster.js';

/**
 * A client for the cluster of a data dir.
 *
 * @param own - true for a kubeconfig of the embedded control plane, false for a user's.
 */
export const openCluster = async (kubeconfigFile: string, own: boolean): Promise<KubeClient> =>
  own ? openOwnCluster(kubeconfigFile) : (await openUserCluster({ file: kubeconfigFile })).kube;

/**
 * A client for a kubeconfig of the embedded control plane. Without the library that reads any kubeconfig: it is large,
 * and what we have written ourselves does not need it.
 */
export const openOwnCluster = async (kubeconfigFile: string): Promise<KubeClient> =>
  createEndpointClient(certificateEndpoint(parseKubeconfig(await readFile(kubeconfigFile, 'utf8'))));
