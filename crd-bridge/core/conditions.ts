import type { Condition } from '../../api/plan/types.js';

/** A condition to set; {@link setCondition} fills in its time. */
export interface ConditionUpdate {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration?: number;
}

const MAX_MESSAGE = 32_000;

/**
 * Sets a condition among others. `lastTransitionTime` moves only when the status changes, and nothing moves when all
 * is as it was (Kubernetes API conventions).
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  update: ConditionUpdate,
  now: string,
): Condition[] {
  const list = conditions ?? [];
  const known = list.find((condition) => condition.type === update.type);
  const message =
    update.message.length > MAX_MESSAGE ? `${update.message.slice(0, MAX_MESSAGE - 1)}…` : update.message;
  const next: Condition = {
    type: update.type,
    status: update.status,
    ...(update.observedGeneration !== undefined && { observedGeneration: update.observedGeneration }),
    lastTransitionTime: known?.status === update.status ? known.lastTransitionTime : now,
    reason: update.reason,
    message,
  };
  return known === undefined
    ? [...list, next]
    : list.map((condition) => (condition === known ? next : condition));
}

/** A condition by its type. */
export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
