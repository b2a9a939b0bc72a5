import { formatDuration } from '../core/duration.js';
import { isTerminalItem } from '../core/phase.js';
import type { StageInput, WorkflowInput } from './snapshot/run.js';
import type {
  ActionStatus,
  ClusterActionStatus,
  ExecutionSummary,
  StageStatus,
  WorkflowExecutionStatus,
} from './types.js';

/** The status of a stage that has not begun. Absent lists are left out, so that idle stages stay small. */
export function pendingStage(stage: StageInput): StageStatus {
  return {
    name: stage.name,
    phase: 'Pending',
    ...(stage.parallel && { parallel: true }),
    ...(stage.dependsOn.length > 0 && { dependsOn: stage.dependsOn }),
    workflowExecutions: stage.workflows.map(pendingWorkflow),
  };
}

function pendingWorkflow(workflow: WorkflowInput): WorkflowExecutionStatus {
  return {
    workflowRef: workflow.ref,
    phase: 'Pending',
    progress: progressOf([], workflow.actions.length),
    actionStatuses: workflow.actions.map((action) => ({
      name: action.name,
      type: action.type,
      ...(action.hookType !== undefined && { hookType: action.hookType }),
      phase: 'Pending',
    })),
  };
}

/** A stage as it was before it began: what names and orders it stays. */
export function pendingAgain(stage: StageStatus): StageStatus {
  const { name, parallel, dependsOn, workflowExecutions } = stage;
  return {
    name,
    phase: 'Pending',
    ...(parallel !== undefined && { parallel }),
    ...(dependsOn !== undefined && { dependsOn }),
    ...(workflowExecutions !== undefined && {
      workflowExecutions: workflowExecutions.map(({ workflowRef, actionStatuses }) => ({
        workflowRef,
        phase: 'Pending',
        ...(actionStatuses !== undefined && {
          progress: progressOf([], actionStatuses.length),
          actionStatuses: actionStatuses.map(({ name: action, type, hookType }) => ({
            name: action,
            ...(type !== undefined && { type }),
            ...(hookType !== undefined && { hookType }),
            phase: 'Pending',
          })),
        }),
      })),
    }),
  };
}

/** `2/5 actions completed`: actions that have ended, however they ended (in the original: WorkflowExecutionStatus). */
export function progressOf(actions: readonly ActionStatus[], total = actions.length): string {
  return `${actions.filter((action) => isTerminalItem(action.phase)).length}/${total} actions completed`;
}

/**
 * Counters of a run. Every stage and workflow is counted in exactly one of completed, running, pending, failed and
 * skipped, so the counters always add up to the totals (S5.22).
 */
export function summarize(stages: readonly StageStatus[]): ExecutionSummary {
  const summary: ExecutionSummary = {
    totalStages: 0,
    completedStages: 0,
    runningStages: 0,
    pendingStages: 0,
    failedStages: 0,
    skippedStages: 0,
    totalWorkflows: 0,
    completedWorkflows: 0,
    runningWorkflows: 0,
    pendingWorkflows: 0,
    failedWorkflows: 0,
    skippedWorkflows: 0,
  };
  let ended = 0;
  let actions = 0;
  for (const stage of stages) {
    summary.totalStages += 1;
    summary[`${bucket(stage.phase)}Stages`] += 1;
    for (const workflow of stage.workflowExecutions ?? []) {
      summary.totalWorkflows += 1;
      summary[`${bucket(workflow.phase)}Workflows`] += 1;
      for (const action of workflow.actionStatuses ?? []) {
        actions += 1;
        if (isTerminalItem(action.phase)) ended += 1;
      }
    }
  }
  summary.progress = `${ended}/${actions}`;
  return summary;
}

function bucket(phase: string): 'completed' | 'running' | 'failed' | 'skipped' | 'pending' {
  switch (phase) {
    case 'Succeeded':
      return 'completed';
    case 'Running':
      return 'running';
    case 'Failed':
      return 'failed';
    case 'Skipped':
      return 'skipped';
    default:
      return 'pending';
  }
}

/** Why unfinished items are closed, and how. */
export interface Closing {
  /** RFC 3339 */
  at: string;
  /** Reason and message of an item that was running: it becomes Failed. */
  running: { reason: string; message: string };
  /** Reason and message of an item that had not begun: it becomes Skipped. */
  pending: { reason: string; message: string };
}

/**
 * Brings every item of a stage into a terminal phase with a completion time, leaving what has ended as it is. Used where
 * a run ends without the stage's own last word.
 */
export function closeStage(stage: StageStatus, closing: Closing): StageStatus {
  return close(
    {
      ...stage,
      workflowExecutions: stage.workflowExecutions?.map((workflow) =>
        close(
          {
            ...workflow,
            currentAction: undefined,
            actionStatuses: workflow.actionStatuses?.map((action) =>
              close(
                {
                  ...action,
                  ...(action.clusterStatuses !== undefined && {
                    clusterStatuses: action.clusterStatuses.map((cluster) => close(cluster, closing)),
                  }),
                },
                closing,
              ),
            ),
          },
          closing,
        ),
      ),
    },
    closing,
  );
}

function close<T extends ActionStatus | ClusterActionStatus | WorkflowExecutionStatus | StageStatus>(
  item: T,
  closing: Closing,
): T {
  // An item that a revert leaves alone is Skipped from the start, when there is no time to set yet.
  if (isTerminalItem(item.phase)) {
    return item.completionTime === undefined ? { ...item, completionTime: closing.at } : item;
  }
  const running = item.phase === 'Running';
  const { reason, message } = running ? closing.running : closing.pending;
  return {
    ...item,
    phase: running ? 'Failed' : 'Skipped',
    reason,
    message,
    completionTime: closing.at,
    ...(running &&
      item.startTime !== undefined &&
      'duration' in item && { duration: between(item.startTime, closing.at) }),
  };
}

/** Time between two moments, as people read it. */
export const between = (start: string, end: string): string =>
  formatDuration(Date.parse(end) - Date.parse(start));
