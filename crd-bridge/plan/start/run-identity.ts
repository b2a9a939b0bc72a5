import { ANNOTATIONS } from '../../../api/core/group.js';
import { readNesting } from '../../../api/plan/order/nesting.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import type { RunIdentity, SnapshotRef } from '../../../workflows/plan/contract.js';
import type { ExecutionIdentity } from '../lock/plan-state.js';
import type { CachedExecution, DrDeps } from '../types.js';
import type { Work } from './work.js';

/** Who a run is that is about to start; its seal comes with its input. */
export function runIdentity(
  { cluster, isAdmitted, settings }: Pick<DrDeps, 'cluster' | 'isAdmitted' | 'settings'>,
  {
    execution,
    plan,
    identity,
    account,
    work,
    snapshot,
  }: {
    execution: CachedExecution;
    plan: DRPlan;
    identity: ExecutionIdentity;
    account: string | undefined;
    work: Work;
    snapshot: SnapshotRef;
  },
): RunIdentity {
  const { annotations } = execution.metadata;
  const { namespace, name, uid, operation } = identity;
  // Without admission, the annotation may be anybody's claim.
  const requester =
    settings.answers.verified && isAdmitted(namespace) ? annotations?.[ANNOTATIONS.requestedBy] : undefined;
  const nesting = readNesting(annotations?.[ANNOTATIONS.nestedIn]);
  return {
    cluster,
    namespace,
    name,
    uid,
    plan: {
      name: plan.metadata.name,
      namespace: plan.metadata.namespace ?? namespace,
      uid: plan.metadata.uid ?? '',
    },
    operation,
    ...modeOf(execution),
    runMode: execution.spec.runMode ?? 'Planned',
    ...(requester !== undefined && { requestedBy: requester }),
    ...(account !== undefined && { serviceAccountName: account }),
    ...(work.target !== undefined && { target: work.target }),
    ...(nesting !== undefined && { nesting }),
    snapshot,
  };
}

/** A Revert rolls back, whatever its spec says. */
function modeOf({ spec }: DRPlanExecution): Pick<RunIdentity, 'mode'> {
  if (spec.operationType === 'Revert') return { mode: 'Rollback' };
  return spec.mode === undefined ? {} : { mode: spec.mode };
}
