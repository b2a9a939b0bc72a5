import type { Refusal } from '../../../api/core/refusal.js';
import { accountUser } from '../../../api/plan/authority.js';
import { ANNOTATIONS } from '../../../api/core/group.js';
import type { DRPlanExecution, DRPlanExecutionSpec } from '../../../api/plan/types.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import { findPlan } from '../start/find-plan.js';
import type { DrDeps } from '../types.js';
import { actingOf } from '../review/acting.js';
import type { Authority } from '../review/authority.js';
import { readRequester } from '../review/requester.js';

/** What the question needs. */
export interface PermissionDeps extends Pick<
  DrDeps,
  'kube' | 'caches' | 'snapshots' | 'settings' | 'isAdmitted' | 'events'
> {
  authority: Authority;
}

/** What is known of the person a nested execution is made for. */
export interface Permission {
  /** Stamps that admission would set, had the requester made the execution. */
  stamps: Record<string, string>;
}

/**
 * Whether the requester of a run may also run a plan that is part of it: checked as if they had made the nested
 * execution themselves (S5.58), since the bridge, which does make it, may do everything.
 *
 * Nothing is checked where admission stamps nobody, nor for the undo of what a run itself has done: whoever may start a
 * run may have it take back its own work.
 */
export async function mayRun(
  deps: PermissionDeps,
  run: RunIdentity,
  parent: DRPlanExecution,
  spec: DRPlanExecutionSpec,
): Promise<Permission | Refusal> {
  const { authority, settings } = deps;
  const { annotations } = parent.metadata;
  const requester = readRequester(annotations?.[ANNOTATIONS.requester]);
  const isVerified = settings.answers.verified && deps.isAdmitted(run.namespace);
  if (authority.mode === 'Off' || !isVerified || requester === undefined) return { stamps: {} };
  const stamps = { [ANNOTATIONS.requester]: annotations?.[ANNOTATIONS.requester] ?? '' };
  const plan = await findPlan(deps, run.namespace, spec.planRef);
  const acting = plan && (await actingOf(deps, { metadata: { name: '' }, spec }, plan));
  // Its own start reports better what is missing.
  if (acting === undefined) return { stamps };
  const permitted = {
    stamps: { ...stamps, [ANNOTATIONS.authorizedAs]: accountUser(run.namespace, acting.account) },
  };
  const isOwnUndo = spec.operationType === 'Revert' && run.operation !== 'Revert';
  if (isOwnUndo) return permitted;
  const refusal =
    (await authority.onPlan(requester, acting.verbs, { namespace: run.namespace, name: spec.planRef })) ??
    (acting.account === undefined
      ? undefined
      : await authority.useAccount(
          requester,
          { namespace: run.namespace, name: acting.account },
          spec.planRef,
        ));
  if (refusal === undefined) return permitted;
  if (authority.mode === 'Enforce') return refusal;
  deps.events.record(parent, {
    type: 'Warning',
    reason: refusal.reason,
    action: spec.operationType,
    message: `would be refused with --authorization=Enforce: ${refusal.message}`,
    key: `${spec.operationType} ${spec.planRef}`,
  });
  return permitted;
}
