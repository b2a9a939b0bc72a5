import { nestedPlans, nestedPlansOf } from '../order/nested-plans.js';
import type { NestedUse, WorkflowSpecLookup } from '../order/nested-plans.js';
import { MAX_NESTING } from '../order/nesting.js';
import type { Problem } from '../../core/problem.js';
import type { DRPlan, DRPlanSpec } from '../types.js';
import { error, warning } from '../../core/fields.js';

/** Finds a DRPlan. */
export type PlanLookup = (namespace: string, name: string) => DRPlan | undefined;

/** Plans that are looked at for one check: a chain is short, and many plans may share what they nest. */
const MAX_LOOKS = 1000;

/**
 * Checks the plans that a plan runs as parts of itself: there are such plans (`NestedPlanNotFound`), none is Invalid
 * (`NestedPlanInvalid`), none leads back to a plan above it (`PlanCycle`), and they are not nested too deep
 * (`NestingTooDeep`). A name that an execution can still change gives warnings only.
 */
export function checkNesting(
  plan: { namespace: string; name: string; spec: DRPlanSpec },
  lookups: { workflow: WorkflowSpecLookup; plan: PlanLookup },
): Problem[] {
  const { namespace, name: root } = plan;
  const known = new Map<string, NestedUse[]>();
  const usesOf = (name: string): NestedUse[] => {
    let uses = known.get(name);
    if (uses === undefined) {
      const other = name === root ? undefined : lookups.plan(namespace, name);
      if (name === root) uses = nestedPlansOf(plan, lookups.workflow);
      else uses = other === undefined ? [] : nestedPlans(other, lookups.workflow);
      known.set(name, uses);
    }
    return uses;
  };
  let left = MAX_LOOKS;

  /** What is wrong below one use, as the chain that leads there. */
  function walk(above: readonly string[], name: string): { reason: string; message: string } | undefined {
    const chain = [...above, name];
    if (above.includes(name)) {
      const message = `leads back to a plan that it is part of: ${chain.join(' → ')}; a plan cannot be part of itself: take one of these out`;
      return { reason: 'PlanCycle', message };
    }
    if (above.length > MAX_NESTING) {
      const message = `leads to plans that are nested deeper than ${MAX_NESTING} levels: ${chain.join(' → ')}; flatten them`;
      return { reason: 'NestingTooDeep', message };
    }
    // A name that an execution decides is not followed further: it may lead elsewhere.
    const next = new Set(usesOf(name).flatMap((use) => (use.fixed ? [use.name] : [])));
    for (const below of next) {
      left -= 1;
      if (left < 0) return undefined;
      const found = walk(chain, below);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  return usesOf(root).flatMap(({ name, fixed, path }) => {
    const found = walk([root], name) ?? checkOne(lookups.plan(namespace, name), namespace, name);
    if (found === undefined) return [];
    return [(fixed ? error : warning)(path, found.reason, found.message)];
  });
}

function checkOne(
  plan: DRPlan | undefined,
  namespace: string,
  name: string,
): { reason: string; message: string } | undefined {
  if (plan === undefined) {
    const message = `is "${name}", but DRPlan "${namespace}/${name}" does not exist; create it or correct the name`;
    return { reason: 'NestedPlanNotFound', message };
  }
  if (plan.status?.phase !== 'Invalid') return undefined;
  const ready = plan.status.conditions?.find(({ type }) => type === 'Ready');
  const why = ready === undefined ? '' : ` (${ready.reason}: ${ready.message.slice(0, 300)})`;
  return {
    reason: 'NestedPlanInvalid',
    message: `is "${name}", and DRPlan "${namespace}/${name}" is Invalid${why}; correct that plan`,
  };
}
