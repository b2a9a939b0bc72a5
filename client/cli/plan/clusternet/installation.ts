/** What the check of a Clusternet installation makes there, and how it looks at what comes of it. */
import { randomBytes } from 'node:crypto';
import { openChild } from '../../../../kube/child-cluster.js';
import type { Child } from '../../../../kube/child-cluster.js';
import type { KubeClient } from '../../../../kube/client.js';
import { isAlreadyExists, isNotFound, KubeError } from '../../../../kube/error.js';
import { describeKey } from '../../../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../../../kube/object.js';
import { CliError } from '../../core/cli-error.js';

export const APPS = 'apps.clusternet.io/v1alpha1';
const CLUSTERS = 'clusters.clusternet.io/v1beta1';
const MANIFESTS = 'clusternet-reserved';
const CLUSTER_ID = 'clusters.clusternet.io/cluster-id';
/** Namespace of the ConfigMap in member clusters: one that is always there, since Clusternet makes none. */
const CHILD_NAMESPACE = 'default';

/** A member cluster that takes part. */
export interface Member {
  /** `namespace/name`, as Clusternet writes bindings. */
  binding: string;
  namespace: string;
  id: string;
  child: Child;
}

interface ManagedCluster extends KubeObject {
  spec?: { clusterId?: string };
  status?: { conditions?: { type: string; status: string }[] };
}

/**
 * The clusters to check with.
 *
 * @param names those asked for, by name or namespace/name; else the first two that are Ready
 * @throws CliError when there are none, or one that is asked for is not there or not Ready
 */
export async function chooseMembers(
  kube: KubeClient,
  names: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Member[]> {
  const { items } = await kube
    .list<ManagedCluster>({ apiVersion: CLUSTERS, kind: 'ManagedCluster' }, { signal })
    .catch((error: unknown) => {
      if (!(error instanceof KubeError) || error.reason !== 'KindNotFound') throw error;
      throw new CliError('Clusternet is not installed in this cluster: it does not serve ManagedCluster', {
        hints: ['choose the parent cluster with --context or --kubeconfig'],
      });
    });
  const bindingOf = ({ metadata }: ManagedCluster): string => `${metadata.namespace ?? ''}/${metadata.name}`;
  const isReady = ({ status }: ManagedCluster): boolean =>
    status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;
  const known = items.length === 0 ? 'there are none' : `known are ${items.map(bindingOf).join(', ')}`;
  const chosen =
    names === undefined
      ? items.filter((one) => isReady(one) && one.metadata.labels?.[CLUSTER_ID] !== undefined).slice(0, 2)
      : names.map((name) => {
          const found = items.find((one) => one.metadata.name === name || bindingOf(one) === name);
          if (found === undefined) throw new CliError(`there is no ManagedCluster ${name}; ${known}`);
          if (!isReady(found)) throw new CliError(`ManagedCluster ${bindingOf(found)} is not Ready`);
          if (found.metadata.labels?.[CLUSTER_ID] === undefined) {
            throw new CliError(
              `ManagedCluster ${bindingOf(found)} has no label ${CLUSTER_ID} to choose it by`,
            );
          }
          return found;
        });
  if (chosen.length === 0) {
    throw new CliError(`no ManagedCluster is Ready; ${known}`, { hints: ['name some with --clusters'] });
  }
  return Promise.all(
    chosen.map(async (cluster) => ({
      binding: bindingOf(cluster),
      namespace: cluster.metadata.namespace ?? '',
      id: cluster.metadata.labels?.[CLUSTER_ID] ?? '',
      child: await openChild({ kube, home: kube, signal, identity: 'you' }, cluster),
    })),
  );
}

/** What a cluster has of the ConfigMap. */
export interface Sight {
  /** Phase of its Description; undefined when there is none. */
  phase: string | undefined;
  /** Value in what Clusternet wants to be there. */
  wanted: string | undefined;
  /** Value in the cluster itself; what is wanted, where the cluster cannot be looked into. */
  value: string | undefined;
}

/** The objects of one check. Everything is named after it and goes with {@link Scratch.remove}. */
export class Scratch {
  readonly name = `drover-check-${randomBytes(4).toString('hex')}`;
  readonly namespace: string;
  readonly feed = { apiVersion: 'v1', kind: 'ConfigMap', namespace: CHILD_NAMESPACE, name: this.name };
  readonly #kube: KubeClient;
  readonly #made: ObjectKey[] = [];
  #uid = '';

  /** @param namespace of the Subscription; default: one of its own, which is removed again */
  constructor(kube: KubeClient, namespace: string | undefined) {
    this.#kube = kube;
    this.namespace = namespace ?? this.name;
  }

  /** What was made, newest last. */
  get made(): readonly ObjectKey[] {
    return this.#made;
  }

  async makeFeed(): Promise<void> {
    try {
      const metadata = { name: this.namespace };
      await this.#create({ apiVersion: 'v1', kind: 'Namespace', metadata });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const { kind, namespace, name } = this.feed;
    const config = { group: '', version: 'v1', kind, namespace, name };
    await this.#create({
      apiVersion: APPS,
      kind: 'Manifest',
      metadata: {
        name,
        namespace: MANIFESTS,
        labels: Object.fromEntries(
          Object.entries(config).map(([key, value]) => [`apps.clusternet.io/config.${key}`, value]),
        ),
      },
      template: { apiVersion: 'v1', kind, metadata: { name, namespace }, data: { mode: 'plain' } },
    });
  }

  async subscribe(members: readonly Member[]): Promise<void> {
    const created = await this.#create({
      apiVersion: APPS,
      kind: 'Subscription',
      metadata: { name: this.name, namespace: this.namespace },
      spec: { feeds: [this.feed], subscribers: subscribersOf(members.map(({ id }) => id)) },
    });
    this.#uid = created.metadata.uid ?? '';
  }

  /** Binds the Subscription to other clusters; to none with a cluster id that nobody has. */
  async bind(ids: readonly string[]): Promise<void> {
    await this.#kube.patch(
      this.#subscription,
      { spec: { subscribers: subscribersOf(ids) } },
      { kind: 'merge' },
    );
  }

  async bindings(): Promise<string[] | undefined> {
    const found = await this.#kube.get<{ status?: { bindingClusters?: string[] } }>(this.#subscription);
    return found === undefined ? undefined : (found.status?.bindingClusters ?? []);
  }

  async localize(
    member: Member,
    suffix: string,
    spec: { priority: number; overridePolicy: string; type: string; value: string },
  ): Promise<void> {
    const { type, value, ...rest } = spec;
    await this.#create({
      apiVersion: APPS,
      kind: 'Localization',
      metadata: { name: `${this.name}-${suffix}`, namespace: member.namespace },
      spec: { ...rest, feed: this.feed, overrides: [{ name: suffix, type, value }] },
    });
  }

  /** Deletes all Localizations: first, until they are gone, those that would take effect when another one is deleted. */
  async unlocalize(): Promise<void> {
    const keys = this.#made.filter(({ kind }) => kind === 'Localization');
    const policies = await Promise.all(
      keys.map((key) => this.#kube.get<{ spec?: { overridePolicy?: string } }>(key)),
    );
    const isLater = (index: number): boolean => policies[index]?.spec?.overridePolicy === 'ApplyLater';
    for (const [index, key] of keys.entries()) {
      if (!isLater(index)) continue;
      await this.#kube.delete(key);
      for (let tries = 0; tries < 40 && (await this.#kube.get(key)) !== undefined; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
    for (const [index, key] of keys.entries()) if (!isLater(index)) await this.#kube.delete(key);
  }

  unsubscribe(): Promise<boolean> {
    return this.#kube.delete(this.#subscription);
  }

  async look(member: Member): Promise<Sight> {
    const { items } = await this.#kube.list<
      KubeObject & { spec?: { raw?: string[] }; status?: { phase?: string } }
    >(
      { apiVersion: APPS, kind: 'Description' },
      { namespace: member.namespace, labelSelector: `apps.clusternet.io/subs.uid=${this.#uid}` },
    );
    const [description] = items;
    const [raw] = description?.spec?.raw ?? [];
    const wanted =
      raw === undefined
        ? undefined
        : (JSON.parse(Buffer.from(raw, 'base64').toString('utf8')) as { data?: Record<string, string> }).data
            ?.mode;
    const value = member.child.ok
      ? (await member.child.kube.get<{ data?: Record<string, string> }>(this.feed))?.data?.mode
      : wanted;
    return { phase: description?.status?.phase, wanted, value };
  }

  /**
   * Removes everything that was made, and waits until it is gone.
   *
   * @returns what is still there
   */
  async remove(timeoutMs: number): Promise<string[]> {
    // Feeds are protected while a Subscription names them, so they go last.
    const rank: Record<string, number> = { Localization: 0, Subscription: 1, Manifest: 2 };
    const keys = [...this.#made].sort((a, b) => (rank[a.kind] ?? 3) - (rank[b.kind] ?? 3));
    const end = Date.now() + timeoutMs;
    const left: string[] = [];
    for (const key of keys) {
      await this.#kube.delete(key).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      // Removal of a namespace takes its controller longer than anybody wants to wait.
      while (key.kind !== 'Namespace' && (await this.#kube.get(key)) !== undefined) {
        if (Date.now() > end) {
          left.push(describeKey(key));
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
    return left;
  }

  get #subscription(): ObjectKey {
    return { apiVersion: APPS, kind: 'Subscription', namespace: this.namespace, name: this.name };
  }

  async #create(object: KubeObject & { apiVersion: string; kind: string }): Promise<KubeObject> {
    const created = await this.#kube.create(object);
    const { apiVersion, kind } = object;
    const { name, namespace } = object.metadata;
    this.#made.push({ apiVersion, kind, name, ...(namespace !== undefined && { namespace }) });
    return created;
  }
}

const subscribersOf = (ids: readonly string[]): unknown[] => [
  { clusterAffinity: { matchExpressions: [{ key: CLUSTER_ID, operator: 'In', values: ids }] } },
];
