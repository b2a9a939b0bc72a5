/** The final status of a stage that was ended from outside and could not report it itself. */
import { isTerminalItem } from '../../../api/core/phase.js';
import { closeStage } from '../../../api/plan/progress.js';
import type { ActionStatus, StageStatus } from '../../../api/plan/types.js';
import type { ActionOutcome } from '../../../workflows/plan/contract-tasks.js';
import type { Settled, StageUpdate } from '../../../workflows/plan/contract-updates.js';

/**
 * The stage was ended from outside: status shows the detail that the stage itself reported, closed. An action that had
 * begun and was not reported may have had its effect all the same.
 */
export function interrupt(
  known: StageStatus | undefined,
  { status: said, begun = [], settled = [] }: StageUpdate,
  now: string,
): StageStatus {
  const message = said.message ?? 'the stage was ended from outside';
  const at = said.completionTime ?? now;
  const found = withSettled(withBegun(known ?? said, begun), settled, { at, message });
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

/**
 * Adds what was found out about actions after their stage was gone. An action that has reported its own end keeps it.
 */
function withSettled(
  stage: StageStatus,
  settled: readonly Settled[],
  { at, message }: { at: string; message: string },
): StageStatus {
  if (settled.length === 0) return stage;
  const outcomes = new Map(
    settled.map(({ workflow, action, outcome }) => [`${workflow}/${action}`, outcome]),
  );
  const close = (action: ActionStatus, outcome: ActionOutcome | undefined): ActionStatus => {
    if (outcome === undefined || isTerminalItem(action.phase)) return action;
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
          reason: 'Interrupted',
          message: `${message}; ${outcome.message}`,
          // An earlier round may have had its effect although this one had none.
          effect: action.effect === undefined || action.effect === 'None' ? outcome.effect : action.effect,
        };
    }
  };
  return {
    ...stage,
    ...(stage.workflowExecutions && {
      workflowExecutions: stage.workflowExecutions.map((workflow, w) => ({
        ...workflow,
        actionStatuses: workflow.actionStatuses?.map((action, a) => close(action, outcomes.get(`${w}/${a}`))),
      })),
    }),
  };
}
