import { NO_TEXT_HINT } from '../../api/plan/validate/text-maps.js';
import { isRetryable } from '../../kube/error.js';
import type { KubeError } from '../../kube/error.js';
import type { AttemptResult } from './handler.js';

/** A failure of a call to the Kubernetes API, as an attempt's result: retryable or final (S3.6). */
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
  const { effect } = context;
  if (isSchemaFault(error)) {
    return { kind: 'failed', reason: 'Invalid', message: explainSchemaFault(error), effect };
  }
  if (isRetryable(error) || error.code === 401 || error.reason === 'UnknownPath') {
    return {
      kind: 'retry',
      reason: error.reason,
      message: error.message,
      round: 'Unclear',
      effect,
      ...(error.retryAfterMs !== undefined && { afterMs: error.retryAfterMs }),
    };
  }
  return {
    kind: 'failed',
    reason: error.code === 403 ? 'Forbidden' : error.reason,
    message: explain(error, context.identity),
    effect,
  };
}

/** What the API server says of an object that does not fit its kind, with a 400, a 422, or a 500 of no reason. */
const SCHEMA_FAULTS = [
  /strict decoding error/,
  /cannot be handled as a/,
  /the patch does not fit the kind/,
  /failed to create typed patch object/,
  /an item of a list has no/,
];

/**
 * Whether the API server says that an object does not fit its kind: an unknown field, or a value of another type. The same
 * object will never fit, whatever the code.
 */
export const isSchemaFault = ({ code, message }: KubeError): boolean =>
  code === UNSUPPORTED ||
  ([400, 422, 500].includes(code) && SCHEMA_FAULTS.some((pattern) => pattern.test(message)));

/** A strategic merge patch of a kind that does not know it. */
const UNSUPPORTED = 415;

function explainSchemaFault({ code, message }: KubeError): string {
  if (code === UNSUPPORTED) {
    return `${message}; kinds that a CustomResourceDefinition defines know no strategic merge patch: use patchType: merge, or operation Apply`;
  }
  if (/unknown field|field not declared in schema/.test(message)) {
    return `${message}; correct the spelling, or remove the field`;
  }
  return /of type string|expected string/.test(message) ? `${message}; ${NO_TEXT_HINT}` : message;
}

/** What messages call the identity that acts on another cluster. */
export const KUBECONFIG_USER = 'the user of the kubeconfig';

function explain(error: KubeError, identity: string): string {
  if (error.code !== 403) return error.message;
  if (error.message.includes('impersonate')) {
    return `${error.message}; the worker may not act as ${identity}: grant it the verb "impersonate" on this service account`;
  }
  if (identity.startsWith(KUBECONFIG_USER)) return `${error.message}; grant that to ${identity}`;
  return `${error.message}; grant ${identity} what is named here with a Role and a RoleBinding in that namespace (a ClusterRole for objects outside namespaces), or set another spec.serviceAccountName on the plan`;
}
