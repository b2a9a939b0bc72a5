import { isTerminalExecution, isTerminalItem } from '../../../api/core/phase.js';
import type {
  ActionStatus,
  DRPlanExecutionStatus,
  StageStatus,
  WorkflowExecutionStatus,
} from '../../../api/plan/types.js';

/** Something that has ended, for the metrics. */
export interface Ended {
  phase: string;
  /** From its start to its end; absent where it never began or does not say. */
  seconds?: number;
}

/** What has ended from one state of an execution to the next. */
export interface EndedBetween {
  /** `phase` is `NotStarted` where there was no run. */
  run?: Ended;
  stages: Ended[];
  actions: (Ended & { type: string })[];
}

type Status = DRPlanExecutionStatus | undefined;

/** Compares two states of an execution. An action that is tried again in a further round ends once a round. */
export function endedBetween(before: Status, after: Status): EndedBetween {
  const ended: EndedBetween = { stages: [], actions: [] };
  const isOver = isTerminalExecution(after?.phase) && !isTerminalExecution(before?.phase);
  if (isOver && after !== undefined) {
    ended.run = endOf({ ...after, phase: after.temporal === undefined ? 'NotStarted' : phaseOf(after) });
  }
  after?.stageStatuses?.forEach((stage, index) => {
    const was = before?.stageStatuses?.[index];
    // A stage that has ended does not change any more; most stages of a large run are such.
    if (was !== undefined && isTerminalItem(was.phase)) return;
    if (isTerminalItem(stage.phase)) ended.stages.push(endOf(stage));
    collectActions(ended, was, stage);
  });
  return ended;
}

function collectActions(ended: EndedBetween, was: StageStatus | undefined, stage: StageStatus): void {
  stage.workflowExecutions?.forEach((workflow, index) => {
    const known: WorkflowExecutionStatus | undefined = was?.workflowExecutions?.[index];
    workflow.actionStatuses?.forEach((action, place) => {
      if (isTerminalItem(action.phase) && !isSameEnd(known?.actionStatuses?.[place], action))
        ended.actions.push({ ...endOf(action), type: action.type ?? 'unknown' });
    });
  });
}

const isSameEnd = (was: ActionStatus | undefined, action: ActionStatus): boolean =>
  was !== undefined && isTerminalItem(was.phase) && was.round === action.round;

/** The original controller and Drover spell one phase differently. */
const phaseOf = ({ phase }: DRPlanExecutionStatus): string =>
  phase === 'Canceled' ? 'Cancelled' : (phase ?? 'unknown');

function endOf(item: { phase: string; startTime?: string; completionTime?: string }): Ended {
  const seconds = (Date.parse(item.completionTime ?? '') - Date.parse(item.startTime ?? '')) / 1000;
  return { phase: item.phase, ...(seconds >= 0 && { seconds }) };
}
