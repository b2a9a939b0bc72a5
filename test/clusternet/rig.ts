/** Two member clusters with real API servers under the stack's own one as the parent. */
import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject, ObjectKey } from '../../kube/object.js';
import { simulatorAnnotations } from '../../local/clusternet/labels.js';
import { connect } from '../support/attempts.js';
import { servers } from '../support/servers.js';
import { startChild } from './child.js';
import type { Child } from './child.js';
import { startSocketProxy } from './socket-proxy.js';
import type { SocketProxy } from './socket-proxy.js';

export const APPS = 'apps.clusternet.io/v1alpha1';
export const CLUSTERS = 'clusters.clusternet.io/v1beta1';
const SECRET = 'child-cluster-deployer';

export type Site = 'a' | 'b';
export type Quirk = keyof Omit<typeof simulatorAnnotations, 'renderedFrom' | 'child'>;

/** The rig, and what tests do with it. */
export interface Rig {
  /** The parent as its administrator. */
  parent: KubeClient;
  /** Marks everything of this rig. */
  id: string;
  proxy: SocketProxy;
  child(site: Site): Child;
  /** Namespace of a site's ManagedCluster in the parent. */
  namespaceOf(site: Site): string;
  /** As Clusternet writes bindings. */
  binding(site: Site): string;
  /** Subscribers that choose sites. */
  to(...sites: string[]): { clusterAffinity: Record<string, unknown> }[];
  /** A feed in the rig's application namespace, which exists in both children. */
  feed(name: string, kind?: 'ConfigMap' | 'Deployment'): Feed;
  /** Makes, or changes, the Manifest that a feed means. */
  manifest(feed: Feed, content: Record<string, unknown>): Promise<void>;
  /** The object of a feed in a child. */
  seen(site: Site, feed: Feed): Promise<(KubeObject & { data?: Record<string, string> }) | undefined>;
  /** Turns a quirk of the simulator on, or off with null, and waits until the cluster shows it. */
  quirk(site: Site, quirk: Quirk, value: string | null): Promise<void>;
  /** Removes, or brings back, what the deployer needs in a child. */
  credentials(site: Site, present: boolean): Promise<void>;
  close(): Promise<void>;
}

export interface Feed {
  apiVersion: string;
  kind: string;
  name: string;
  namespace: string;
}

/** Waits until a look gives what is expected. */
export async function eventually(
  look: () => Promise<unknown>,
  expected: unknown,
  timeout = 20_000,
): Promise<void> {
  await vi.waitFor(async () => expect(await look()).toEqual(expected), { timeout, interval: 50 });
}

/** Opens a rig; the stack must be up. */
export async function openRig(): Promise<Rig> {
  const parent = connect(servers.kubeconfig);
  const id = randomUUID().slice(0, 8);
  const application = `app-${id}`;
  const sites = ['a', 'b'] as const;
  const [a, b] = await Promise.all(sites.map((site) => startChild(`site-${site}`, servers.dataDir)));
  if (a === undefined || b === undefined) throw new Error('no children');
  const children = { a, b };
  const ids = { a: randomUUID(), b: randomUUID() };
  const namespaceOf = (site: Site): string => `clusternet-${id}-${site}`;
  const clusterKey = (site: Site): ObjectKey => ({
    apiVersion: CLUSTERS,
    kind: 'ManagedCluster',
    namespace: namespaceOf(site),
    name: `site-${site}`,
  });
  const manifests = new Set<string>();
  const proxy = await startSocketProxy(
    parent,
    new Map(sites.map((site) => [ids[site], children[site].server])),
  );

  const ready = async (site: Site): Promise<unknown> => {
    const cluster = await parent.get<{ status?: { conditions?: { type: string; status: string }[] } }>(
      clusterKey(site),
    );
    return cluster?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  };
  const credentials = async (site: Site, present: boolean): Promise<void> => {
    const key = { apiVersion: 'v1', kind: 'Secret', namespace: namespaceOf(site), name: SECRET };
    if (!present) {
      await parent.delete(key);
      return;
    }
    const { token, ca, server } = children[site];
    const data = { token, 'ca.crt': ca, 'apiserver-advertise-url': server };
    await parent.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: SECRET, namespace: namespaceOf(site) },
      data: Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      ),
    });
  };

  for (const site of sites) {
    const namespace = namespaceOf(site);
    await children[site].kube.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: application },
    });
    await parent.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await credentials(site, true);
    await parent.create({
      apiVersion: CLUSTERS,
      kind: 'ManagedCluster',
      metadata: {
        name: `site-${site}`,
        namespace,
        labels: { rig: id, site, 'clusters.clusternet.io/cluster-id': ids[site] },
        annotations: { [simulatorAnnotations.child]: children[site].server },
      },
      spec: { clusterId: ids[site], syncMode: 'Dual' },
    });
  }
  for (const site of sites) await eventually(() => ready(site), 'True');

  return {
    parent,
    id,
    proxy,
    child: (site) => children[site],
    namespaceOf,
    binding: (site) => `${namespaceOf(site)}/site-${site}`,
    to: (...names) => [
      {
        clusterAffinity: {
          matchLabels: { rig: id },
          matchExpressions: [{ key: 'site', operator: 'In', values: names }],
        },
      },
    ],
    feed: (name, kind = 'ConfigMap') => ({
      apiVersion: kind === 'ConfigMap' ? 'v1' : 'apps/v1',
      kind,
      name,
      namespace: application,
    }),
    async manifest(feed, content) {
      const name = `${feed.kind.toLowerCase()}s.${feed.namespace}.${feed.name}`;
      const [group, version] = feed.apiVersion.includes('/') ? feed.apiVersion.split('/') : ['', 'v1'];
      manifests.add(name);
      await parent.patch(
        { apiVersion: APPS, kind: 'Manifest', namespace: 'clusternet-reserved', name },
        {
          apiVersion: APPS,
          kind: 'Manifest',
          metadata: {
            name,
            labels: {
              'apps.clusternet.io/config.group': group,
              'apps.clusternet.io/config.version': version,
              'apps.clusternet.io/config.kind': feed.kind,
              'apps.clusternet.io/config.name': feed.name,
              'apps.clusternet.io/config.namespace': feed.namespace,
            },
          },
          template: {
            apiVersion: feed.apiVersion,
            kind: feed.kind,
            metadata: { name: feed.name, namespace: feed.namespace },
            ...content,
          },
        },
        { kind: 'apply', force: true, fieldManager: 'rig' },
      );
    },
    seen: (site, feed) => children[site].kube.get(feed),
    async quirk(site, quirk, value) {
      const annotations = { [simulatorAnnotations[quirk]]: value };
      await parent.patch(clusterKey(site), { metadata: { annotations } }, { kind: 'merge' });
      if (quirk === 'notReady') await eventually(() => ready(site), value === null ? 'True' : 'Unknown');
    },
    credentials,
    async close() {
      const left = async (): Promise<number> => {
        const all = await Promise.all(
          sites.flatMap((site) =>
            ['Base', 'Description'].map((kind) =>
              parent.list({ apiVersion: APPS, kind }, { namespace: namespaceOf(site) }),
            ),
          ),
        );
        return all.reduce((sum, list) => sum + list.items.length, 0);
      };
      await eventually(left, 0);
      for (const name of manifests) {
        await parent.delete({ apiVersion: APPS, kind: 'Manifest', namespace: 'clusternet-reserved', name });
      }
      await proxy.stop();
      for (const site of sites) {
        await parent.delete(clusterKey(site));
        await parent.delete({ apiVersion: 'v1', kind: 'Namespace', name: namespaceOf(site) });
      }
      await Promise.all(sites.map((site) => children[site].stop()));
    },
  };
}
