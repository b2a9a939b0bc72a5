import type { TypedObject } from '../kube/object.js';

/** The users the embedded control plane knows besides the administrator. */
export const identities = {
  bridge: 'drover:bridge',
  worker: 'drover:worker',
  kwok: 'drover:kwok',
  clusternet: 'drover:clusternet-simulator',
} as const;

const group = 'rbac.authorization.k8s.io';

function role(name: string, rules: object[]): TypedObject {
  return { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name }, rules };
}

function binding(name: string, roleName: string, user: string): TypedObject {
  return {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: roleName },
    subjects: [{ apiGroup: group, kind: 'User', name: user }],
  };
}

/** What each identity of the embedded default may do, all named `drover-embedded-*`. */
export function embeddedRbac(): TypedObject[] {
  const every = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
  return [
    binding('drover-embedded-bridge', 'cluster-admin', identities.bridge),
    binding('drover-embedded-worker', 'cluster-admin', identities.worker),
    role('drover-embedded-kwok', [
      {
        apiGroups: [''],
        resources: ['nodes', 'nodes/status', 'pods', 'pods/status'],
        verbs: every,
      },
      { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch', 'update'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: every },
    ]),
    binding('drover-embedded-kwok', 'drover-embedded-kwok', identities.kwok),
    role('drover-embedded-clusternet', [
      { apiGroups: ['apps.clusternet.io', 'clusters.clusternet.io'], resources: ['*'], verbs: every },
      { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
      // Credentials of child clusters, where there are real ones.
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['child-cluster-deployer'], verbs: ['get'] },
    ]),
    binding('drover-embedded-clusternet', 'drover-embedded-clusternet', identities.clusternet),
  ];
}
