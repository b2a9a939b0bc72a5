import { traitsOf } from '../actions/traits.js';
import { isRollbackHook, topologicalOrder } from '../order/hooks.js';
import type { HookPosition } from '../order/hooks.js';
import type { ActionInput, StageInput, UndoStageInput, UndoStep, WorkflowInput } from '../snapshot/run.js';
import { undoViewsOf, viewsOf } from '../snapshot/views.js';
import type { ActionStatus, StageStatus, WorkflowExecutionStatus } from '../types.js';
import { recordOf } from './trace.js';

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
 * attempted actions of unknown effect included (S5.46). Stages without a step are left out.
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
  const parts = (status.workflowExecutions ?? []).map((done, workflow) =>
    planWorkflow({ stage: index, workflow }, { input: stage.workflows[workflow], done, undone }),
  );
  const ranked = parts
    .flatMap(({ steps }) => steps)
    .sort(
      (a, b) =>
        newestFirst(a, b) || b.step.at.workflow - a.step.at.workflow || b.step.at.action - a.step.at.action,
    );
  const steps = withHooks(
    ranked.map(({ step }) => step),
    parts.map(({ hooks }) => hooks),
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
      workflowExecutions: parts.map((part) => part.status),
    },
  };
}

/** The undo of one use of a workflow. */
interface WorkflowUndo {
  status: WorkflowExecutionStatus;
  /** In the order of the actions, each with the rank that its action ended with. */
  steps: { order?: number; step: UndoStep }[];
  /** Rollback hooks, in their order. */
  hooks: UndoStep[];
}

function planWorkflow(
  place: { stage: number; workflow: number },
  {
    input,
    done: { workflowRef, actionStatuses: done = [] },
    undone,
  }: { input: WorkflowInput | undefined; done: WorkflowExecutionStatus; undone: ReadonlySet<string> },
): WorkflowUndo {
  const steps: WorkflowUndo['steps'] = [];
  const actionStatuses = done.map((forward, a): ActionStatus => {
    const { name, type, order } = forward;
    const initial = { name, ...(type !== undefined && { type }) };
    const action = input?.actions[a];
    const at = { ...place, action: a };
    const skip = skipReason(action, forward, undone.has(positionOf(at)));
    if (skip !== undefined || action === undefined) return { ...initial, phase: 'Skipped', ...skip };
    const { outputs } = undoViewsOf(action, done, a);
    const step = { at, input: forUndo(action), forward: recordOf(forward), outputs };
    steps.push({ ...(order !== undefined && { order }), step });
    return { ...initial, phase: 'Pending' };
  });
  const hooks =
    input !== undefined && actionStatuses.some(wasDone) ? hookSteps(place, input.actions, done) : [];
  for (const {
    at,
    input: { name, type, hookType = '' },
  } of hooks) {
    actionStatuses[at.action] = { name, type, hookType, phase: 'Pending' };
  }
  const isPending = actionStatuses.some((action) => action.phase === 'Pending');
  return {
    status: {
      workflowRef,
      phase: isPending ? 'Pending' : 'Skipped',
      ...(!isPending && { reason: 'NothingToUndo' }),
      actionStatuses,
    },
    steps,
    hooks,
  };
}

/** Why an action is not undone; undefined where it is. */
function skipReason(
  action: ActionInput | undefined,
  forward: ActionStatus,
  isUndone: boolean,
): { reason: string; message: string } | undefined {
  const hasRollback = action?.rollback !== undefined;
  if (action?.harmless === true && !hasRollback) {
    return { reason: 'NothingToUndo', message: 'the action changed nothing' };
  }
  if (isUndone) return { reason: 'AlreadyUndone', message: 'an earlier revert has undone this action' };
  const wasAttempted = forward.effect !== undefined && forward.effect !== 'None';
  // A failed action that a person skipped may have had its effect.
  if (forward.phase === 'Pending' || (forward.phase === 'Skipped' && !wasAttempted)) {
    return { reason: 'NotExecuted', message: 'the action was not executed' };
  }
  if (forward.phase === 'Failed' && forward.effect === 'None') {
    return { reason: 'NoEffect', message: 'the action failed before it had an effect' };
  }
  const noInverse = action && traitsOf(action.type).noInverse;
  if (noInverse === undefined || hasRollback) return undefined;
  return {
    reason: 'NoRollback',
    message: `${noInverse} without a rollback cannot be undone; add a rollback to the action`,
  };
}

/** Steps of the rollback hooks of a workflow: they are carried out, not undone. */
function hookSteps(
  place: { stage: number; workflow: number },
  actions: readonly ActionInput[],
  done: readonly ActionStatus[],
): UndoStep[] {
  return rollbackHooks(actions, done).flatMap((a): UndoStep[] => {
    const [action, forward] = [actions[a], done[a]];
    if (action === undefined || forward === undefined) return [];
    const { outputs, phases, packedPhases } = viewsOf(action, done, a);
    return [
      {
        at: { ...place, action: a },
        input: forUndo(action),
        forward: recordOf(forward),
        outputs,
        phases,
        ...(packedPhases !== undefined && { packedPhases }),
        hook: true,
      },
    ];
  });
}

/** An action without what decides when it runs: steps have an order already. */
function forUndo(action: ActionInput): ActionInput {
  const { uses: _u, reads: _r, undoReads: _d, skip: _s, ...rest } = action;
  return { ...rest, dependsOn: [] };
}

/** Whether there is something to undo, whoever can. */
const wasDone = (status: ActionStatus): boolean =>
  status.phase === 'Pending' || status.reason === 'NoRollback';

/** Positions of the hooks around a Revert, in their order. One that the run itself has carried out is undone instead. */
function rollbackHooks(actions: readonly ActionInput[], forward: readonly ActionStatus[]): number[] {
  return topologicalOrder(actions).filter((index) => {
    const action = actions[index];
    const status = forward[index];
    const neverRan = status?.phase === 'Skipped' && status.effect === undefined;
    return action !== undefined && isRollbackHook(action) && neverRan;
  });
}

/**
 * The steps with the hooks of each workflow directly before its first step and after its last.
 *
 * @param hooks by index of the workflow
 */
function withHooks(steps: readonly UndoStep[], hooks: readonly (readonly UndoStep[])[]): UndoStep[] {
  if (hooks.every((own) => own.length === 0)) return [...steps];
  const left = new Map<number, number>();
  for (const { at } of steps) left.set(at.workflow, (left.get(at.workflow) ?? 0) + 1);
  const of = (workflow: number, position: HookPosition): UndoStep[] =>
    (hooks[workflow] ?? []).filter(({ input }) => input.hook === position);
  const begun = new Set<number>();
  const all: UndoStep[] = [];
  for (const step of steps) {
    const { workflow } = step.at;
    if (!begun.has(workflow)) all.push(...of(workflow, 'pre'));
    begun.add(workflow);
    all.push(step);
    const rest = (left.get(workflow) ?? 0) - 1;
    left.set(workflow, rest);
    if (rest === 0) all.push(...of(workflow, 'post'));
  }
  // Workflows without a step: nothing in them can be undone by itself, their hooks do it. The last workflow comes first.
  const alone = [...hooks.keys()].filter((workflow) => !begun.has(workflow)).reverse();
  return [...all, ...alone.flatMap((workflow) => [...of(workflow, 'pre'), ...of(workflow, 'post')])];
}

/** Reasons for which an item of a revert needs no undo, or has had it. */
const SETTLED = new Set(['AlreadyUndone', 'NotExecuted', 'NoEffect', 'NothingToUndo']);

const isUndone = (action: ActionStatus): boolean =>
  action.phase === 'Succeeded' || (action.phase === 'Skipped' && SETTLED.has(action.reason ?? ''));

function positions(index: number, status: StageStatus, wanted: (action: ActionStatus) => boolean): string[] {
  return (status.workflowExecutions ?? []).flatMap((item, workflow) =>
    (item.actionStatuses ?? []).flatMap((own, action) =>
      // A hook of this very Revert: it undoes nothing itself, and runs again with the next one.
      own.hookType === undefined && wanted(own) ? [positionOf({ stage: index, workflow, action })] : [],
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
