import { isRetryable } from '../kube/error.js';
import type { KubeError } from '../kube/error.js';
import type { AttemptResult } from './handler.js';

/** A failure of a call to the Kubernetes API, as an attempt's result: retryable or final (architecture: Errors). */
export type KubeFailure = Extract<AttemptResult, { kind: 'retry' | 'failed' }>;

/**
 * Turns an error of the Kubernetes API into a result. Retryable are: no answer, 401 (credentials are renewed), conflict,
 * too many requests, the server's own errors. All of these keep the round, because an earlier call of the same attempt
 * may have had its effect. Everything else is final.
 */
export function fromKubeError(
  error: KubeError,
  context: { identity: string; effect: 'Done' | 'None' | 'Unknown' },
): KubeFailure {
  if (isRetryable(error) || error.code === 401) {
    return {
      kind: 'retry',
      reason: error.reason,
      message: error.message,
      round: 'Unclear',
      effect: context.effect,
      ...(error.retryAfterMs !== undefined && { afterMs: error.retryAfterMs }),
    };
  }
  return {
    kind: 'failed',
    reason: error.code === 403 ? 'Forbidden' : error.reason,
    message: explain(error, context.identity),
    effect: context.effect,
  };
}

/** How whoever acts on another cluster is called. */
export const KUBECONFIG_USER = 'the user of the kubeconfig';

function explain(error: KubeError, identity: string): string {
  if (error.code !== 403) return error.message;
  if (error.message.includes('impersonate')) {
    return `${error.message}; the worker may not act as ${identity}: grant it the verb "impersonate" on this service account`;
  }
  if (identity.startsWith(KUBECONFIG_USER)) return `${error.message}; grant that to ${identity}`;
  return `${error.message}; grant ${identity} what is named here with a Role and a RoleBinding in that namespace (a ClusterRole for objects outside namespaces), or set another spec.serviceAccountName on the plan`;
}
