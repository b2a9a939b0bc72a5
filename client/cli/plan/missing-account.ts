import type { KubeClient } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';

/**
 * A warning about the account of a plan, when there is none of that name: every action of a run would be refused, and the
 * bridge, which may not look at accounts, cannot say so before.
 */
export async function missingAccount(
  kube: KubeClient,
  { namespace, name }: { namespace: string; name: string },
): Promise<string | undefined> {
  try {
    const found = await kube.get({ apiVersion: 'v1', kind: 'ServiceAccount', namespace, name });
    return found === undefined
      ? `ServiceAccount "${name}", which the plan acts as, does not exist in namespace ${namespace}: every action will be refused`
      : undefined;
  } catch (error) {
    // Who may not look at accounts may still run the plan.
    if (error instanceof KubeError && error.code === 403) return undefined;
    throw error;
  }
}
