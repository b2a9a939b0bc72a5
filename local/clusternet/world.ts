import type { TypedObject } from '../../kube/object.js';
import type { LabelSelector } from './selector.js';

/** The resources the simulator looks at, by plural name. */
export const resources = {
  subscriptions: { group: 'apps.clusternet.io/v1alpha1', kind: 'Subscription', namespaced: true },
  localizations: { group: 'apps.clusternet.io/v1alpha1', kind: 'Localization', namespaced: true },
  globalizations: { group: 'apps.clusternet.io/v1alpha1', kind: 'Globalization', namespaced: false },
  helmcharts: { group: 'apps.clusternet.io/v1alpha1', kind: 'HelmChart', namespaced: true },
  manifests: { group: 'apps.clusternet.io/v1alpha1', kind: 'Manifest', namespaced: true },
  bases: { group: 'apps.clusternet.io/v1alpha1', kind: 'Base', namespaced: true },
  descriptions: { group: 'apps.clusternet.io/v1alpha1', kind: 'Description', namespaced: true },
  managedclusters: { group: 'clusters.clusternet.io/v1beta1', kind: 'ManagedCluster', namespaced: true },
} as const;

/** The plural name of a resource the simulator looks at. */
export type Resource = keyof typeof resources;

/** A reference to a resource to deploy. */
export interface Feed {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
}

/** A Subscription, as far as the simulator reads it. */
export interface Subscription extends TypedObject {
  spec: {
    subscribers?: { clusterAffinity?: LabelSelector }[];
    feeds?: Feed[];
    clusterTolerations?: { key?: string; operator?: string }[];
  };
  status?: { bindingClusters?: string[]; desiredReleases?: number; specHash?: number };
}

/** One change that an override makes. */
export interface OverrideEntry {
  name?: string;
  type: string;
  value: string;
  overrideChart?: boolean;
  fieldPath?: string;
  fieldFormat?: string;
}

/** A Localization or, with `clusterAffinity`, a Globalization. */
export interface Override extends TypedObject {
  spec: {
    overridePolicy?: string;
    priority?: number;
    feed?: Feed;
    overrides?: OverrideEntry[];
    clusterAffinity?: LabelSelector;
  };
}

/** A Manifest or HelmChart. */
export interface FeedSource extends TypedObject {
  template?: TypedObject;
  spec?: Record<string, unknown>;
  status?: { phase?: string };
}

/** A Base. */
export interface Base extends TypedObject {
  spec: { feeds?: Feed[] };
}

/** A Description. */
export interface Description extends TypedObject {
  spec: {
    deployer: string;
    charts?: { name: string; namespace: string }[];
    raw?: string[];
    chartRaw?: string[];
  };
  status?: { phase?: string; reason?: string };
}

/** A ManagedCluster. */
export interface ManagedCluster extends TypedObject {
  spec: { clusterId: string; taints?: { key: string }[] };
  status?: {
    lastObservedTime?: string;
    conditions?: { type: string; status: string; lastTransitionTime: string }[];
    apiserverURL?: string;
  };
}

/** Everything there is at one moment. */
export interface World {
  subscriptions: Subscription[];
  localizations: Override[];
  globalizations: Override[];
  helmcharts: FeedSource[];
  manifests: FeedSource[];
  bases: Base[];
  descriptions: Description[];
  managedclusters: ManagedCluster[];
  /**
   * Generation that each Description, by uid, was last dealt with at in a real child cluster. Like the real deployer,
   * the simulator never looks again at what it has dealt with, so nothing there repairs drift.
   */
  handled?: ReadonlyMap<string, number>;
}

/** One change to make. */
export type Write =
  | { op: 'create'; resource: Resource; object: TypedObject }
  /** A merge patch; one that touches lists of metadata carries the resourceVersion it was made for. */
  | {
      op: 'patch';
      resource: Resource;
      namespace?: string;
      name: string;
      subresource?: 'status';
      body: Record<string, unknown>;
    }
  | { op: 'delete'; resource: Resource; namespace?: string; name: string; uid: string }
  /** Applies, or removes, what a Description holds in a real child cluster, and says so in its status or finalizers. */
  | { op: 'deploy'; description: Description; cluster: ManagedCluster }
  | { op: 'undeploy'; description: Description; cluster: ManagedCluster }
  /** A warning Event on an object. */
  | { op: 'warn'; object: TypedObject; reason: string; message: string };
