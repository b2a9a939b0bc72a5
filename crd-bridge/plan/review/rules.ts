import { shapesIn } from '../../../api/core/shape.js';
import { createOpenApi } from '../../../kube/openapi.js';
import type { PlanKind } from '../kinds/dr-plan.js';
import type { WorkflowKind } from '../kinds/dr-workflow.js';
import type { DrDeps } from '../types.js';
import { reviewPlan, reviewWorkflow } from './definitions.js';
import { reviewExecutionDeletion, reviewPlanDeletion, reviewWorkflowDeletion } from './deletions.js';
import { reviewExecution } from './executions.js';
import { createLookups } from './lookups.js';
import { allowed } from '../../core/review.js';
import type { ReviewRequest, ReviewResponse } from '../../core/review.js';
import type { KindReview } from '../../core/row.js';
import { stamp } from './stamp.js';
import { createAuthority } from './authority.js';
import { reviewPolicy } from './policies.js';

/** What admission asks about DR plans, over the bridge's own caches and checks. */
export function createRules(dr: DrDeps, kinds: { workflows: WorkflowKind; plans: PlanKind }): KindReview {
  const lookups = createLookups(dr);
  const authority = createAuthority(dr.kube, dr.settings.authorization);
  const { kube, caches, settings, log } = dr;
  const openApi = createOpenApi(kube, shapesIn);
  const definitions = { ...kinds, kube, caches, settings, log, lookups, authority, openApi };

  function validate(request: ReviewRequest): Promise<ReviewResponse> | ReviewResponse {
    const { kind, operation, object, oldObject } = request;
    if (kind === 'DRPolicy') return reviewPolicy(dr, request);
    if (operation === 'DELETE') {
      if (oldObject === undefined) return allowed();
      if (kind === 'DRWorkflow') return reviewWorkflowDeletion({ dr, lookups }, oldObject);
      if (kind === 'DRPlan') return reviewPlanDeletion({ dr, lookups, plans: kinds.plans }, oldObject);
      if (kind === 'DRPlanExecution') return reviewExecutionDeletion({ dr, lookups }, oldObject);
      return allowed();
    }
    if (object === undefined) return allowed();
    switch (kind) {
      case 'DRWorkflow':
        return reviewWorkflow(definitions, request, object);
      case 'DRPlan':
        return reviewPlan(definitions, request, object);
      case 'DRPlanExecution':
        return reviewExecution({ dr, plans: kinds.plans, lookups, authority }, request, object);
      default:
        return allowed();
    }
  }

  return { validate, stamp: (request) => stamp({ dr, authority, lookups }, request) };
}
