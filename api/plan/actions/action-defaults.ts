/** Defaults of actions, filled in once when a run is compiled (in the original: Action, RetryPolicy; S3.1, S3.3). */
import { DEFAULT_RETRY, isDefaultRetry } from './default-retry.js';
import { parseDuration } from '../../core/duration.js';
import { isObject } from '../../core/json.js';
import type { PerCluster, Retry } from '../snapshot/run.js';
import type { Action, ActionType, RetryPolicy, RollbackAction } from '../types.js';
import { descriptorOf, findDescriptor } from './table.js';

/** Longest time of one attempt when nothing is written: 5 minutes. */
export const DEFAULT_TIMEOUT_MS = 300_000;
/**
 * The longest timeout that may be written, and what `0s` (no limit) stands for: 30 days. More is most likely a typing
 * mistake.
 */
export const MAX_TIMEOUT_MS = 30 * 24 * 3_600_000;
/** No wait between two attempts is longer. */
export const MAX_RETRY_INTERVAL_MS = DEFAULT_RETRY.maxIntervalMs;

/** Longest time of one attempt, in milliseconds (default that of the type, mostly 5 minutes; `0s` 30 days). */
export function timeoutOf(action: Pick<Action, 'timeout' | 'type'>): number {
  const written = parseDuration(action.timeout ?? '');
  if (written === 0) return MAX_TIMEOUT_MS;
  return written ?? findDescriptor(action.type)?.timeoutMs ?? DEFAULT_TIMEOUT_MS;
}

/** Factor between two waits: at least 1, default 2. */
export function multiplierOf(policy: RetryPolicy | undefined): number {
  const value = Number(policy?.backoffMultiplier ?? DEFAULT_RETRY.backoffMultiplier);
  return Number.isFinite(value) ? Math.max(1, value) : DEFAULT_RETRY.backoffMultiplier;
}

/**
 * Retry policy with all defaults.
 *
 * On a type with its own backoff, a Job, the policy decides about what failed only when it differs from {3, 5s, 2.0}: the
 * original controller stored that default everywhere, so it says nothing about what the author wanted. `rerunJob` says
 * which it is; API errors are retried either way.
 */
export function retryOf(action: Pick<Action, 'retryPolicy'>, type: ActionType): Retry {
  const policy = action.retryPolicy;
  const retry: Retry = {
    limit: policy?.limit ?? DEFAULT_RETRY.limit,
    intervalMs: parseDuration(policy?.interval ?? '') ?? DEFAULT_RETRY.intervalMs,
    backoffMultiplier: multiplierOf(policy),
    maxIntervalMs: MAX_RETRY_INTERVAL_MS,
  };
  if (descriptorOf(type).hasOwnBackoff !== true) return retry;
  return isDefaultRetry(retry) ? retry : { ...retry, rerunJob: true };
}

/** What an action says of its type: the block of that type. Undefined where it is missing, or the type is not known. */
export function blockOf(action: Action | RollbackAction): unknown {
  const field = findDescriptor(action.type)?.field;
  return field === undefined ? undefined : (action as Record<string, unknown>)[field];
}

/**
 * The operation of an action that writes objects, as written (it may hold placeholders): default Create. Undefined for
 * types without operations.
 */
export function operationOf(action: Action | RollbackAction): string | undefined {
  if (findDescriptor(action.type)?.operations === undefined) return undefined;
  const block = blockOf(action) as { operation?: string } | undefined;
  return block?.operation || 'Create';
}

/** Whether state before the effect is recorded: for any operation but a literal Create (S3.15). */
export function needsCapture(action: Action): boolean {
  const operation = operationOf(action);
  return operation !== undefined && operation !== 'Create';
}

/** Whether an action, or its custom rollback, writes objects under a field manager of its own. */
export const managesFields = (action: Action): boolean =>
  [action.type, rollbackOf(action)?.type].some((type) => findDescriptor(type)?.operations !== undefined);

/** Values of `clusterExecutionMode` (the original). */
export const CLUSTER_EXECUTION_MODES: readonly string[] = ['Global', 'PerCluster'];

/**
 * How an action is carried out in each cluster by itself; undefined when it is carried out once for all. The former needs
 * `clusterExecutionMode: PerCluster` on an action that is waited for, of a type that knows it (Subscription, as in the
 * original). Hooks of one cluster do not wait for those of another, nor stop for their failure.
 */
export function perClusterOf(action: Action): PerCluster | undefined {
  const { clusterExecutionMode: mode, type, waitReady, maxConcurrentClusters: limit } = action;
  if (mode !== 'PerCluster' || findDescriptor(type)?.perCluster !== true || waitReady !== true)
    return undefined;
  const isHook = Boolean(action.hookType) || action.hookCleanup !== undefined;
  return { ...(limit !== undefined && { limit }), ...(isHook && { independent: true }) };
}

/**
 * The custom rollback of an action as an action of its own: without a `type` it has the action's, without a `name` it
 * is named after it, and without a `target` it acts where the action did, if its type can (S5.47).
 */
export function rollbackOf(action: Action): Action | undefined {
  if (!isObject(action.rollback)) return undefined;
  const rollback = action.rollback as RollbackAction;
  const type = rollback.type ?? action.type;
  const target = rollback.target ?? (findDescriptor(type)?.targetable === true ? action.target : undefined);
  return {
    ...rollback,
    name: rollback.name ?? `${action.name}-rollback`,
    type,
    ...(target !== undefined && { target }),
  };
}
