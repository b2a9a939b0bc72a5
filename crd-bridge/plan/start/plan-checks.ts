/** Whether a plan lets an execution begin: the one wording for admission webhooks and for the start itself. */
import type { Refusal } from '../../../api/core/refusal.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import { findCondition } from '../../core/conditions.js';
import { executedByOf, holds } from '../lock/plan-state.js';
import type { ExecutionIdentity } from '../lock/plan-state.js';

/** The plan's phase has to allow the operation (S5.6). A Revert is allowed in every phase. */
export function checkPlanPhase(
  execution: DRPlanExecution,
  plan: DRPlan,
  identity: ExecutionIdentity,
): Refusal | undefined {
  // A plan whose phase is behind because somebody runs on it is the lock's business.
  if (execution.spec.operationType === 'Revert' || holds(plan.status?.currentExecution, identity))
    return undefined;
  const { phase } = plan.status ?? {};
  const name = plan.metadata.name;
  if (phase === 'Invalid') {
    const why = findCondition(plan.status?.conditions, 'Ready');
    return planInvalid(name, why?.reason ?? 'unknown', why?.message ?? 'see its status');
  }
  if (phase === 'Executed' && execution.spec.rerun !== 'Allowed' && !isForExecuted(execution)) {
    return {
      reason: 'PlanExecuted',
      message: `plan "${name}" was executed by "${executedByOf(plan.status)?.name ?? plan.status?.lastExecutionRef ?? 'another execution'}" and is not reverted; revert that first, set spec.mode: Upgrade or Delete, or set spec.rerun: Allowed to execute it again`,
    };
  }
  return undefined;
}

/** An upgrade, a deletion and a rollback apply to what exists already. */
const isForExecuted = ({ spec }: DRPlanExecution): boolean =>
  spec.mode === 'Upgrade' || spec.mode === 'Delete' || spec.mode === 'Rollback';

/** The plan itself cannot be run. */
export const planInvalid = (plan: string, reason: string, message: string): Refusal => ({
  reason: 'PlanInvalid',
  message: `plan "${plan}" is Invalid (${reason}): ${message}; correct it, then create a new execution`,
});

/** There is no such plan. */
export const planNotFound = (namespace: string | undefined, name: string): Refusal => ({
  reason: 'PlanNotFound',
  message: `there is no DRPlan "${name}" in namespace "${namespace}"; apply the plan first, then create a new execution`,
});

/** Somebody else runs on the plan. */
export const planBusy = (plan: string, why: string): Refusal => ({
  reason: 'PlanBusy',
  message: `plan "${plan}" is in use: ${why}; then create a new execution`,
});

/** The execution to be reverted has left nothing behind. */
export const nothingToUndo = (target: string, phase: string | undefined): Refusal => ({
  reason: 'NothingToUndo',
  message: `execution "${target}" is ${phase} and has done nothing that could be undone; the plan can be executed again`,
});
