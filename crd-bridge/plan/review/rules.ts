import { shapesIn } from '../../../api/core/shape.js';
import { createOpenApi } from '../../../kube/openapi.js';
import type { PlanKind } from '../kinds/dr-plan.js';
import type { WorkflowKind } from '../kinds/dr-workflow.js';
import type { DrDeps } from '../types.js';
import { PATHS } from '../../webhook/configuration.js';
import { reviewPlan, reviewWorkflow } from './definitions.js';
import { reviewExecutionDeletion, reviewPlanDeletion, reviewWorkflowDeletion } from './deletions.js';
import { reviewExecution } from './executions.js';
import { createLookups } from './lookups.js';
import { allowed } from '../../webhook/review.js';
import type { ReviewRequest, Rules, Verdict } from '../../webhook/review.js';
import { stamp } from './stamp.js';
import { createAuthority } from './authority.js';

/** The rules of all kinds, over the bridge's own caches and checks. */
export function createRules(dr: DrDeps, kinds: { workflows: WorkflowKind; plans: PlanKind }): Rules {
  const lookups = createLookups(dr);
  const authority = createAuthority(dr.kube, dr.settings.authorization);
  const { kube, caches, settings, log } = dr;
  const openApi = createOpenApi(kube, shapesIn);
  const definitions = { ...kinds, kube, caches, settings, log, lookups, authority, openApi };

  function validate(request: ReviewRequest): Promise<Verdict> | Verdict {
    const { kind, operation, object, oldObject } = request;
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

  return (path, request) => {
    if (path === PATHS.validate) return validate(request);
    return path === PATHS.stamp ? stamp({ dr, authority, lookups }, request) : undefined;
  };
}
