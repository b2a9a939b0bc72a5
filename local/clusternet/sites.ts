import { join } from 'node:path';
import { readObjects } from '../apply.js';
import { expectOk, type KubeApi, type KubeObject } from '../kube-api.js';
import { type DataPaths } from '../paths.js';
import { packageRoot } from '../../runtime/package-root.js';
import type { ProcessSpec } from '../processes.js';
import { simulatorAnnotations } from './labels.js';

/** The member clusters that are there from the beginning. */
const sites = [
  { site: 'a', id: 'a1f0c2d4-0001-4b6e-8a52-51e0a0000001' },
  { site: 'b', id: 'b1f0c2d4-0002-4b6e-8a52-51e0a0000002' },
] as const;

/** The namespace that holds Manifests. */
export const manifestNamespace = 'clusternet-reserved';

/** Our own thin definitions of Clusternet's kinds. */
export async function clusternetDefinitions(): Promise<KubeObject[]> {
  return readObjects(join(packageRoot(), 'local', 'clusternet', 'crds'));
}

/** Namespaces and ManagedClusters of two sites, in the order to apply them. */
export function clusternetSites(): KubeObject[] {
  const namespace = (name: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  });
  return [
    namespace(manifestNamespace),
    ...sites.flatMap(({ site, id }): KubeObject[] => [
      namespace(`clusternet-site-${site}`),
      {
        apiVersion: 'clusters.clusternet.io/v1beta1',
        kind: 'ManagedCluster',
        metadata: {
          name: `site-${site}`,
          namespace: `clusternet-site-${site}`,
          labels: {
            'clusters.clusternet.io/cluster-id': id,
            'clusters.clusternet.io/cluster-name': `site-${site}`,
            site,
          },
        },
        spec: { clusterId: id, syncMode: 'Dual' },
      },
    ]),
  ];
}

/** How to start the simulator of Clusternet's controllers: a Node process of its own. */
export function simulatorSpec(paths: DataPaths, kubeconfigFile: string, admin: KubeApi): ProcessSpec {
  return {
    name: 'clusternet',
    command: process.execPath,
    args: [join(packageRoot(), 'dist', 'programs', 'clusternet.js'), kubeconfigFile],
    env: { KUBECONFIG: undefined },
    log: join(paths.logs, 'clusternet.log'),
    ready: () => hasHeartbeat(admin),
    readyTimeoutMs: 30_000,
  };
}

/** The simulator works when the first site reports in; it does so every 30 s. */
async function hasHeartbeat(admin: KubeApi): Promise<boolean> {
  const path = '/apis/clusters.clusternet.io/v1beta1/namespaces/clusternet-site-a/managedclusters/site-a';
  const { metadata, status } = expectOk(await admin.request('GET', path), 'reading site-a') as KubeObject & {
    status?: { lastObservedTime?: string };
  };
  if (metadata.annotations?.[simulatorAnnotations.notReady] !== undefined) return true;
  return Date.now() - Date.parse(status?.lastObservedTime ?? '1970-01-01T00:00:00Z') < 90_000;
}
