import { nestedPlans } from '../../../api/plan/order/nested-plans.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import type { DrDeps } from '../types.js';
import { actingOf } from './acting.js';
import type { Authority, Subject } from './authority.js';
import type { Lookups } from './lookups.js';

/** Most plans that are checked; each takes up to four requests. */
const MAX_PLANS = 10;

/**
 * Warns before a run which of the plans inside it its requester may not run: their actions will fail. Only a warning,
 * as a condition may leave the action out, and only as far as names are known now.
 */
export async function nestedWarnings(
  {
    dr,
    authority,
    lookups,
  }: {
    dr: Pick<DrDeps, 'kube' | 'caches' | 'snapshots' | 'settings'>;
    authority: Authority;
    lookups: Pick<Lookups, 'plan'>;
  },
  subject: Subject,
  execution: DRPlanExecution,
  plan: DRPlan,
): Promise<string[]> {
  const { name: outer, namespace = 'default' } = plan.metadata;
  const seen = new Set([outer]);
  const queue = [plan];
  const warnings: string[] = [];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const uses = nestedPlans(next, (at, name) => {
      const workflow = dr.caches.workflows.get(at, name);
      return Array.isArray(workflow?.spec?.actions) ? workflow.spec : undefined;
    });
    for (const { name } of uses) {
      if (seen.has(name) || seen.size > MAX_PLANS) continue;
      seen.add(name);
      const inner = await lookups.plan(namespace, name);
      if (inner === undefined) continue;
      queue.push(inner);
      const acting = await actingOf(dr, { ...execution, spec: { ...execution.spec, planRef: name } }, inner);
      if (acting === undefined) continue;
      const refusal =
        (await authority.onPlan(subject, acting.verbs, { namespace, name })) ??
        (acting.account === undefined
          ? undefined
          : await authority.useAccount(subject, { namespace, name: acting.account }, name));
      if (refusal !== undefined) {
        warnings.push(
          `plan "${next.metadata.name}" runs plan "${name}", and that action will fail: ${refusal.message}`,
        );
      }
    }
  }
  return warnings;
}
