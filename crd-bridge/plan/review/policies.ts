/** Reviews of policies: what they say, and which plans they would stop. */
import { errorsOf } from '../../../api/core/problem.js';
import type { DRPolicy, DRPolicySpec } from '../../../api/plan/schema/policy.js';
import { validatePolicySpec } from '../../../api/plan/validate/index.js';
import { checkPolicy } from '../../../api/plan/validate/policy.js';
import { allowed, responseTo } from '../../core/review.js';
import type { ReviewedObject, ReviewRequest, ReviewResponse } from '../../core/review.js';
import type { DrDeps } from '../types.js';

/** How long plans are looked at, for warnings only. */
const PLANS_BUDGET_MS = 50;

/** Reviews a policy that is created, changed or deleted. Plans that it would stop are warned of, never a reason to refuse. */
export function reviewPolicy(
  dr: Pick<DrDeps, 'caches' | 'policies' | 'settings'>,
  { operation, object, oldObject }: ReviewRequest,
): ReviewResponse {
  if (operation === 'DELETE') return allowed(warnPlans(dr, { before: oldObject }));
  const response = responseTo(validatePolicySpec(object));
  if (!response.allowed) return response;
  return {
    ...response,
    warnings: [...warnPlans(dr, { before: oldObject, after: object }), ...response.warnings],
  };
}

/** Plans that are valid now and would not be with the policy as it is to become. */
function warnPlans(
  { caches, policies, settings }: Pick<DrDeps, 'caches' | 'policies' | 'settings'>,
  { before, after }: { before?: ReviewedObject | undefined; after?: ReviewedObject | undefined },
): string[] {
  const name = (before ?? after)?.metadata.name;
  const others = policies().filter(({ metadata }) => metadata.name !== name);
  const next: DRPolicySpec[] = [
    ...others,
    ...(after === undefined ? [] : [after as unknown as DRPolicy]),
  ].map(({ spec }) => spec);
  const lookup = (namespace: string, workflow: string) => caches.workflows.get(namespace, workflow);
  const until = Date.now() + PLANS_BUDGET_MS;
  const warnings: string[] = [];
  for (const plan of caches.plans.list()) {
    if (Date.now() > until) break;
    if (plan.status?.phase === 'Invalid' || plan.status === undefined) continue;
    const account = plan.spec.serviceAccountName ?? settings.defaultServiceAccount;
    const [first] = errorsOf(checkPolicy(plan, lookup, next, account));
    if (first === undefined) continue;
    warnings.push(
      `makes DRPlan "${plan.metadata.namespace ?? ''}/${plan.metadata.name}" Invalid: ${first.path}: ${first.message}`,
    );
  }
  return warnings;
}
