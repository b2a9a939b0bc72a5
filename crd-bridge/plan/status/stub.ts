/** What the cache keeps of executions: all of one that goes on, a few fields of one that has ended. */
import { hasEffects } from '../../../api/plan/undo/effects.js';
import { ANNOTATIONS, FINALIZERS } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecution, DRPlanExecutionStatus } from '../../../api/plan/types.js';
import type { ManagedFields } from '../../../kube/object.js';
import { findCondition } from '../../core/conditions.js';
import { trackingKey } from '../start/checks.js';
import { STOP_UNCONFIRMED } from './stop-unconfirmed.js';
import type { CachedExecution, KeptFor } from '../types.js';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const KEPT_ANNOTATIONS: ReadonlySet<string> = new Set([
  ANNOTATIONS.nestedIn,
  ANNOTATIONS.forceDelete,
  ANNOTATIONS.heldFor,
]);
/** Shared by thousands of executions. */
const OWN_FINALIZER = [FINALIZERS.execution];

/**
 * Keeps all of an execution while it goes on, and a stub once it has ended, so that memory hardly grows with ended
 * executions. What a stub lacks is not known to be absent, so nothing is written from it.
 */
export function trimExecution(execution: CachedExecution): CachedExecution {
  const { managedFields: _, ...metadata } = execution.metadata;
  const { apiVersion, kind, spec, status } = execution;
  if (status === undefined || !isTerminalExecution(status.phase)) return { ...execution, metadata };
  const kept = keptFor(execution, status);
  return {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    metadata: stubMetadata(metadata),
    spec: stubSpec(spec),
    status: stubStatus(status),
    stub: {
      hasEffects: hasEffects(status.stageStatuses, status.undone),
      ...((status.undone?.length ?? 0) > 0 && { isTouched: true as const }),
      ...(kept !== undefined && { kept }),
    },
  };
}

function stubMetadata(metadata: DRPlanExecution['metadata']): DRPlanExecution['metadata'] {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { deletionTimestamp, finalizers, ownerReferences } = metadata;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) =>
    KEPT_ANNOTATIONS.has(name),
  );
  const isOwnAlone = finalizers?.length === 1 && finalizers[0] === FINALIZERS.execution;
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(finalizers !== undefined && { finalizers: isOwnAlone ? OWN_FINALIZER : finalizers }),
    ...(ownerReferences !== undefined && { ownerReferences }),
    ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
  };
}

function stubSpec(spec: DRPlanExecution['spec']): DRPlanExecution['spec'] {
  const { planRef, operationType, revertExecutionRef, mode, ttlSecondsAfterFinished } = spec;
  return {
    planRef,
    operationType,
    ...(revertExecutionRef !== undefined && { revertExecutionRef }),
    ...(mode !== undefined && { mode }),
    ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }),
  };
}

function stubStatus({
  phase,
  startTime,
  completionTime,
  revertedBy,
}: DRPlanExecutionStatus): DRPlanExecutionStatus {
  return {
    ...(phase !== undefined && { phase }),
    ...(startTime !== undefined && { startTime }),
    ...(completionTime !== undefined && { completionTime }),
    ...(revertedBy !== undefined && { revertedBy }),
  };
}

function keptFor({ metadata }: CachedExecution, status: DRPlanExecutionStatus): KeptFor | undefined {
  if (findCondition(status.conditions, 'Finished')?.status !== 'True') return 'Foreign';
  if (findCondition(status.conditions, STOP_UNCONFIRMED)?.status === 'True') return 'StopUnconfirmed';
  const managers = (metadata.managedFields ?? []) as ManagedFields[];
  const isApplied =
    metadata.annotations?.[LAST_APPLIED] !== undefined ||
    managers.some(({ operation, subresource }) => operation === 'Apply' && (subresource ?? '') === '');
  return isApplied || trackingKey(metadata) !== undefined ? 'Declared' : undefined;
}
