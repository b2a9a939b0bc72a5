/** Tokens of the cluster for people who may get some paths of ours. */
import { unique } from './stack.js';
import type { Stack } from './stack.js';

const RBAC = 'rbac.authorization.k8s.io';

/** A service account that may get these non-resource URLs, and a token of it. */
export async function clusterToken(
  { kube, namespace }: Pick<Stack, 'kube' | 'namespace'>,
  nonResourceURLs: string[],
): Promise<{ name: string; token: string }> {
  const name = unique('caller');
  await kube.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } });
  await kube.create({
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name },
    rules: [{ nonResourceURLs, verbs: ['get'] }],
  });
  await kube.create({
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  const { status } = await kube.raw<{ status: { token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  return { name, token: status.token };
}
