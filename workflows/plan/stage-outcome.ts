/** What becomes of a stage, given what became of its workflows. */
import { between } from '../../api/plan/progress.js';
import type { StageStatus, WorkflowExecutionStatus } from '../../api/plan/types.js';
import { now } from '../core/outcome.js';
import type { Cause } from '../core/outcome.js';
import { failedItself, isMeantSkip } from './outcome.js';

/** Why nothing more is started once the run is cancelled. */
export const RUN_CANCELLED: Cause = {
  reason: 'Cancelled',
  message: 'the run was cancelled before it began',
};

/** Gives a stage whose workflows have all ended its own phase. */
export function closeStage(status: StageStatus, cancelled: boolean): void {
  const workflows = status.workflowExecutions ?? [];
  const failed = workflows.find(failedItself);
  const cut = workflows.find((workflow) => isCut(workflow));
  status.completionTime = now();
  status.duration = between(status.startTime ?? status.completionTime, status.completionTime);
  if (failed !== undefined) {
    status.phase = 'Failed';
    status.reason = 'WorkflowFailed';
    status.message = `workflow "${failed.workflowRef.name}" failed: ${failed.message ?? failed.reason ?? ''}`;
  } else if (cut !== undefined && cancelled) {
    status.phase = 'Failed';
    status.reason = 'Cancelled';
    status.message = 'the run was cancelled while the stage ran';
  } else if (workflows.length > 0 && workflows.every((workflow) => workflow.phase === 'Skipped')) {
    status.phase = 'Skipped';
    status.reason = workflows[0]?.reason;
    status.message = 'every workflow was skipped';
  } else {
    status.phase = 'Succeeded';
  }
}

const isCut = (workflow: WorkflowExecutionStatus): boolean =>
  workflow.reason === 'Cancelled' || (workflow.phase === 'Skipped' && !isMeantSkip(workflow.reason));

/** Whether a cancel cut anything short: one that comes after the last action changes nothing. */
export const wasCut = (status: StageStatus): boolean =>
  status.reason === 'Cancelled' ||
  (status.workflowExecutions ?? []).some(
    (workflow) =>
      isCut(workflow) || (workflow.actionStatuses ?? []).some((action) => action.reason === 'Cancelled'),
  );
