import type { StageStatus } from '../../api/plan/types.js';
import { isMeantSkip } from './outcome.js';
import type { Verdict } from './run-context.js';

/**
 * The phase of a run whose stages have all ended (S4.8, S4.11, S5.22).
 *
 * @param stops whether a failure of the stage stops the plan
 */
export function judge(
  stages: readonly StageStatus[],
  cancelRequested: boolean,
  stops: (index: number) => boolean,
): Verdict {
  if (cancelRequested && stages.some(isCut)) {
    return { phase: 'Cancelled', reason: 'Cancelled', message: 'cancelled; what was done can be reverted' };
  }
  // The stage that stopped the plan says more than one that was allowed to fail.
  const failed =
    stages.find((stage, index) => stage.phase === 'Failed' && stops(index)) ??
    stages.find((stage) => stage.phase === 'Failed');
  if (failed !== undefined) {
    return {
      phase: 'Failed',
      reason: 'StageFailed',
      message: `stage "${failed.name}" failed: ${failed.message ?? failed.reason ?? ''}`,
    };
  }
  const actions = stages.flatMap((stage) =>
    (stage.workflowExecutions ?? []).flatMap((workflow) => workflow.actionStatuses ?? []),
  );
  const meant = [...stages, ...actions].some((item) => isMeantSkip(item.reason));
  if (!meant && !actions.some((action) => action.phase === 'Succeeded')) {
    return {
      phase: 'Failed',
      reason: 'NothingExecuted',
      message: 'no action was executed and none was meant to be skipped',
    };
  }
  return {
    phase: 'Succeeded',
    reason: 'Completed',
    message: `${stages.length} ${stages.length === 1 ? 'stage' : 'stages'} completed`,
  };
}

/** Whether a cancel cut the stage short: one that comes after the last action changes nothing. */
const isCut = (stage: StageStatus): boolean =>
  stage.reason === 'Cancelled' ||
  (stage.workflowExecutions ?? []).some(
    (workflow) =>
      workflow.reason === 'Cancelled' ||
      (workflow.actionStatuses ?? []).some((action) => action.reason === 'Cancelled'),
  );
