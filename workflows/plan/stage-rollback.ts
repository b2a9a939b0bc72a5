import { CancellationScope } from '@temporalio/workflow';
import type { UndoStep } from '../../api/plan/snapshot/run.js';
import type { ActionStatus, StageStatus } from '../../api/plan/types.js';
import { viewsOfStep } from '../../api/plan/undo/shared-views.js';
import { listenForCancel } from '../core/cancel.js';
import { createNudges } from '../core/nudges.js';
import type { Nudges } from '../core/nudges.js';
import { now, skip } from '../core/outcome.js';
import type { Cause } from '../core/outcome.js';
import { followChanges } from './changes.js';
import type { Changes } from './changes.js';
import { rollbackWorkflowId } from './contract.js';
import type { StageResult, StageRollbackInput } from './contract.js';
import { listenForNotes } from './notes.js';
import { checkChildOrigin } from './origin.js';
import { applyOutcome } from './outcome.js';
import { closeUndoneStage, closeUndoneWorkflow } from './rollback-outcome.js';
import { startRunMirror } from './run-mirror.js';
import type { RunMirror } from './run-mirror.js';
import { resultOf } from './stage-result.js';
import { undoStep } from './undo-step.js';
import { createVouchers } from './vouchers.js';
import type { Vouchers } from './vouchers.js';

/** What the steps of a rollback share. */
interface RollbackContext {
  input: StageRollbackInput;
  /** Cancelled by any cancel that reaches the rollback: a step that runs is interrupted, and none follows. */
  steps: CancellationScope;
  changes: Changes;
  mirror: RunMirror;
  nudges: Nudges;
  vouchers: Vouchers;
  state: {
    cancelled: boolean;
    /** Rank of the step that ended last. */
    order: number;
  };
}

/**
 * Undoes one stage, newest effect first. Stops at the first step that fails: going on could open writes on two sites
 * (S5.46). The status it returns is the stage's status in the run that undoes.
 */
export async function drStageRollback(input: StageRollbackInput): Promise<StageResult> {
  const { undo, run } = input;
  checkChildOrigin(run, (runId) => rollbackWorkflowId(runId, undo.index));
  const { status } = undo;
  // A rollback inside a failed run is not shown: the stage's status there shows how the run went forward.
  const shown = run.operation === 'Revert';
  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(async () => {
    const rollback = openRollback(input, shown);
    const { steps, changes, mirror, nudges, state } = rollback;
    const cancellation = listenForCancel(root, ({ forced }) => {
      state.cancelled = true;
      if (forced) nudges.force();
      steps.cancel();
    });
    status.phase = 'Running';
    status.startTime = now();
    const failed = await undoSteps(rollback);
    (status.workflowExecutions ?? []).forEach((workflow, index) => {
      closeUndoneWorkflow(workflow);
      changes.mark(index);
    });
    const isCut = state.cancelled && undo.steps.some((step) => statusOf(status, step).reason === 'Cancelled');
    closeUndoneStage(status, { failed, isCut });
    mirror.close();
    return {
      ...(await resultOf(status, changes, shown ? mirror : undefined)),
      ...(cancellation.record !== undefined &&
        status.reason === 'Cancelled' && { cancelled: cancellation.record }),
    };
  });
}

function openRollback(input: StageRollbackInput, shown: boolean): RollbackContext {
  const { undo } = input;
  const changes = followChanges(undo.index, undo.status);
  const mirror = startRunMirror({
    run: input.run,
    from: undo.index,
    options: input.mirror,
    collect: () => (shown ? { stages: [changes.take()] } : undefined),
  });
  const nudges = createNudges();
  listenForNotes(undo.status, ({ workflow, action }) => {
    changes.mark(workflow, action);
    mirror.touch();
  });
  return {
    input,
    steps: new CancellationScope(),
    changes,
    mirror,
    nudges,
    vouchers: createVouchers(input.vouchers),
    state: { cancelled: false, order: 0 },
  };
}

/** Undoes step by step. Returns the action whose undo failed: the steps after it are skipped. */
async function undoSteps(rollback: RollbackContext): Promise<ActionStatus | undefined> {
  const { input, steps, changes } = rollback;
  const { undo } = input;
  let failed: ActionStatus | undefined;
  for (const told of undo.steps) {
    const step = { ...told, outputs: viewsOfStep(undo, told) };
    const action = statusOf(undo.status, step);
    const cause = whyNot(failed, steps);
    if (cause === undefined) {
      const phase = await runStep(rollback, step, action);
      if (phase === 'Failed') failed = action;
    } else {
      skip(action, cause);
      changes.mark(step.at.workflow, step.at.action);
    }
  }
  return failed;
}

/** Why a step is not undone; undefined when it is. */
function whyNot(failed: ActionStatus | undefined, steps: CancellationScope): Cause | undefined {
  if (failed !== undefined) {
    return { reason: 'UndoStopped', message: `not undone: undoing "${failed.name}" failed before it` };
  }
  return steps.consideredCancelled
    ? { reason: 'Cancelled', message: 'not undone: the run was cancelled' }
    : undefined;
}

/** Undoes one step, and returns the phase that its action has then. */
async function runStep(rollback: RollbackContext, step: UndoStep, action: ActionStatus): Promise<string> {
  const { input, steps, changes, mirror, nudges, vouchers, state } = rollback;
  const changed = (): void => {
    changes.mark(step.at.workflow, step.at.action);
    mirror.touch();
  };
  const workflow = input.undo.status.workflowExecutions?.[step.at.workflow];
  if (workflow !== undefined) {
    workflow.phase = 'Running';
    workflow.startTime ??= now();
    workflow.currentAction = action.name;
  }
  action.phase = 'Running';
  action.startTime = now();
  changed();
  const outcome = await steps.run(() =>
    undoStep(input, step, {
      status: action,
      changed,
      vouchers,
      nudges,
      say: (message, outputs) => {
        action.message = message;
        if (outputs !== undefined) action.outputs = outputs;
        changed();
      },
    }),
  );
  applyOutcome(action, outcome);
  action.order = state.order += 1;
  changed();
  return outcome.phase;
}

function statusOf(status: StageStatus, { at }: Pick<UndoStep, 'at'>): ActionStatus {
  const action = status.workflowExecutions?.[at.workflow]?.actionStatuses?.[at.action];
  if (action === undefined) throw new Error(`no status at ${JSON.stringify(at)}`);
  return action;
}
