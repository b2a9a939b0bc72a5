import { traitsOf } from '../actions/traits.js';
import { isRollbackHook, topologicalOrder } from '../order/hooks.js';
import type { HookPosition } from '../order/hooks.js';
import type { ActionInput, StageInput, UndoStageInput, UndoStep } from '../snapshot/run.js';
import type { ActionOutputs, ActionStatus, ClusterActionStatus, StageStatus } from '../types.js';
import { undoViewsOf, viewsOf } from '../snapshot/views.js';

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
  const ranked: { order?: number; step: UndoStep }[] = [];
  const hooks = new Map<number, UndoStep[]>();
  const workflowExecutions = (status.workflowExecutions ?? []).map((workflow, w) => {
    const input = stage.workflows[w];
    const done = workflow.actionStatuses ?? [];
    const actionStatuses = done.map((forward, a): ActionStatus => {
      const initial = { name: forward.name, ...(forward.type !== undefined && { type: forward.type }) };
      const action = input?.actions[a];
      const at = { stage: index, workflow: w, action: a };
      const skip =
        action?.harmless === true && action.rollback === undefined
          ? { reason: 'NothingToUndo', message: 'the action changed nothing' }
          : skipReason(forward, undone.has(positionOf(at)));
      if (skip !== undefined || action === undefined) return { ...initial, phase: 'Skipped', ...skip };
      const { noInverse } = traitsOf(action.type);
      if (noInverse !== undefined && action.rollback === undefined) {
        return {
          ...initial,
          phase: 'Skipped',
          reason: 'NoRollback',
          message: `${noInverse} without a rollback cannot be undone; add a rollback to the action`,
        };
      }
      const { outputs } = undoViewsOf(action, done, a);
      const step = { at, input: forUndo(action), forward: recordOf(forward), outputs };
      ranked.push({ ...(forward.order !== undefined && { order: forward.order }), step });
      return { ...initial, phase: 'Pending' };
    });
    if (input !== undefined && actionStatuses.some(wasDone)) {
      const around = rollbackHooks(input.actions, done);
      for (const a of around) {
        const [action, forward] = [input.actions[a], done[a]];
        if (action === undefined || forward === undefined) continue;
        const { name, type, hookType = '' } = action;
        actionStatuses[a] = { name, type, hookType, phase: 'Pending' };
        const at = { stage: index, workflow: w, action: a };
        const { outputs, phases, packedPhases } = viewsOf(action, done, a);
        const step: UndoStep = {
          at,
          input: forUndo(action),
          forward: recordOf(forward),
          outputs,
          phases,
          ...(packedPhases !== undefined && { packedPhases }),
          hook: true,
        };
        hooks.set(w, [...(hooks.get(w) ?? []), step]);
      }
    }
    const pending = actionStatuses.some((action) => action.phase === 'Pending');
    return {
      workflowRef: workflow.workflowRef,
      phase: pending ? 'Pending' : 'Skipped',
      ...(!pending && { reason: 'NothingToUndo' }),
      actionStatuses,
    };
  });
  ranked.sort(
    (a, b) =>
      newestFirst(a, b) || b.step.at.workflow - a.step.at.workflow || b.step.at.action - a.step.at.action,
  );
  const all = withHooks(
    ranked.map(({ step }) => step),
    hooks,
  );
  return {
    index,
    name: stage.name,
    steps: all,
    status: {
      name: stage.name,
      phase: all.length > 0 ? 'Pending' : 'Skipped',
      ...(all.length === 0 && { reason: 'NothingToUndo' }),
      ...(stage.parallel && { parallel: true }),
      workflowExecutions,
    },
  };
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

/** The hooks of a workflow directly before its first step and after its last. */
function withHooks(steps: readonly UndoStep[], hooks: ReadonlyMap<number, readonly UndoStep[]>): UndoStep[] {
  if (hooks.size === 0) return [...steps];
  const left = new Map<number, number>();
  for (const { at } of steps) left.set(at.workflow, (left.get(at.workflow) ?? 0) + 1);
  const of = (workflow: number, position: HookPosition): UndoStep[] =>
    (hooks.get(workflow) ?? []).filter(({ input }) => input.hook === position);
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
  // Nothing of these can be undone by itself: their hooks do it.
  const alone = [...hooks.keys()].filter((workflow) => !begun.has(workflow)).sort((a, b) => b - a);
  return [...all, ...alone.flatMap((workflow) => [...of(workflow, 'pre'), ...of(workflow, 'post')])];
}

/** The part of an action's record that its undo relies on: a large run has thousands of these in one input. */
function recordOf(forward: ActionStatus): ActionStatus {
  const { name, phase, effect, round, outputs, clusterStatuses } = forward;
  const trace = traceOf(outputs);
  return {
    name,
    phase,
    ...(effect !== undefined && { effect }),
    ...(round !== undefined && { round }),
    ...(clusterStatuses !== undefined && {
      clusterStatuses: clusterStatuses.map(
        ({ message: _m, startTime: _s, completionTime: _c, retryCount: _r, ...record }) => record,
      ),
    }),
    ...(trace !== undefined && { outputs: trace }),
  };
}

/** The part of an action's outputs that its undo relies on. */
export function traceOf(outputs: ActionOutputs | undefined): EffectTrace | undefined {
  if (outputs === undefined) return undefined;
  const { jobRef, created, priorRef, planExecutionRef } = outputs;
  return {
    ...(jobRef !== undefined && { jobRef }),
    ...(created !== undefined && { created }),
    ...(priorRef !== undefined && { priorRef }),
    ...(planExecutionRef !== undefined && { planExecutionRef }),
  };
}

/** What an action has left behind, as far as its undo relies on it. */
export type EffectTrace = Pick<ActionOutputs, 'jobRef' | 'created' | 'priorRef' | 'planExecutionRef'>;

/** The part of the record of an action per cluster that the undo in one cluster relies on. */
export function recordInCluster(forward: ActionStatus, record: ClusterActionStatus): ActionStatus {
  const { name, type, outputs } = forward;
  const created = (outputs?.created ?? []).filter((one) => one.name === record.subscription);
  // Without outputs an undo looks for the marks on what was written.
  const isKnown = outputs !== undefined && record.phase === 'Succeeded';
  return {
    name,
    ...(type !== undefined && { type }),
    phase: isKnown ? 'Succeeded' : 'Failed',
    effect: record.effect ?? 'Unknown',
    ...(record.round !== undefined && { round: record.round }),
    outputs: {
      ...(created.length > 0 && { created }),
      ...(record.priorRef !== undefined && { priorRef: record.priorRef }),
    },
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
