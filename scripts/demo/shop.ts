/** What the switchover example changes, as it can be read back. */
import { API_VERSION, PLURALS } from '../../api/core/group.js';
import type { DRPlan, DRPlanExecution } from '../../api/plan/types.js';
import type { Effects, TrafficState } from '../../examples/traffic-manager/server.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';

/** Namespace of the example. */
export const NAMESPACE = 'shop';
/** Plan of the example. */
export const PLAN = 'shop-switchover';

/** State of the shop everywhere. Two readings of the same state are deeply equal. */
export interface Shop {
  traffic: { weights: Record<string, number>; maintenance: boolean };
  /** Data of the ConfigMaps, by name. */
  configuration: Record<string, unknown>;
  /** Clusters that the Subscription names, and those that it is bound to. */
  subscribed: string[];
  bound: string[];
  /** Specs of the Localizations of the member clusters, by `namespace/name`. */
  localizations: Record<string, unknown>;
  /** What each member cluster was given to run, by namespace. */
  deployed: Record<string, { phase: string; site: string; replicas: number }>;
}

const CLUSTER_NAME = 'clusters.clusternet.io/cluster-name';
const CLUSTERNET = 'apps.clusternet.io/v1alpha1';

/** Reads everything. */
export async function readShop(kube: KubeClient, trafficManager: string): Promise<Shop> {
  const inShop = { namespace: NAMESPACE };
  const [traffic, configMaps, subscription, localizations, descriptions] = await Promise.all([
    getJson<TrafficState>(`${trafficManager}/state`),
    kube.list({ apiVersion: 'v1', kind: 'ConfigMap' }, inShop),
    kube.get<Subscription>({ apiVersion: CLUSTERNET, kind: 'Subscription', name: 'shop', ...inShop }),
    kube.list({ apiVersion: CLUSTERNET, kind: 'Localization' }),
    kube.list<Description>({ apiVersion: CLUSTERNET, kind: 'Description' }),
  ]);
  return {
    traffic: {
      weights: mapValues(traffic.sites, (site) => site.weight),
      maintenance: traffic.maintenance,
    },
    configuration: Object.fromEntries(
      configMaps.items
        .filter(({ metadata }) => metadata.name.startsWith('shop-'))
        .map((configMap) => [configMap.metadata.name, configMap['data']]),
    ),
    subscribed: (subscription?.spec.subscribers ?? []).map(
      ({ clusterAffinity }) => clusterAffinity?.matchLabels?.[CLUSTER_NAME] ?? '?',
    ),
    bound: subscription?.status?.bindingClusters ?? [],
    localizations: Object.fromEntries(
      localizations.items.map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, spec]),
    ),
    deployed: Object.fromEntries(
      descriptions.items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map((description) => [description.metadata.namespace ?? '', deploymentOf(description)]),
    ),
  };
}

/** Jobs of the example and whether each is Complete. */
export async function readJobs(kube: KubeClient): Promise<{ name: string; complete: boolean }[]> {
  const jobs = await kube.list<KubeObject & { status?: { conditions?: { type: string; status: string }[] } }>(
    { apiVersion: 'batch/v1', kind: 'Job' },
    { namespace: NAMESPACE },
  );
  return jobs.items.map(({ metadata, status }) => ({
    name: metadata.name,
    complete:
      status?.conditions?.some(({ type, status: is }) => type === 'Complete' && is === 'True') ?? false,
  }));
}

/** The traffic manager's ledger. */
export const readEffects = (trafficManager: string): Promise<Effects> =>
  getJson<Effects>(`${trafficManager}/effects`);

/** An execution of the example. */
export const readExecution = (kube: KubeClient, name: string): Promise<DRPlanExecution> =>
  kube.raw({ method: 'GET', path: `${ROOT}/${PLURALS.DRPlanExecution}/${name}` });

/** The plan of the example. */
export const readPlan = (kube: KubeClient): Promise<DRPlan> =>
  kube.raw({ method: 'GET', path: `${ROOT}/${PLURALS.DRPlan}/${PLAN}` });

const ROOT = `/apis/${API_VERSION}/namespaces/${NAMESPACE}`;

interface Subscription extends KubeObject {
  spec: { subscribers?: { clusterAffinity?: { matchLabels?: Record<string, string> } }[] };
  status?: { bindingClusters?: string[] };
}

interface Description extends KubeObject {
  spec: { raw?: string[] };
  status?: { phase?: string };
}

/** What a member cluster really gets is what the Description holds after all Localizations. */
function deploymentOf({ spec, status }: Description): { phase: string; site: string; replicas: number } {
  const objects = (spec.raw ?? []).map(
    (raw) =>
      JSON.parse(Buffer.from(raw, 'base64').toString('utf8')) as {
        kind: string;
        metadata: { labels?: Record<string, string> };
        spec: { replicas?: number };
      },
  );
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  return {
    phase: status?.phase ?? 'Pending',
    site: deployment?.metadata.labels?.['site'] ?? '',
    replicas: deployment?.spec.replicas ?? 0,
  };
}

async function getJson<T>(url: string): Promise<T> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
  if (!response.ok) throw new Error(`GET ${url} answered ${response.status}`);
  return (await response.json()) as T;
}

const mapValues = <T, R>(map: Record<string, T>, change: (value: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
