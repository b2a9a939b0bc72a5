/** The final status of a stage that was ended from outside and could not report it itself. */
import { isTerminalItem } from '../../../api/core/phase.js';
import { closeStage } from '../../../api/plan/progress.js';
import type { ActionStatus, StageStatus } from '../../../api/plan/types.js';
import type { ActionOutcome } from '../../../workflows/plan/contract-tasks.js';
import type { Settled, StageUpdate } from '../../../workflows/plan/contract-updates.js';

/**
 * The stage was ended from outside: status shows the detail that the stage itself reported, closed. An action that had
 * begun and was not reported may have had its effect all the same; one whose end the history shows has ended so.
 */
export function interrupt(
  known: StageStatus | undefined,
  { status: said, begun = [], ended = [], settled = [] }: StageUpdate,
  now: string,
): StageStatus {
  const message = said.message ?? 'the stage was ended from outside';
  const at = said.completionTime ?? now;
  const told = withEnds(withBegun(known ?? said, begun), ended, at);
  const found = withSettled(told, settled, { at, message });
  const closed = closeStage(found, {
    at,
    running: { reason: 'Interrupted', message },
    pending: { reason: 'Interrupted', message },
  });
  return { ...said, ...(closed.workflowExecutions && { workflowExecutions: closed.workflowExecutions }) };
}

function withBegun(stage: StageStatus, begun: NonNullable<StageUpdate['begun']>): StageStatus {
  const isBegun = (workflow: number, action: number): boolean =>
    begun.some((at) => at.workflow === workflow && at.action === action);
  return {
    ...stage,
    ...(stage.workflowExecutions && {
      workflowExecutions: stage.workflowExecutions.map((workflow, w) => ({
        ...workflow,
        ...(workflow.phase === 'Pending' && begun.some((at) => at.workflow === w) && { phase: 'Running' }),
        actionStatuses: workflow.actionStatuses?.map((action, a) =>
          action.phase === 'Pending' && isBegun(w, a) ? { ...action, phase: 'Running' as const } : action,
        ),
      })),
    }),
  };
}

/** Adds ends that the stage had been told and could not report any more. */
const withEnds = (stage: StageStatus, ended: readonly Settled[], at: string): StageStatus =>
  withOutcomes(stage, ended, (action, outcome) => close(action, outcome, at));

/** Adds what was found out about actions after their stage was gone. A failure means that nobody saw the action's own end. */
const withSettled = (
  stage: StageStatus,
  settled: readonly Settled[],
  { at, message }: { at: string; message: string },
): StageStatus =>
  withOutcomes(stage, settled, (action, outcome) => {
    const closed = close(action, outcome, at);
    return outcome.phase === 'Failed'
      ? { ...closed, reason: 'Interrupted', message: `${message}; ${outcome.message}` }
      : closed;
  });

/** An action that has reported its own end keeps it. */
function withOutcomes(
  stage: StageStatus,
  found: readonly Settled[],
  end: (action: ActionStatus, outcome: ActionOutcome) => ActionStatus,
): StageStatus {
  if (found.length === 0) return stage;
  const outcomes = new Map(found.map(({ workflow, action, outcome }) => [`${workflow}/${action}`, outcome]));
  const ended = (action: ActionStatus, at: string): ActionStatus => {
    const outcome = outcomes.get(at);
    return outcome === undefined || isTerminalItem(action.phase) ? action : end(action, outcome);
  };
  return {
    ...stage,
    ...(stage.workflowExecutions && {
      workflowExecutions: stage.workflowExecutions.map((workflow, w) => ({
        ...workflow,
        actionStatuses: workflow.actionStatuses?.map((action, a) => ended(action, `${w}/${a}`)),
      })),
    }),
  };
}

function close(action: ActionStatus, outcome: ActionOutcome, at: string): ActionStatus {
  const { phase, round } = outcome;
  const end = {
    phase,
    round,
    completionTime: at,
    ...('outputs' in outcome && { outputs: outcome.outputs }),
  };
  switch (outcome.phase) {
    case 'Succeeded':
      return {
        ...action,
        ...end,
        effect: 'Done',
        ...(outcome.message !== undefined && { message: outcome.message }),
      };
    case 'Skipped':
      return { ...action, ...end, reason: outcome.reason, message: outcome.message };
    case 'Failed':
      return {
        ...action,
        ...end,
        reason: outcome.reason,
        message: outcome.message,
        // An earlier round may have had its effect although this one had none.
        effect: action.effect === undefined || action.effect === 'None' ? outcome.effect : action.effect,
      };
  }
}
