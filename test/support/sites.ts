/**
 * Member clusters of Clusternet, and what can be deployed to them: for tests of actions on its kinds. Names carry the
 * run's own id, so that runs do not meet.
 */
import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';

export const APPS = 'apps.clusternet.io/v1alpha1';
const CLUSTERS = 'clusters.clusternet.io/v1beta1';
const CLUSTER_ID = 'clusters.clusternet.io/cluster-id';
/** Annotations that steer the simulator. */
export const FAIL = 'sim.drover.dev/fail';
const NOT_READY = 'sim.drover.dev/not-ready';

/** A source of Subscriptions. */
export interface SiteFeed {
  apiVersion: string;
  kind: string;
  name: string;
  namespace: string;
}

/** Member clusters that a test has for itself. */
export interface Sites {
  id: string;
  namespaceOf(site: string): string;
  /** `namespace/name`, as Clusternet writes bindings. */
  bindingOf(site: string): string;
  clusterIdOf(site: string): string;
  /** A selector of some of the sites. */
  affinity(...sites: string[]): Record<string, unknown>;
  /** A ConfigMap that can be deployed. */
  feed(name: string): SiteFeed;
  add(site: string): Promise<void>;
  /** Takes a cluster away, as when it is unregistered. */
  remove(site: string): Promise<void>;
  /** Deployments to a site fail with this reason; null: they do not. */
  fail(site: string, reason: string | null): Promise<void>;
  /** Whether Clusternet hears from a site. */
  reach(site: string, reachable: boolean): Promise<void>;
  /** What a site is told to run: data of ConfigMaps by name. */
  deployed(site: string): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** Name of the Manifest of a ConfigMap that can be deployed. */
export const manifestName = (id: string, name: string): string => `configmaps-${id}-${name}`;

/** What Clusternet deploys for a feed of a ConfigMap in namespace `app-<id>`. */
export const configMapManifest = (id: string, name: string): KubeObject => ({
  apiVersion: APPS,
  kind: 'Manifest',
  metadata: {
    name: manifestName(id, name),
    namespace: 'clusternet-reserved',
    labels: {
      'apps.clusternet.io/config.group': '',
      'apps.clusternet.io/config.version': 'v1',
      'apps.clusternet.io/config.kind': 'ConfigMap',
      'apps.clusternet.io/config.name': name,
      'apps.clusternet.io/config.namespace': `app-${id}`,
    },
  },
  template: {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: `app-${id}` },
    data: { mode: 'standby' },
  },
});

/** Brings up member clusters and the sources `feeds`. */
export async function openSites(
  kube: KubeClient,
  options: { sites: string[]; feeds: string[] },
): Promise<Sites> {
  const id = randomUUID().slice(0, 8);
  const ids = new Map<string, string>();
  const namespaceOf = (site: string): string => `site-${site}-${id}`;
  const feed = (name: string): SiteFeed => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name,
    namespace: `app-${id}`,
  });
  const clusterKey = (site: string) => ({
    apiVersion: CLUSTERS,
    kind: 'ManagedCluster',
    namespace: namespaceOf(site),
    name: `site-${site}`,
  });
  const readiness = async (site: string): Promise<string | undefined> => {
    const cluster = await kube.get<{ status?: { conditions?: { type: string; status: string }[] } }>(
      clusterKey(site),
    );
    return cluster?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  };
  const annotate = async (site: string, annotation: string, value: string | null): Promise<void> => {
    await kube.patch(
      clusterKey(site),
      { metadata: { annotations: { [annotation]: value } } },
      { kind: 'merge' },
    );
  };
  const sites: Sites = {
    id,
    namespaceOf,
    bindingOf: (site) => `${namespaceOf(site)}/site-${site}`,
    clusterIdOf: (site) => ids.get(site) ?? '',
    affinity: (...names) => ({
      matchLabels: { test: id },
      matchExpressions: [{ key: 'site', operator: 'In', values: names }],
    }),
    feed,
    async add(site) {
      const clusterId = randomUUID();
      ids.set(site, clusterId);
      await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespaceOf(site) } });
      await kube.create({
        apiVersion: CLUSTERS,
        kind: 'ManagedCluster',
        metadata: {
          name: `site-${site}`,
          namespace: namespaceOf(site),
          labels: { test: id, site, [CLUSTER_ID]: clusterId },
        },
        spec: { clusterId, syncMode: 'Dual' },
      });
      await eventually(() => readiness(site), 'True');
    },
    async remove(site) {
      await kube.delete(clusterKey(site));
    },
    fail: (site, reason) => annotate(site, FAIL, reason),
    async reach(site, reachable) {
      await annotate(site, NOT_READY, reachable ? null : 'yes');
      await eventually(() => readiness(site), reachable ? 'True' : 'Unknown');
    },
    async deployed(site) {
      const list = await kube.list<KubeObject & { spec: { raw?: string[] } }>(
        { apiVersion: APPS, kind: 'Description' },
        { namespace: namespaceOf(site) },
      );
      const objects = list.items.flatMap(({ spec }) =>
        (spec.raw ?? []).map(
          (raw) =>
            JSON.parse(Buffer.from(raw, 'base64').toString()) as {
              metadata: { name: string };
              data: unknown;
            },
        ),
      );
      return Object.fromEntries(objects.map((object) => [object.metadata.name, object.data]));
    },
    async close() {
      for (const name of options.feeds) {
        await kube.delete({
          apiVersion: APPS,
          kind: 'Manifest',
          namespace: 'clusternet-reserved',
          name: manifestName(id, name),
        });
      }
      for (const site of ids.keys()) {
        await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: namespaceOf(site) });
      }
    },
  };
  for (const site of options.sites) await sites.add(site);
  for (const name of options.feeds) {
    await kube.create(configMapManifest(id, name));
  }
  return sites;
}

/** Waits until something is as expected. */
export async function eventually(read: () => Promise<unknown>, expected: unknown): Promise<void> {
  await vi.waitFor(async () => expect(await read()).toEqual(expected), { timeout: 20_000, interval: 100 });
}
