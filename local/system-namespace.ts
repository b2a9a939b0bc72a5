import type { KubeClient } from '../kube/client.js';
import type { ObjectKey } from '../kube/object.js';

/** The namespace of Drover's own objects, as on any cluster. */
export const systemNamespace = 'drover-system';

/** What the bridge registers when it serves admission. */
export const webhookConfigurations: readonly (ObjectKey & { plural: string })[] = (
  ['Validating', 'Mutating'] as const
).map((sort) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: `${sort}WebhookConfiguration`,
  plural: `${sort.toLowerCase()}webhookconfigurations`,
  name: 'drover',
}));

/**
 * Takes away the webhook configurations that a bridge with admission has left: they fail closed, and the one that is
 * started now does not answer them.
 */
export async function removeWebhooks(kube: KubeClient): Promise<void> {
  for (const key of webhookConfigurations) await kube.delete(key);
}
