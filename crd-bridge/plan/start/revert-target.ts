/** Which execution a Revert may undo (S5.45). */
import { FINALIZERS } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { Refusal } from '../../../api/core/refusal.js';
import type { DRPlanExecution, ExecutionRecord } from '../../../api/plan/types.js';
import type { CachedExecution } from '../types.js';

/** Rules that need nothing but the objects. The caller has to find out what is left to undo. */
export function checkTarget(
  revert: DRPlanExecution,
  target: DRPlanExecution | undefined,
): Refusal | undefined {
  const name = revert.spec.revertExecutionRef;
  if (name === undefined || name === '') {
    return {
      reason: 'InvalidSpec',
      message: 'spec.revertExecutionRef is empty; name the execution to undo',
    };
  }
  if (target === undefined) {
    return {
      reason: 'TargetNotFound',
      message: `there is no DRPlanExecution "${name}" in namespace "${revert.metadata.namespace}"; a revert needs the execution that it undoes, so name one that exists`,
    };
  }
  const { spec, status } = target;
  if (spec.planRef !== revert.spec.planRef) {
    return {
      reason: 'TargetOfAnotherPlan',
      message: `execution "${name}" ran plan "${spec.planRef}", not "${revert.spec.planRef}"; set spec.planRef to its plan`,
    };
  }
  if (spec.operationType !== 'Execute') {
    return {
      reason: 'TargetNotAnExecute',
      message: `execution "${name}" is a ${spec.operationType}; only an Execute can be reverted (to redo what it undid, create a new Execute)`,
    };
  }
  if (!isTerminalExecution(status?.phase)) {
    return {
      reason: 'TargetNotFinished',
      message: `execution "${name}" is ${status?.phase ?? 'Pending'}; cancel it or wait until it has ended`,
    };
  }
  if (status?.revertedBy !== undefined) {
    return {
      reason: 'AlreadyReverted',
      message: `execution "${name}" was reverted by "${status.revertedBy.name}" already`,
    };
  }
  if (status?.snapshotRef === undefined) {
    return {
      reason: 'NoSnapshot',
      message: `execution "${name}" kept no snapshot of what it ran (another controller ran it, or it never started), so it cannot be undone automatically`,
    };
  }
  return undefined;
}

/** A target that is being deleted takes along what was kept for its undo. */
export function checkStays({ metadata }: DRPlanExecution): Refusal | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  return {
    reason: 'TargetBeingDeleted',
    message: `execution "${metadata.name}" is being deleted, and what was kept for its undo goes with it; undo by hand what is left of it`,
  };
}

/** Reverts of an execution that have not ended: they need what it keeps, prior objects above all. */
export const openRevertsOf = (
  { metadata: { name, namespace }, spec: { planRef } }: DRPlanExecution,
  executions: readonly CachedExecution[],
): CachedExecution[] =>
  executions.filter(
    (other) =>
      isOpenRevert(other) &&
      other.spec.revertExecutionRef === name &&
      other.metadata.namespace === namespace &&
      other.spec.planRef === planRef,
  );

/** Whether a revert may still do something; one that was let go during its deletion no longer counts. */
export const isOpenRevert = ({ spec, status, metadata }: DRPlanExecution): boolean =>
  spec.operationType === 'Revert' &&
  !isTerminalExecution(status?.phase) &&
  (metadata.deletionTimestamp === undefined || metadata.finalizers?.includes(FINALIZERS.execution) === true);

/** A revert out of order would undo what a newer run built upon. */
export function checkNewest(
  revert: DRPlanExecution,
  target: DRPlanExecution,
  executions: readonly CachedExecution[],
  history: readonly ExecutionRecord[] = [],
): Refusal | undefined {
  if (revert.spec.force === true) return undefined;
  const since = startOf(target);
  const known = new Set(executions.map(({ metadata }) => metadata.uid));
  const present = executions
    .filter(
      (other) =>
        other.metadata.uid !== target.metadata.uid &&
        other.metadata.namespace === target.metadata.namespace &&
        other.spec.planRef === target.spec.planRef &&
        other.spec.operationType === 'Execute' &&
        isTerminalExecution(other.status?.phase) &&
        other.status?.revertedBy === undefined &&
        (other.stub?.hasEffects ?? false),
    )
    .map((other) => ({ name: other.metadata.name, at: startOf(other), why: PRESENT }));
  const deleted = history
    .filter(
      ({ uid, operationType, phase }) =>
        uid !== undefined &&
        uid !== target.metadata.uid &&
        !known.has(uid) &&
        operationType === 'Execute' &&
        phase === 'Succeeded' &&
        !history.some((row) => row.revertOf === uid && row.phase === 'Succeeded'),
    )
    .map(({ name, startTime }) => ({ name, at: Date.parse(startTime ?? ''), why: DELETED }));
  // The newest of them is the one to begin with.
  const [newest] = [...present, ...deleted].filter(({ at }) => at > since).sort((a, b) => b.at - a.at);
  return newest && notNewest(newest.name, newest.why);
}

const PRESENT = 'ran later and is not reverted';
const DELETED =
  'ran later, was not reverted, and its record is deleted, so that it cannot be reverted any more';

const notNewest = (name: string, why: string): Refusal => ({
  reason: 'NotNewest',
  message: `execution "${name}" of the same plan ${why}; revert it first where that is possible, or set spec.force: true`,
});

const startOf = ({ status, metadata }: DRPlanExecution): number =>
  Date.parse(status?.startTime ?? metadata.creationTimestamp ?? '');
