import { verbsFor } from '../../../api/plan/authority.js';
import type { PlanVerb } from '../../../api/plan/authority.js';
import { API_VERSION } from '../../../api/core/group.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import { accountOf } from '../start/account.js';
import { Refused } from '../start/refused.js';
import type { CachedExecution, DrDeps } from '../types.js';

/** What an execution asks to be allowed. */
export interface Acting {
  /** One of these is needed. */
  verbs: PlanVerb[];
  /** Account in the plan's namespace; undefined = the controller. */
  account: string | undefined;
}

/**
 * What the requester of an execution must be allowed. A revert acts as the account of its target.
 *
 * @returns undefined where nothing can be run; the start explains that better
 */
export async function actingOf(
  { kube, snapshots, settings }: Pick<DrDeps, 'kube' | 'snapshots' | 'settings'>,
  execution: DRPlanExecution,
  plan: DRPlan,
): Promise<Acting | undefined> {
  const { operationType, revertExecutionRef = '' } = execution.spec;
  const { name, namespace = 'default' } = plan.metadata;
  let target: CachedExecution | undefined;
  let undone: DRPlan['spec'] | undefined;
  if (operationType === 'Revert') {
    if (revertExecutionRef === '') return undefined;
    const key = { apiVersion: API_VERSION, kind: 'DRPlanExecution', namespace, name: revertExecutionRef };
    target = await kube.get<CachedExecution>(key);
    const ref = target?.status?.snapshotRef;
    if (ref === undefined) return undefined;
    const snapshot = await snapshots.read({ ...ref, namespace }).catch((error: unknown) => {
      // The API server did not answer: then nobody can decide, and nothing is let in.
      if (error instanceof Error && error.name === 'KubeError') throw error;
      return undefined;
    });
    if (snapshot === undefined) return undefined;
    undone = snapshot.plan.spec;
  }
  try {
    return {
      verbs: verbsFor(execution.spec, target?.spec.runMode),
      account: accountOf({ name, spec: plan.spec }, settings, undone),
    };
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}
