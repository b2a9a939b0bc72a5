/** What becomes of a stage that is undone, given what became of the steps. */
import { between, progressOf } from '../../api/plan/progress.js';
import type { ActionStatus, StageStatus, WorkflowExecutionStatus } from '../../api/plan/types.js';
import { now, skip } from '../core/outcome.js';

/** Gives a workflow whose actions are undone, or were left, its own phase. One that is Skipped already stays so. */
export function closeUndoneWorkflow(workflow: WorkflowExecutionStatus): void {
  delete workflow.currentAction;
  if (workflow.phase === 'Skipped') return;
  const actions = workflow.actionStatuses ?? [];
  const stopped = actions.find(
    (action) => action.phase === 'Failed' || action.reason === 'UndoStopped' || action.reason === 'Cancelled',
  );
  workflow.progress = progressOf(actions);
  if (workflow.startTime === undefined) {
    skip(workflow, { reason: stopped?.reason ?? 'UndoStopped', message: stopped?.message ?? '' });
    return;
  }
  workflow.completionTime = now();
  workflow.duration = between(workflow.startTime, workflow.completionTime);
  workflow.phase = stopped === undefined ? 'Succeeded' : 'Failed';
  if (stopped !== undefined) {
    workflow.reason = stopped.reason === 'Cancelled' ? 'Cancelled' : 'UndoFailed';
    workflow.message = `"${stopped.name}": ${stopped.message ?? stopped.reason ?? ''}`;
  }
}

/**
 * Gives a stage whose steps have all ended its own phase.
 *
 * @param how.failed the action whose undo has failed
 * @param how.isCut whether a cancel has kept a step from its turn
 */
export function closeUndoneStage(
  status: StageStatus,
  { failed, isCut }: { failed: ActionStatus | undefined; isCut: boolean },
): void {
  status.completionTime = now();
  status.duration = between(status.startTime ?? status.completionTime, status.completionTime);
  if (failed !== undefined) {
    status.phase = 'Failed';
    status.reason = failed.reason === 'Cancelled' ? 'Cancelled' : 'UndoFailed';
    status.message = `undoing "${failed.name}" failed: ${failed.message ?? failed.reason ?? ''}`;
  } else if (isCut) {
    status.phase = 'Failed';
    status.reason = 'Cancelled';
    status.message = 'the run was cancelled before everything was undone';
  } else {
    status.phase = 'Succeeded';
  }
}
