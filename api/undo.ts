import type { StageInput, UndoStageInput, UndoStep } from './run.js';
import type { ActionStatus, StageStatus } from './types.js';

/** Position of an action as `stage/workflow/action`, as `undone` and `unreverted` list it. */
export const positionOf = (at: { stage: number; workflow: number; action: number }): string =>
  `${at.stage}/${at.workflow}/${at.action}`;

/** What is to be undone, and what it is undone from. */
export interface UndoRequest {
  /** The stages that were run, from the target's own snapshot. */
  stages: readonly StageInput[];
  /** What the target recorded. */
  statuses: readonly StageStatus[];
  /** Positions that earlier reverts have undone. */
  undone: readonly string[];
}

/**
 * What a revert has to do, in the order to do it: stages in reverse order of completion, actions inside likewise;
 * attempted actions of unknown effect included (plan semantics, §5 Revert). Stages without a step are left out.
 */
export function planUndo(request: UndoRequest): UndoStageInput[] {
  return request.statuses
    .map((status, index) => ({ index, status, stage: request.stages[index] }))
    .filter((entry) => entry.status.phase !== 'Pending')
    .sort((a, b) => newestFirst(a.status, b.status) || b.index - a.index)
    .flatMap(({ index, status, stage }) => {
      if (stage === undefined) return [];
      const plan = planStage(index, stage, status, new Set(request.undone));
      return plan.steps.length > 0 || hasNoRollback(plan.status) ? [plan] : [];
    });
}

const hasNoRollback = (status: StageStatus): boolean =>
  (status.workflowExecutions ?? []).some((workflow) =>
    (workflow.actionStatuses ?? []).some((action) => action.reason === 'NoRollback'),
  );

/** What never got a rank was cut short last, so it goes first. */
function newestFirst(a: { order?: number }, b: { order?: number }): number {
  return (b.order ?? Number.MAX_SAFE_INTEGER) - (a.order ?? Number.MAX_SAFE_INTEGER);
}

function planStage(
  index: number,
  stage: StageInput,
  status: StageStatus,
  undone: ReadonlySet<string>,
): UndoStageInput {
  const steps: UndoStep[] = [];
  const workflowExecutions = (status.workflowExecutions ?? []).map((workflow, w) => {
    const input = stage.workflows[w];
    const outputs = Object.fromEntries(
      (workflow.actionStatuses ?? []).map((action) => [
        action.name,
        { phase: action.phase, ...action.outputs },
      ]),
    );
    const actionStatuses = (workflow.actionStatuses ?? []).map((forward, a): ActionStatus => {
      const initial = { name: forward.name, ...(forward.type !== undefined && { type: forward.type }) };
      const action = input?.actions[a];
      const at = { stage: index, workflow: w, action: a };
      const skip =
        action?.harmless === true && action.rollback === undefined
          ? { reason: 'NothingToUndo', message: 'the action changed nothing' }
          : skipReason(forward, undone.has(positionOf(at)));
      if (skip !== undefined || action === undefined) return { ...initial, phase: 'Skipped', ...skip };
      if (action.type === 'HTTP' && action.rollback === undefined) {
        return {
          ...initial,
          phase: 'Skipped',
          reason: 'NoRollback',
          message: 'an HTTP action without a rollback cannot be undone; add a rollback to the action',
        };
      }
      // A custom rollback may read the outputs of its own action too.
      const read = action.rollback === undefined ? action.uses : [...new Set([...action.uses, forward.name])];
      steps.push({
        at,
        input: action,
        forward: recordOf(forward),
        outputs: Object.fromEntries(
          read.flatMap((name) => {
            const view = outputs[name];
            return view === undefined ? [] : [[name, view]];
          }),
        ),
      });
      return { ...initial, phase: 'Pending' };
    });
    const pending = actionStatuses.some((action) => action.phase === 'Pending');
    return {
      workflowRef: workflow.workflowRef,
      phase: pending ? 'Pending' : 'Skipped',
      ...(!pending && { reason: 'NothingToUndo' }),
      actionStatuses,
    };
  });
  steps.sort(
    (a, b) => newestFirst(a.forward, b.forward) || b.at.workflow - a.at.workflow || b.at.action - a.at.action,
  );
  return {
    index,
    name: stage.name,
    steps,
    status: {
      name: stage.name,
      phase: steps.length > 0 ? 'Pending' : 'Skipped',
      ...(steps.length === 0 && { reason: 'NothingToUndo' }),
      ...(stage.parallel && { parallel: true }),
      workflowExecutions,
    },
  };
}

/** Of what an action recorded, what its undo goes by: a large run has thousands of these in one input. */
function recordOf({ name, type, phase, effect, order, round, outputs }: ActionStatus): ActionStatus {
  const { jobRef, created, priorRef } = outputs ?? {};
  return {
    name,
    ...(type !== undefined && { type }),
    phase,
    ...(effect !== undefined && { effect }),
    ...(order !== undefined && { order }),
    ...(round !== undefined && { round }),
    ...(outputs !== undefined && {
      outputs: {
        ...(jobRef !== undefined && { jobRef }),
        ...(created !== undefined && { created }),
        ...(priorRef !== undefined && { priorRef }),
      },
    }),
  };
}

function skipReason(forward: ActionStatus, undone: boolean): { reason: string; message: string } | undefined {
  if (undone) return { reason: 'AlreadyUndone', message: 'an earlier revert has undone this action' };
  const attempted = forward.effect !== undefined && forward.effect !== 'None';
  // A failed action that a person skipped may have had its effect.
  if (forward.phase === 'Pending' || (forward.phase === 'Skipped' && !attempted)) {
    return { reason: 'NotExecuted', message: 'the action was not executed' };
  }
  if (forward.phase === 'Failed' && forward.effect === 'None') {
    return { reason: 'NoEffect', message: 'the action failed before it had an effect' };
  }
  return undefined;
}

/** Reasons for which an item of a revert needs no undo, or has had it. */
const SETTLED = new Set(['AlreadyUndone', 'NotExecuted', 'NoEffect', 'NothingToUndo']);

const isUndone = (action: ActionStatus): boolean =>
  action.phase === 'Succeeded' || (action.phase === 'Skipped' && SETTLED.has(action.reason ?? ''));

function positions(index: number, status: StageStatus, wanted: (action: ActionStatus) => boolean): string[] {
  return (status.workflowExecutions ?? []).flatMap((item, workflow) =>
    (item.actionStatuses ?? []).flatMap((own, action) =>
      wanted(own) ? [positionOf({ stage: index, workflow, action })] : [],
    ),
  );
}

/** Positions that a stage of an undo has undone, now or before. */
export const undoneOf = (index: number, status: StageStatus): string[] =>
  positions(index, status, (action) => action.phase === 'Succeeded' || action.reason === 'AlreadyUndone');

/** Positions whose effect is still there. */
export const leftOf = (index: number, status: StageStatus): string[] =>
  positions(index, status, (action) => !isUndone(action));

/** What a revert has undone and what it has not, as the bridge records it. */
export const reportOf = (stages: readonly StageStatus[]): { undone: string[]; unreverted: string[] } => ({
  undone: stages.flatMap((stage, index) => undoneOf(index, stage)),
  unreverted: stages.flatMap((stage, index) => leftOf(index, stage)),
});
