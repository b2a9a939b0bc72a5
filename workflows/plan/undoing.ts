import { workflowInfo } from '@temporalio/workflow';
import type { CancellationScope } from '@temporalio/workflow';
import { isTerminalItem } from '../../api/core/phase.js';
import type { UndoStageInput } from '../../api/plan/snapshot/run.js';
import type { StageStatus } from '../../api/plan/types.js';
import { leftOf, planUndo, positionOf, undoneOf } from '../../api/plan/undo/undo.js';
import { now } from '../core/outcome.js';
import type { Cause } from '../core/outcome.js';
import { rollbackWorkflowId, WORKFLOW_TYPES } from './contract.js';
import type { Settled } from './contract-updates.js';
import type { RunContext, Verdict } from './run-context.js';

/** Undoes stages one at a time, and stops at the first that fails. */
async function undoStages(
  context: RunContext,
  plan: readonly UndoStageInput[],
  scope: CancellationScope,
  done: (
    undo: UndoStageInput,
    status: StageStatus,
    detail?: 'interrupted' | 'told',
    settled?: Settled[],
  ) => void,
): Promise<{ failed?: StageStatus; left: readonly UndoStageInput[] }> {
  const { run, bounds } = context.input;
  for (const [position, undo] of plan.entries()) {
    if (undo.steps.length === 0) continue;
    if (scope.consideredCancelled) return { left: plan.slice(position) };
    const vouchers = context.vouchers.get(undo.index);
    const outcome = await scope.run(() =>
      context.runChild({
        type: WORKFLOW_TYPES.stageRollback,
        workflowId: rollbackWorkflowId(workflowInfo().workflowId, undo.index),
        index: undo.index,
        input: {
          run,
          undo,
          mirror: context.mirrorOptions(),
          bounds,
          ...(vouchers !== undefined && { vouchers }),
        },
      }),
    );
    const status: StageStatus =
      'interrupted' in outcome
        ? {
            ...undo.status,
            phase: 'Failed',
            reason: scope.consideredCancelled ? 'Cancelled' : 'StageTerminated',
            message: outcome.interrupted,
            completionTime: now(),
          }
        : outcome.status;
    if ('interrupted' in outcome) done(undo, status, 'interrupted', outcome.settled);
    else done(undo, status, outcome.told === true ? 'told' : undefined);
    if (status.phase === 'Failed') return { failed: status, left: plan.slice(position + 1) };
  }
  return { left: [] };
}

/** A Revert: undoes what its target did (docs/semantics.md#revert). */
export async function revert(context: RunContext): Promise<Verdict> {
  const { input, stages } = context;
  const { failed, left } = await undoStages(
    context,
    input.undo,
    context.forward,
    (undo, status, detail, settled) => {
      context.settle(undo.index, { ...status, order: context.nextOrder() }, detail, settled);
    },
  );
  const cause: Cause =
    failed === undefined || failed.reason === 'Cancelled'
      ? { reason: 'Cancelled', message: 'not undone: the run was cancelled' }
      : { reason: 'UndoStopped', message: `not undone: undoing stage "${failed.name}" failed before it` };
  for (const undo of left) context.skip(undo.index, cause);
  stages.forEach((status, index) => {
    if (isTerminalItem(status.phase)) return;
    context.skip(index, { reason: 'NothingToUndo', message: 'nothing to undo' });
  });
  if (context.isCancelled() && (failed?.reason === 'Cancelled' || left.length > 0)) {
    return {
      phase: 'Cancelled',
      reason: 'Cancelled',
      message: 'cancelled; what was not undone yet can be undone by another Revert',
    };
  }
  if (failed !== undefined) {
    return {
      phase: 'Failed',
      reason: 'UndoFailed',
      message: `${failed.message ?? `stage "${failed.name}" was not undone`}; correct the cause and create another Revert: it goes on where this one stopped`,
    };
  }
  return {
    phase: 'Succeeded',
    reason: 'Reverted',
    message: `execution "${input.run.target?.name ?? ''}" was reverted`,
  };
}

/** Compensation inside a failed run (`onFailure: Rollback`). Only a forced cancel stops it. */
export async function rollBack(context: RunContext): Promise<Pick<Verdict, 'rolledBack' | 'undone'>> {
  context.announce('rolling back');
  const plan = planUndo({ stages: context.input.stages, statuses: context.stages, undone: [] });
  // What a terminated stage did is in its own history and in status, not here: a Revert can undo it.
  const unknown = context.stages.filter((stage) => stage.reason === 'StageTerminated');
  const ended: { index: number; status: StageStatus }[] = [];
  const { failed, left } = await undoStages(context, plan, context.rollback, ({ index }, status) =>
    ended.push({ index, status }),
  );
  context.announce(undefined);
  const missing = [
    ...plan.flatMap((undo) => (undo.steps.length === 0 ? leftOf(undo.index, undo.status) : [])),
    ...left.flatMap((undo) => undo.steps.map((step) => positionOf(step.at))),
    ...ended.flatMap(({ index, status }) => leftOf(index, status)),
    ...unknown.map((stage) => `stage "${stage.name}" (ended from outside; revert this execution)`),
  ];
  const unconfirmed = ended.flatMap(({ status }) =>
    (status.workflowExecutions ?? []).flatMap((workflow) =>
      (workflow.actionStatuses ?? []).flatMap((action) => action.outputs?.stopUnconfirmed ?? []),
    ),
  );
  const list = `not undone: ${missing.join(', ')}`;
  return {
    undone: ended.flatMap(({ index, status }) => undoneOf(index, status)),
    rolledBack: {
      complete: failed === undefined && missing.length === 0,
      message:
        failed !== undefined
          ? `rollback stopped: ${failed.message ?? failed.name}; ${list}`
          : missing.length > 0
            ? list
            : 'everything that the run did was undone',
      ...(unconfirmed.length > 0 && { stopUnconfirmed: unconfirmed }),
    },
  };
}
