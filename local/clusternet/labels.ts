/** Names that Clusternet gives its labels and finalizers, so that what reads them works with the real one too. */
export const names = {
  finalizer: 'apps.clusternet.io/finalizer',
  feedProtection: 'apps.clusternet.io/feed-protection',
  subscription: {
    name: 'apps.clusternet.io/subs.name',
    namespace: 'apps.clusternet.io/subs.namespace',
    uid: 'apps.clusternet.io/subs.uid',
  },
  createdBy: 'clusternet.io/created-by',
  cluster: {
    id: 'clusters.clusternet.io/cluster-id',
    name: 'clusters.clusternet.io/cluster-name',
  },
  /** On an object in a child cluster: the Description that it came with, as `namespace.name`. */
  ownedBy: 'apps.clusternet.io/owned-by-description',
  /** On an object in a child cluster: what was applied last, as JSON. */
  lastApplied: 'clusternet.io/last-applied-configuration',
  /** Secret in the namespace of a cluster: credentials of the deployer in that cluster. */
  deployerSecret: 'child-cluster-deployer',
  /** On Manifests what they hold, on Bases and Descriptions what they come from. */
  config: {
    group: 'apps.clusternet.io/config.group',
    version: 'apps.clusternet.io/config.version',
    kind: 'apps.clusternet.io/config.kind',
    name: 'apps.clusternet.io/config.name',
    namespace: 'apps.clusternet.io/config.namespace',
    uid: 'apps.clusternet.io/config.uid',
  },
} as const;

/** Annotations that steer the simulator. */
export const simulatorAnnotations = {
  /** On a ManagedCluster, any value: the cluster is out of reach (Ready is Unknown, nothing is deployed to it). */
  notReady: 'sim.drover.dev/not-ready',
  /** On a ManagedCluster: deployments to it fail with this text as their reason. On a HelmChart: it is NotFound. */
  fail: 'sim.drover.dev/fail',
  /** On a ManagedCluster: address of a real API server, which the simulator then deploys to (see `deploy.ts`). */
  child: 'sim.drover.dev/child',
  /** On a ManagedCluster: seconds that deployments and removals there lag behind. */
  lag: 'sim.drover.dev/lag',
  /** On a ManagedCluster, any value: a new Subscription gets two Bases there, as happens by a race of the real one. */
  twoBases: 'sim.drover.dev/two-bases',
  /** On a Description, written by the simulator: a digest of what it was rendered from. */
  renderedFrom: 'sim.drover.dev/rendered-from',
} as const;
