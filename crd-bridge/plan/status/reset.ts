import { isTerminalItem } from '../../../api/core/phase.js';
import { pendingAgain, summarize } from '../../../api/plan/progress.js';
import type { DRPlanExecutionStatus, StageStatus } from '../../../api/plan/types.js';
import type { RunProgress } from '../../../workflows/plan/contract.js';

/**
 * Status of an execution whose run somebody has reset: it follows the new run, which goes on from an earlier point and
 * counts its updates from there. A stage that the new run does not show as ended has not ended, whatever the old run
 * had done.
 *
 * @param progress what the new run reports of itself
 */
export function followReset(
  status: DRPlanExecutionStatus,
  runId: string,
  progress: Pick<RunProgress, 'stages'>,
): DRPlanExecutionStatus {
  if (status.temporal === undefined) return status;
  const stageStatuses = status.stageStatuses?.map((known, index): StageStatus => {
    const seen = progress.stages[index];
    if (seen !== undefined && !isTerminalItem(seen.phase) && isTerminalItem(known.phase))
      return pendingAgain(known);
    const { sequence: _, ...rest } = known;
    return isTerminalItem(known.phase) ? known : rest;
  });
  return {
    ...status,
    temporal: { ...status.temporal, runId },
    sequence: 0,
    ...(stageStatuses !== undefined && { stageStatuses, summary: summarize(stageStatuses) }),
  };
}
