import { CancellationScope } from '@temporalio/workflow';
import { isDefaultRetry } from '../../api/plan/actions/default-retry.js';
import { between, progressOf } from '../../api/plan/progress.js';
import type { ActionAddress, UndoStep } from '../../api/plan/snapshot/run.js';
import type { ActionStatus } from '../../api/plan/types.js';
import { viewsOfStep } from '../../api/plan/undo/shared-views.js';
import { listenForCancel } from '../core/cancel.js';
import { createNudges } from '../core/nudges.js';
import { now, skip } from '../core/outcome.js';
import { executeAction, taskPart } from './action.js';
import { followChanges } from './changes.js';
import { runClusterBatch, undoInClusters } from './cluster-batch.js';
import { rollbackWorkflowId } from './contract.js';
import type { StageResult, StageRollbackInput } from './contract.js';
import type { ActionOutcome, ActionTask, TaskSeals } from './contract-tasks.js';
import { listenForNotes } from './notes.js';
import { checkChildOrigin } from './origin.js';
import { applyOutcome } from './outcome.js';
import { startRunMirror } from './run-mirror.js';
import type { Series } from './series.js';
import { resultOf } from './stage-result.js';
import { createVouchers } from './vouchers.js';
import type { Vouchers } from './vouchers.js';

/**
 * Undoes one stage, newest effect first. Stops at the first step that fails: going on could open writes on two sites
 * (S5.46). The status it returns is the stage's status in the run that undoes.
 */
export async function drStageRollback(input: StageRollbackInput): Promise<StageResult> {
  const { undo } = input;
  checkChildOrigin(input.run, (runId) => rollbackWorkflowId(runId, undo.index));
  const { status } = undo;
  const changes = followChanges(undo.index, status);
  // A rollback inside a failed run is not shown: the stage's status there shows how the run went forward.
  const shown = input.run.operation === 'Revert';
  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(async () => {
    const steps = new CancellationScope();
    const state = { cancelled: false, order: 0 };
    const mirror = startRunMirror({
      run: input.run,
      from: undo.index,
      options: input.mirror,
      collect: () => (shown ? { stages: [changes.take()] } : undefined),
    });
    const nudges = createNudges();
    listenForNotes(status, ({ workflow, action }) => {
      changes.mark(workflow, action);
      mirror.touch();
    });
    const vouchers = createVouchers(input.vouchers);
    const cancellation = listenForCancel(root, ({ forced }) => {
      state.cancelled = true;
      if (forced) nudges.force();
      steps.cancel();
    });

    status.phase = 'Running';
    status.startTime = now();
    let failed: ActionStatus | undefined;
    for (const told of undo.steps) {
      const step = { ...told, outputs: viewsOfStep(undo, told) };
      const action = find(step);
      if (failed !== undefined || steps.consideredCancelled) {
        skip(
          action,
          failed !== undefined
            ? { reason: 'UndoStopped', message: `not undone: undoing "${failed.name}" failed before it` }
            : { reason: 'Cancelled', message: 'not undone: the run was cancelled' },
        );
        changes.mark(step.at.workflow, step.at.action);
        continue;
      }
      const workflow = status.workflowExecutions?.[step.at.workflow];
      if (workflow !== undefined) {
        workflow.phase = 'Running';
        workflow.startTime ??= now();
        workflow.currentAction = action.name;
      }
      action.phase = 'Running';
      action.startTime = now();
      changes.mark(step.at.workflow, step.at.action);
      mirror.touch();
      const changed = (): void => {
        changes.mark(step.at.workflow, step.at.action);
        mirror.touch();
      };
      const say: Series['say'] = (message, outputs) => {
        action.message = message;
        if (outputs !== undefined) action.outputs = outputs;
        changed();
      };
      applyOutcome(
        action,
        await steps.run(() => undoStep(input, step, { status: action, changed, vouchers, nudges, say })),
      );
      action.order = state.order += 1;
      if (ended(action) === 'Failed') failed = action;
      changes.mark(step.at.workflow, step.at.action);
      mirror.touch();
    }

    const end = now();
    for (const [index, workflow] of (status.workflowExecutions ?? []).entries()) {
      changes.mark(index);
      delete workflow.currentAction;
      if (workflow.phase === 'Skipped') continue;
      const actions = workflow.actionStatuses ?? [];
      const stopped = actions.find(
        (action) =>
          action.phase === 'Failed' || action.reason === 'UndoStopped' || action.reason === 'Cancelled',
      );
      workflow.progress = progressOf(actions);
      workflow.completionTime = end;
      if (workflow.startTime === undefined) {
        skip(workflow, { reason: stopped?.reason ?? 'UndoStopped', message: stopped?.message ?? '' });
        continue;
      }
      workflow.duration = between(workflow.startTime, end);
      workflow.phase = stopped === undefined ? 'Succeeded' : 'Failed';
      if (stopped !== undefined) {
        workflow.reason = stopped.reason === 'Cancelled' ? 'Cancelled' : 'UndoFailed';
        workflow.message = `"${stopped.name}": ${stopped.message ?? stopped.reason ?? ''}`;
      }
    }
    status.completionTime = end;
    status.duration = between(status.startTime, end);
    if (failed !== undefined) {
      status.phase = 'Failed';
      status.reason = failed.reason === 'Cancelled' ? 'Cancelled' : 'UndoFailed';
      status.message = `undoing "${failed.name}" failed: ${failed.message ?? failed.reason ?? ''}`;
    } else if (state.cancelled && undo.steps.some((step) => find(step).reason === 'Cancelled')) {
      status.phase = 'Failed';
      status.reason = 'Cancelled';
      status.message = 'the run was cancelled before everything was undone';
    } else {
      status.phase = 'Succeeded';
    }
    mirror.close();
    return {
      ...(await resultOf(status, changes, shown ? mirror : undefined)),
      ...(cancellation.record !== undefined &&
        status.reason === 'Cancelled' && { cancelled: cancellation.record }),
    };
  });

  function find(step: UndoStep): ActionStatus {
    const action = status.workflowExecutions?.[step.at.workflow]?.actionStatuses?.[step.at.action];
    if (action === undefined) throw new Error(`no status at ${JSON.stringify(step.at)}`);
    return action;
  }
}

/** The phase now: the compiler does not see that applying an outcome changed it. */
const ended = (action: ActionStatus): string => action.phase;

/** Where a step shows how far it is, and what wakes it. */
interface Shown extends Pick<Series, 'nudges' | 'say'> {
  status: ActionStatus;
  changed: () => void;
  vouchers: Vouchers;
}

function undoStep(input: StageRollbackInput, step: UndoStep, shown: Shown): Promise<ActionOutcome> {
  if (step.hook === true) return runHook(input, step, shown);
  const { status, changed, vouchers, ...hooks } = shown;
  // A custom rollback brings its own times and retries.
  const { rollback } = step.input;
  const rule =
    rollback === undefined
      ? step.input
      : {
          ...step.input,
          totalTimeoutMs: undefined,
          step: undefined,
          optional: undefined,
          perCluster: undefined,
          ...rollback,
        };
  const { bounds } = input;
  const { forward } = step;
  const sealsOf = (at: ActionAddress): TaskSeals => sealsOfStep(step, vouchers, at);
  const task: ActionTask = {
    run: input.run,
    at: step.at,
    direction: 'undo',
    round: 0,
    name: step.input.name,
    type: rule.type,
    timeoutMs: rule.timeoutMs,
    ...(rule.totalTimeoutMs !== undefined && { totalTimeoutMs: rule.totalTimeoutMs }),
    ...(isDefaultRetry(rule.retry) ? {} : { retry: rule.retry }),
    ...(step.input.body !== undefined && { body: step.input.body }),
    seals: sealsOf(step.at),
    outputs: step.outputs,
    phases: {},
    forward,
    ...(forward.outputs?.priorRef !== undefined && { prior: forward.outputs.priorRef }),
  };
  const totalMs = bounds.undoStepMs;
  return rule.perCluster !== undefined && forward.clusterStatuses !== undefined
    ? undoInClusters({ input: rule, status, task, forward, bounds, totalMs, changed, sealsOf })
    : executeAction({ input: rule, task, bounds, totalMs, ...hooks });
}

/** In a revert, the bridge vouches for each step; in a run that rolls back, the workers that did what is undone. */
function sealsOfStep(step: UndoStep, vouchers: Vouchers, at: ActionAddress): TaskSeals {
  const { bodySeal } = step.input;
  const seal = at.cluster === undefined ? step.seal : step.partSeals?.[at.cluster];
  return {
    ...(bodySeal !== undefined && { body: bodySeal }),
    ...(seal !== undefined && { step: seal }),
    ...vouchers.undoSeals(at),
  };
}

/** A hook around the undoing: carried out as it is written, in the name of the run that undoes. */
async function runHook(
  input: StageRollbackInput,
  step: UndoStep,
  { status, changed, vouchers: _, ...hooks }: Shown,
): Promise<ActionOutcome> {
  const { input: action, at, outputs, phases, packedPhases } = step;
  const { bounds } = input;
  const part = taskPart(action);
  const task: ActionTask = {
    // Activities see from the calling workflow that the mode is Rollback.
    run: input.run.seal === undefined ? { ...input.run, mode: 'Rollback' } : input.run,
    at,
    direction: 'forward',
    round: 0,
    ...part,
    ...(step.seal !== undefined && { seals: { ...part.seals, step: step.seal } }),
    outputs,
    phases: phases ?? Object.fromEntries(Object.entries(outputs).map(([name, view]) => [name, view.phase])),
    ...(packedPhases !== undefined && { packedPhases }),
  };
  if (action.perCluster === undefined) {
    return executeAction({ input: action, task, bounds, totalMs: bounds.undoStepMs, ...hooks });
  }
  let outcome: ActionOutcome | undefined;
  await runClusterBatch({
    actions: [{ input: action, status, task, changed, ended: (how) => (outcome = how) }],
    bounds,
    vouchers: createVouchers(),
    clustersLeft: () => Number.POSITIVE_INFINITY,
    failFast: true,
    interruption: () => ({ reason: 'Cancelled', message: 'the run was cancelled before it began' }),
  });
  if (outcome === undefined) throw new Error(`hook "${action.name}" did not end`);
  return outcome;
}
