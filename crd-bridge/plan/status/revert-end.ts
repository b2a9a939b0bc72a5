/** What the end of a revert writes on the revert itself and on its target. */
import type { DRPlanExecutionStatus } from '../../../api/plan/types.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { FinishUpdate } from '../../../workflows/plan/contract-updates.js';
import { setCondition } from '../../core/conditions.js';
import type { ConditionUpdate } from '../../core/conditions.js';

/**
 * The condition `FullyReverted`.
 *
 * @param unconfirmed where something that was removed may still run: it counts as undone, and the message names these
 * places
 */
export function fullyReverted(
  update: Omit<RevertEnd, 'run'>,
  unconfirmed: readonly string[],
): Omit<ConditionUpdate, 'observedGeneration'> {
  const left = update.unreverted ?? [];
  const complete = update.phase === 'Succeeded' && left.length === 0;
  return {
    type: 'FullyReverted',
    status: complete ? 'True' : 'False',
    reason: complete ? 'FullyReverted' : 'NotFullyReverted',
    message: complete
      ? `everything that the execution did was undone${alsoRuns(unconfirmed)}`
      : left.length > 0
        ? `not undone (stage/workflow/action): ${left.join(', ')}`
        : update.message,
  };
}

/** The end of a message about what was undone, where something of it may still run. */
export const alsoRuns = (places: readonly string[]): string =>
  places.length === 0
    ? ''
    : `; what was removed may still run in ${places.map((place) => `"${place}"`).join(', ')} (condition StopUnconfirmed)`;

/** How a revert ended, as far as its target is concerned. */
export interface RevertEnd extends Pick<
  FinishUpdate,
  'phase' | 'message' | 'completionTime' | 'undone' | 'unreverted'
> {
  run: Pick<RunIdentity, 'name' | 'namespace' | 'uid'>;
}

/** What a revert writes into the status of its target. Safe to repeat. */
export function applyRevertToTarget(
  target: DRPlanExecutionStatus,
  update: RevertEnd,
  revert: { apiVersion: string; kind: string; unconfirmed?: readonly string[] },
): DRPlanExecutionStatus {
  const undone = [...new Set([...(target.undone ?? []), ...(update.undone ?? [])])];
  const { observedGeneration } = target;
  const { apiVersion, kind, unconfirmed = [] } = revert;
  return {
    ...target,
    ...(undone.length > 0 && { undone }),
    ...(update.phase === 'Succeeded' && {
      revertedBy: {
        apiVersion,
        kind,
        name: update.run.name,
        namespace: update.run.namespace,
        uid: update.run.uid,
      },
    }),
    conditions: setCondition(
      target.conditions,
      {
        ...fullyReverted(update, unconfirmed),
        ...(observedGeneration !== undefined && { observedGeneration }),
      },
      update.completionTime,
    ),
  };
}
