import { join } from 'node:path';
import { readObjects } from '../apply.js';
import type { KubeClient } from '../../kube/client.js';
import type { TypedObject } from '../../kube/object.js';
import { packageRoot } from '../../runtime/package-root.js';
import { type DataPaths } from '../paths.js';
import type { ProcessSpec } from '../processes.js';
import { names, simulatorAnnotations } from './labels.js';
import { resources, type ManagedCluster } from './world.js';

/** The member clusters that are there from the beginning. */
const sites = [
  { site: 'a', id: 'a1f0c2d4-0001-4b6e-8a52-51e0a0000001' },
  { site: 'b', id: 'b1f0c2d4-0002-4b6e-8a52-51e0a0000002' },
] as const;
type Site = (typeof sites)[number];

/** The namespace that holds Manifests. */
export const manifestNamespace = 'clusternet-reserved';

/** Our own thin definitions of Clusternet's kinds. */
export async function clusternetDefinitions(): Promise<TypedObject[]> {
  return readObjects(join(packageRoot(), 'local', 'clusternet', 'crds'));
}

/** Namespaces and ManagedClusters of two sites, in the order to apply them. */
export function clusternetSites(): TypedObject[] {
  const namespace = (name: string): TypedObject => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  });
  return [
    namespace(manifestNamespace),
    ...sites.flatMap((site): TypedObject[] => [namespace(namespaceOf(site)), siteOf(site)]),
  ];
}

const namespaceOf = ({ site }: Site): string => `clusternet-site-${site}`;

const siteOf = (one: Site): TypedObject => ({
  apiVersion: resources.managedclusters.group,
  kind: resources.managedclusters.kind,
  metadata: {
    name: `site-${one.site}`,
    namespace: namespaceOf(one),
    labels: {
      [names.cluster.id]: one.id,
      [names.cluster.name]: `site-${one.site}`,
      site: one.site,
    },
  },
  spec: { clusterId: one.id, syncMode: 'Dual' },
});

/** How to start the simulator of Clusternet's controllers: a Node process of its own. */
export function simulatorSpec(paths: DataPaths, kubeconfigFile: string, admin: KubeClient): ProcessSpec {
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
async function hasHeartbeat(admin: KubeClient): Promise<boolean> {
  const { apiVersion, kind, metadata: of } = siteOf(sites[0]);
  const { name, namespace = '' } = of;
  const found = await admin.get<ManagedCluster>({ apiVersion, kind, namespace, name });
  if (found === undefined) return false;
  const { metadata, status } = found;
  if (metadata.annotations?.[simulatorAnnotations.notReady] !== undefined) return true;
  return Date.now() - Date.parse(status?.lastObservedTime ?? '1970-01-01T00:00:00Z') < 90_000;
}
