/**
 * What executions do to the status of their plan: take it, end on it, free it. Pure, so that a write can be computed
 * again after a conflict.
 */
import { API_VERSION } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanStatus, ExecutionRecord, ObjectReference } from '../../../api/plan/types.js';
import { findCondition, setCondition } from '../../core/conditions.js';
import type { TemporalIdentity } from '../../core/temporal-identity.js';
import { recordRow, rowOf } from './history.js';

/** Condition that records whether a plan is executed, whatever its phase is in the meantime. */
export const EXECUTED_CONDITION = 'Executed';

/** An execution, as far as its plan is concerned. */
export interface ExecutionIdentity {
  name: string;
  namespace: string;
  uid: string;
  operation: 'Execute' | 'Revert';
  /** Execute: its mode. */
  mode?: string;
  /** Revert: the execution that is undone. Its uid is known once it was looked up. */
  target?: { name: string; uid?: string };
}

/** Whether the reference is to this execution. One without a uid was written by the original controller. */
export function holds(
  holder: ObjectReference | undefined,
  execution: { name: string; uid: string },
): boolean {
  if (holder === undefined) return false;
  return holder.uid === undefined ? holder.name === execution.name : holder.uid === execution.uid;
}

/**
 * Gives the plan to an execution: the lock, and a history row that says Running. The caller writes it under the
 * resourceVersion it was computed from: only that makes it a lock.
 *
 * @param temporal where the run is about to be started: the row keeps it for when the execution is gone
 * @returns undefined when somebody else holds it
 */
export function takeLock(
  status: DRPlanStatus | undefined,
  execution: ExecutionIdentity,
  now: string,
  temporal?: TemporalIdentity,
): DRPlanStatus | undefined {
  const holder = status?.currentExecution;
  if (holder !== undefined && !holds(holder, execution)) return undefined;
  return {
    ...status,
    currentExecution: {
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      name: execution.name,
      namespace: execution.namespace,
      uid: execution.uid,
    },
    executionHistory: recordRow(status?.executionHistory, {
      name: execution.name,
      namespace: execution.namespace,
      uid: execution.uid,
      operationType: execution.operation,
      ...(execution.mode !== undefined && { mode: execution.mode }),
      phase: 'Running',
      ...(execution.target?.uid !== undefined && { revertOf: execution.target.uid }),
      startTime: rowOf(status?.executionHistory, execution.uid)?.startTime ?? now,
      ...(temporal !== undefined && {
        temporal: {
          ...(temporal.clusterId !== undefined && { clusterId: temporal.clusterId }),
          ...(temporal.namespaceId !== undefined && { namespaceId: temporal.namespaceId }),
        },
      }),
    }),
  };
}

/** How an execution ended. */
export interface ExecutionEnd {
  phase: 'Succeeded' | 'Failed' | 'Cancelled';
  startTime?: string;
  completionTime: string;
}

/**
 * Ends an execution on its plan: history row, phase, last execution, lock. Guarded by uid: an execution that does not
 * hold the plan only closes a row of its own that is still open, so a late or repeated end never changes what a newer
 * execution has written (S5.24).
 */
export function endOnPlan(
  status: DRPlanStatus | undefined,
  execution: ExecutionIdentity,
  end: ExecutionEnd,
): DRPlanStatus {
  const row = rowOf(status?.executionHistory, execution.uid);
  const isHolder = holds(status?.currentExecution, execution);
  const isOpen = row !== undefined && !isTerminalExecution(row.phase);
  if (!isHolder && !isOpen) return { ...status };
  const next: DRPlanStatus = {
    ...status,
    executionHistory: recordRow(status?.executionHistory, {
      name: execution.name,
      namespace: execution.namespace,
      uid: execution.uid,
      operationType: execution.operation,
      ...(execution.mode !== undefined && { mode: execution.mode }),
      phase: end.phase,
      ...(execution.target?.uid !== undefined && { revertOf: execution.target.uid }),
      ...(end.startTime !== undefined && { startTime: end.startTime }),
      completionTime: end.completionTime,
    }),
  };
  if (!isHolder) return next;
  delete next.currentExecution;
  if (end.phase !== 'Succeeded') return next;
  next.lastExecutionRef = execution.name;
  next.lastExecutionTime = end.completionTime;
  const restored = restoredBy(next.executionHistory, execution);
  if (execution.operation === 'Execute' && execution.mode === 'Delete') {
    // What the plan has brought about is gone: it can be executed again.
    delete next.executedBy;
  } else if (execution.operation === 'Execute') {
    const { name, namespace, uid } = execution;
    next.executedBy = { apiVersion: API_VERSION, kind: 'DRPlanExecution', name, namespace, uid };
  } else if (restored !== undefined) {
    next.executedBy = { apiVersion: API_VERSION, kind: 'DRPlanExecution', ...restored };
  } else if (!isInEffect(status, execution.target?.name, execution.target?.uid ?? row?.revertOf)) {
    // An earlier or a failed run was undone: what the newest successful one did is still there.
    return next;
  } else {
    delete next.executedBy;
  }
  const executed = next.executedBy !== undefined;
  const [reason, what] = describe(execution, restored !== undefined);
  next.conditions = setCondition(
    next.conditions,
    {
      type: EXECUTED_CONDITION,
      status: executed ? 'True' : 'False',
      reason,
      message: `${what} by DRPlanExecution "${execution.name}"`,
    },
    end.completionTime,
  );
  if (next.phase !== 'Invalid') next.phase = executed ? 'Executed' : 'Ready';
  return next;
}

function describe({ operation, mode }: ExecutionIdentity, restored: boolean): [string, string] {
  if (operation === 'Execute') return mode === 'Delete' ? ['Deleted', 'deleted'] : ['Executed', 'executed'];
  return restored ? ['Restored', 'deletion reverted'] : ['Reverted', 'reverted'];
}

/** Revert of a run in mode Delete: the run whose effects exist again. */
function restoredBy(
  history: readonly ExecutionRecord[] = [],
  { operation, uid, target }: ExecutionIdentity,
): { name: string; namespace?: string; uid?: string } | undefined {
  if (operation !== 'Revert') return undefined;
  const undone = target?.uid ?? rowOf(history, uid)?.revertOf;
  if (undone === undefined || rowOf(history, undone)?.mode !== 'Delete') return undefined;
  const reverted = new Set(
    history.flatMap(({ phase, revertOf }) => (phase === 'Succeeded' && revertOf ? [revertOf] : [])),
  );
  const row = history.find(
    (candidate) =>
      candidate.operationType === 'Execute' &&
      candidate.phase === 'Succeeded' &&
      candidate.mode !== 'Delete' &&
      !reverted.has(candidate.uid ?? ''),
  );
  if (row === undefined) return undefined;
  const { name, namespace, uid: executed } = row;
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(executed !== undefined && { uid: executed }),
  };
}

/**
 * Removes from the plan an execution that another controller has left: the lock, and its row, which is still open.
 * Nothing else: how the execution ended is not known.
 *
 * @returns undefined when there is nothing to remove
 */
export function abandonOnPlan(
  status: DRPlanStatus,
  execution: ExecutionIdentity,
  end: ExecutionEnd,
): DRPlanStatus | undefined {
  const isHolder = holds(status.currentExecution, execution);
  const rows = status.executionHistory ?? [];
  const open = rows.find(
    (row) =>
      !isTerminalExecution(row.phase) &&
      (row.uid === undefined ? row.name === execution.name : row.uid === execution.uid),
  );
  if (!isHolder && open === undefined) return undefined;
  const { currentExecution, ...rest } = status;
  return {
    ...rest,
    ...(!isHolder && currentExecution !== undefined && { currentExecution }),
    ...(open !== undefined && {
      executionHistory: rows.map((row) =>
        row === open
          ? { ...row, uid: execution.uid, phase: end.phase, completionTime: end.completionTime }
          : row,
      ),
    }),
  };
}

/** Whether this is the run that made the plan Executed, or no such run is known. */
function isInEffect(
  status: DRPlanStatus | undefined,
  name: string | undefined,
  uid: string | undefined,
): boolean {
  const executedBy = executedByOf(status);
  if (executedBy === undefined) return true;
  return executedBy.uid === undefined || uid === undefined
    ? executedBy.name === name
    : executedBy.uid === uid;
}

/** The newest Execute that succeeded and is not reverted; in statuses without the field, as far as history shows. */
export function executedByOf(
  status: DRPlanStatus | undefined,
): { name: string; uid?: string | undefined } | undefined {
  if (!wasExecuted(status)) return undefined;
  return (
    status?.executedBy ??
    status?.executionHistory?.find((row) => row.operationType === 'Execute' && row.phase === 'Succeeded')
  );
}

/** Frees a plan whose holder is known to be over but has not written its end. */
export function freeLock(status: DRPlanStatus, uid: string | undefined): DRPlanStatus {
  if (status.currentExecution === undefined || status.currentExecution.uid !== uid) return status;
  const { currentExecution: _, ...next } = status;
  return next;
}

/**
 * Whether the last successful operation was an Execute. Survives Invalid and edits: kept as a condition, and read from
 * the phase or the history in statuses that the original controller wrote.
 */
export function wasExecuted(status: DRPlanStatus | undefined): boolean {
  const condition = findCondition(status?.conditions, EXECUTED_CONDITION);
  if (condition !== undefined) return condition.status === 'True';
  if (status?.phase === 'Executed') return true;
  if (status?.phase === 'Ready') return false;
  const last = status?.executionHistory?.find((row) => row.phase === 'Succeeded');
  return last?.operationType === 'Execute';
}
