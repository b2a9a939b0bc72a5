/** Defaults of actions, filled in once when a run is compiled (in the original: Action, RetryPolicy; S3.1, S3.3). */
import { DEFAULT_RETRY, isDefaultRetry } from './default-retry.js';
import { parseDuration } from '../../core/duration.js';
import { isObject } from '../../core/json.js';
import type { PerCluster, Retry } from '../snapshot/run.js';
import { BLOCK_BY_TYPE } from '../schema/actions/action.js';
import { OPERATIONS } from '../schema/actions/operations.js';
import type { Action, ActionType, RetryPolicy, RollbackAction } from '../types.js';

/** Longest time of one attempt when nothing is written: 5 minutes. */
export const DEFAULT_TIMEOUT_MS = 300_000;
/** The same for a Notify, 15 seconds: a failover does not wait for a chat server. */
export const NOTIFY_TIMEOUT_MS = 15_000;
/**
 * The longest timeout that may be written, and what `0s` (no limit) stands for: 30 days. More is most likely a typing
 * mistake.
 */
export const MAX_TIMEOUT_MS = 30 * 24 * 3_600_000;
/** No wait between two attempts is longer. */
export const MAX_RETRY_INTERVAL_MS = DEFAULT_RETRY.maxIntervalMs;

/** Longest time of one attempt, in milliseconds (default 5 minutes; Notify 15 seconds; `0s` 30 days). */
export function timeoutOf(action: Pick<Action, 'timeout' | 'type'>): number {
  const written = parseDuration(action.timeout ?? '');
  if (written === 0) return MAX_TIMEOUT_MS;
  return written ?? (action.type === 'Notify' ? NOTIFY_TIMEOUT_MS : DEFAULT_TIMEOUT_MS);
}

/** Factor between two waits: at least 1, default 2. */
export function multiplierOf(policy: RetryPolicy | undefined): number {
  const value = Number(policy?.backoffMultiplier ?? DEFAULT_RETRY.backoffMultiplier);
  return Number.isFinite(value) ? Math.max(1, value) : DEFAULT_RETRY.backoffMultiplier;
}

/**
 * Retry policy with all defaults.
 *
 * On a Job the policy decides about failed Jobs only when it differs from {3, 5s, 2.0}: the original controller stored
 * that default everywhere, so it says nothing about what the author wanted, and a Job has its own backoff. `rerunJob`
 * says which it is; API errors are retried either way.
 */
export function retryOf(action: Pick<Action, 'retryPolicy'>, type: ActionType): Retry {
  const policy = action.retryPolicy;
  const retry: Retry = {
    limit: policy?.limit ?? DEFAULT_RETRY.limit,
    intervalMs: parseDuration(policy?.interval ?? '') ?? DEFAULT_RETRY.intervalMs,
    backoffMultiplier: multiplierOf(policy),
    maxIntervalMs: MAX_RETRY_INTERVAL_MS,
  };
  if (type !== 'Job') return retry;
  return isDefaultRetry(retry) ? retry : { ...retry, rerunJob: true };
}

/**
 * The operation of an action that writes objects, as written (it may hold placeholders): default Create. Undefined for
 * types without operations.
 */
export function operationOf(action: Pick<Action, 'type' | BlockName> | RollbackAction): string | undefined {
  switch (action.type) {
    case 'Localization':
      return action.localization?.operation || 'Create';
    case 'Globalization':
      return action.globalization?.operation || 'Create';
    case 'HelmChart':
      return action.helmChart?.operation || 'Create';
    case 'Subscription':
      return action.subscription?.operation || 'Create';
    case 'KubernetesResource':
      return action.resource?.operation || 'Create';
    default:
      return undefined;
  }
}

/** Whether state before the effect is recorded: for any operation but a literal Create (S3.15). */
export function needsCapture(action: Action): boolean {
  const operation = operationOf(action);
  return operation !== undefined && operation !== 'Create';
}

type BlockName = (typeof BLOCK_BY_TYPE)[ActionType];

/** Operations of the types that have some. */
export const OPERATIONS_BY_TYPE: Partial<Record<ActionType, readonly string[]>> = OPERATIONS;

/** Whether an action, or its custom rollback, writes objects under a field manager of its own. */
export const managesFields = (action: Action): boolean =>
  Object.hasOwn(OPERATIONS_BY_TYPE, action.type) ||
  Object.hasOwn(OPERATIONS_BY_TYPE, rollbackOf(action)?.type ?? '');

/** Values of `clusterExecutionMode` (the original). */
export const CLUSTER_EXECUTION_MODES: readonly string[] = ['Global', 'PerCluster'];

/**
 * How an action is carried out in each cluster by itself; undefined when it is carried out once for all: that needs
 * `clusterExecutionMode: PerCluster` on a Subscription that is waited for (the original). Hooks of one cluster do not
 * wait for those of another, nor stop for their failure.
 */
export function perClusterOf(action: Action): PerCluster | undefined {
  const { clusterExecutionMode: mode, type, waitReady, maxConcurrentClusters: limit } = action;
  if (mode !== 'PerCluster' || type !== 'Subscription' || waitReady !== true) return undefined;
  const isHook = Boolean(action.hookType) || action.hookCleanup !== undefined;
  return { ...(limit !== undefined && { limit }), ...(isHook && { independent: true }) };
}

/** Types that can act on another cluster (S3.54). */
export const TARGETABLE_TYPES: readonly ActionType[] = ['Job', 'KubernetesResource', 'Wait'];

/** Types that make objects, which `hookCleanup` can delete. */
export const CREATING_TYPES: readonly string[] = ['Job', ...Object.keys(OPERATIONS_BY_TYPE)];

/** Whether actions of a type can act on another cluster. */
export const isTargetable = (type: string): boolean => (TARGETABLE_TYPES as readonly string[]).includes(type);

/** Whether a text is the name of an action type that a run can execute. */
export function isActionType(type: unknown): type is ActionType {
  return typeof type === 'string' && Object.hasOwn(BLOCK_BY_TYPE, type);
}

/**
 * The custom rollback of an action as an action of its own: without a `type` it has the action's, without a `name` it
 * is named after it, and without a `target` it acts where the action did, if its type can (S5.47).
 */
export function rollbackOf(action: Action): Action | undefined {
  if (!isObject(action.rollback)) return undefined;
  const rollback = action.rollback as RollbackAction;
  const type = rollback.type ?? action.type;
  const target = rollback.target ?? (isTargetable(type) ? action.target : undefined);
  return {
    ...rollback,
    name: rollback.name ?? `${action.name}-rollback`,
    type,
    ...(target !== undefined && { target }),
  };
}
