import { expectOk, type KubeApi } from './kube-api.js';

/** The namespace of Drover's own objects, as on any cluster. */
export const systemNamespace = 'drover-system';

/** What the bridge registers when it serves admission. */
export const webhookConfigurations = [
  'validatingwebhookconfigurations',
  'mutatingwebhookconfigurations',
] as const;

/**
 * Takes away the webhook configurations that a bridge with admission has left: they fail closed, and the one that is
 * started now does not answer them.
 */
export async function removeWebhooks(api: KubeApi): Promise<void> {
  for (const plural of webhookConfigurations) {
    const path = `/apis/admissionregistration.k8s.io/v1/${plural}/drover`;
    const response = await api.request('DELETE', path);
    if (response.status !== 404) expectOk(response, `deleting ${plural} drover`);
  }
}
