/** Service accounts and users with rights, for tests of who may do what. */
import type { KubeClient } from '../../kube/client.js';

/** A rule of a Role. */
export interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

const GROUP = 'rbac.authorization.k8s.io';

/** A service account that may do what the rules say, in its namespace. */
export async function createAccount(
  kube: KubeClient,
  { namespace, name }: { namespace: string; name: string },
  rules: Rule[],
): Promise<void> {
  await kube.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } });
  await grant(kube, { namespace, name: `account-${name}` }, rules, {
    kind: 'ServiceAccount',
    name,
    namespace,
  });
}

/** Gives a subject rights in a namespace. */
export async function grant(
  kube: KubeClient,
  { namespace, name }: { namespace: string; name: string },
  rules: Rule[],
  subject: { kind: 'User' | 'Group' | 'ServiceAccount'; name: string; namespace?: string },
): Promise<void> {
  const metadata = { namespace, name };
  await kube.create({ apiVersion: `${GROUP}/v1`, kind: 'Role', metadata, rules });
  await kube.create({
    apiVersion: `${GROUP}/v1`,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: GROUP, kind: 'Role', name },
    subjects: [{ ...(subject.kind !== 'ServiceAccount' && { apiGroup: GROUP }), ...subject }],
  });
}
