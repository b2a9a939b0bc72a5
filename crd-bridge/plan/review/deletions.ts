/** Reviews of deletions: what somebody still needs is not deleted (S5.37). */
import { ANNOTATIONS } from '../../../api/core/group.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import { findCondition } from '../../core/conditions.js';
import { inspectHolder } from '../lock/lock-holder.js';
import { isOpenRevert, openRevertsOf } from '../start/revert-target.js';
import type { DrDeps } from '../types.js';
import { references } from '../kinds/plan-references.js';
import type { PlanKind } from '../kinds/dr-plan.js';
import type { Lookups } from './lookups.js';
import { allowed, refusedBy } from '../../core/review.js';
import type { ReviewedObject, ReviewResponse } from '../../core/review.js';

/** What the reviews need. */
export interface DeletionDeps {
  dr: Pick<DrDeps, 'kube' | 'caches' | 'runs' | 'cluster' | 'temporal' | 'sealer' | 'settings' | 'log'>;
  lookups: Lookups;
}

/** Most plans that a refusal names. */
const NAMED_PLANS = 3;

/** A workflow that plans of any namespace use stays; not when its own namespace is deleted. */
export async function reviewWorkflowDeletion(
  deps: DeletionDeps,
  workflow: ReviewedObject,
): Promise<ReviewResponse> {
  const { name, namespace = '' } = workflow.metadata;
  const uses = (plan: DRPlan): boolean =>
    references(plan).some((ref) => ref.name === name && ref.namespace === namespace);
  const candidates = deps.dr.caches.plans
    .list()
    .filter((plan) => plan.metadata.deletionTimestamp === undefined && uses(plan));
  const users: DRPlan[] = [];
  for (const candidate of candidates) {
    if (users.length === NAMED_PLANS) break;
    const live = await deps.lookups.livePlan(candidate.metadata.namespace ?? '', candidate.metadata.name);
    if (live !== undefined && uses(live)) users.push(live);
  }
  if (users.length === 0 || (await deps.lookups.isTerminating(namespace))) return allowed();
  const named = users.map((plan) => `"${plan.metadata.namespace}/${plan.metadata.name}"`).join(', ');
  const more = candidates.length > NAMED_PLANS ? ` and up to ${candidates.length - NAMED_PLANS} more` : '';
  return refusedBy({
    reason: 'WorkflowInUse',
    message: `DRWorkflow "${namespace}/${name}" is used by DRPlan ${named}${more}; delete these plans or take the workflow out of them first`,
  });
}

/** A plan that somebody runs on, or that is part of another, stays; not when its namespace is deleted. */
export async function reviewPlanDeletion(
  deps: DeletionDeps & { plans: Pick<PlanKind, 'nestedIn'> },
  object: ReviewedObject,
): Promise<ReviewResponse> {
  const plan = object as unknown as DRPlan;
  const nested = await checkNested(deps, object);
  if (nested !== undefined) return nested;
  const holder = plan.status?.currentExecution;
  if (holder === undefined) return allowed();
  const state = await inspectHolder(deps.dr, plan, holder);
  const { name, namespace = '' } = plan.metadata;
  if (state.kind === 'over' || (await deps.lookups.isTerminating(namespace))) return allowed();
  return refusedBy({
    reason: 'PlanInUse',
    message: `DRPlan "${namespace}/${name}" is in use: ${state.why}; then delete the plan`,
  });
}

/**
 * An execution that is being reverted stays: what its undo restores from would go with it. Not when its namespace is
 * deleted.
 */
export async function reviewExecutionDeletion(
  deps: DeletionDeps,
  object: ReviewedObject,
): Promise<ReviewResponse> {
  const { name, namespace = '', annotations, deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined || annotations?.[ANNOTATIONS.forceDelete] === 'true') return allowed();
  const candidates = openRevertsOf(object as unknown as DRPlanExecution, deps.dr.caches.executions.list());
  for (const { metadata } of candidates) {
    const revert = await deps.lookups.liveExecution(namespace, metadata.name);
    if (revert === undefined || !isOpenRevert(revert)) continue;
    if (await deps.lookups.isTerminating(namespace)) return allowed();
    return refusedBy({
      reason: 'ExecutionInUse',
      message: `DRPlanExecution "${namespace}/${name}" is being reverted by execution "${revert.metadata.name}", which needs what it has kept; cancel that one or wait until it has ended, then delete this`,
    });
  }
  return allowed();
}

/** Refuses while other plans run this one; plans that are being deleted themselves no longer need it. */
async function checkNested(
  deps: DeletionDeps & { plans: Pick<PlanKind, 'nestedIn'> },
  { metadata: { name, namespace = '' } }: ReviewedObject,
): Promise<ReviewResponse | undefined> {
  const users: string[] = [];
  for (const candidate of deps.plans.nestedIn({ namespace, name })) {
    if (users.length === NAMED_PLANS) break;
    const live = await deps.lookups.livePlan(namespace, candidate.metadata.name);
    // Plans in a cycle would keep each other, and none of them can be run.
    if (live !== undefined && findCondition(live.status?.conditions, 'Ready')?.reason !== 'PlanCycle')
      users.push(live.metadata.name);
  }
  const still = deps.plans.nestedIn({ namespace, name }).filter((plan) => users.includes(plan.metadata.name));
  if (still.length === 0 || (await deps.lookups.isTerminating(namespace))) return undefined;
  const named = still.map((plan) => `"${plan.metadata.name}"`).join(', ');
  return refusedBy({
    reason: 'PlanInUse',
    message: `DRPlan "${namespace}/${name}" is run by an action of DRPlan ${named}; delete these plans or take the action out of them first`,
  });
}
