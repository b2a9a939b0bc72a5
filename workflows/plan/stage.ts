import { CancellationScope } from '@temporalio/workflow';
import { pendingStage } from '../../api/plan/progress.js';
import { listenForCancel } from '../core/cancel.js';
import type { Cancellation } from '../core/cancel.js';
import { inLanes } from '../core/lanes.js';
import { createNudges } from '../core/nudges.js';
import { now, skip } from '../core/outcome.js';
import { createApprovals } from './approvals.js';
import { followChanges } from './changes.js';
import { stageWorkflowId } from './contract.js';
import type { StageResult, StageRunInput } from './contract.js';
import { listenForNotes } from './notes.js';
import { checkChildOrigin } from './origin.js';
import { skipWorkflow } from './outcome.js';
import { createPauses } from './pause.js';
import { startRunMirror } from './run-mirror.js';
import { checkCondition } from './stage-condition.js';
import { closeStage, wasCut } from './stage-outcome.js';
import { resultOf } from './stage-result.js';
import { runWorkflow } from './stage-workflow.js';
import type { StageContext } from './stage-workflow.js';
import { createVouchers } from './vouchers.js';

/**
 * One stage of a run: its workflows in order or at once, its failure policy, its part of status. Always ends with a
 * result; a cancel ends in one too.
 */
export async function drStage(input: StageRunInput): Promise<StageResult> {
  checkChildOrigin(input.run, (runId) => stageWorkflowId(runId, input.stage.index));
  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(async () => {
    const stage = openStage(input);
    const cancellation = listenForStageCancel(stage, root);
    const { status, changes, mirror, vouchers } = stage;
    await runStage(stage);
    mirror.close();
    const vouched = input.run.rollsBack === true ? vouchers.all() : undefined;
    return {
      ...(await resultOf(status, changes, mirror)),
      ...(vouched !== undefined && { vouchers: vouched }),
      ...(cancellation.record !== undefined && wasCut(status) && { cancelled: cancellation.record }),
    };
  });
}

/** Opens a stage: its first state, its mirror, and what it listens to besides a cancel. Nothing of it is cancelled as a whole. */
function openStage(input: StageRunInput): StageContext {
  const { stage, run, bounds } = input;
  const status = pendingStage(stage);
  const changes = followChanges(stage.index, status);
  const forward = new CancellationScope();
  const mirror = startRunMirror({
    run,
    from: stage.index,
    options: input.mirror,
    collect: () => {
      const paused = pauses.current();
      return { stages: [changes.take()], ...(paused !== undefined && { paused }) };
    },
  });
  const pauses = createPauses({ stage: stage.name, bounds, scope: forward, touch: mirror.touch });
  const approvals = createApprovals({ run, stage: stage.index });
  const nudges = createNudges();
  listenForNotes(status, ({ workflow, action }) => {
    changes.mark(workflow, action);
    mirror.touch();
  });
  return {
    input,
    status,
    forward,
    changes,
    mirror,
    pauses,
    approvals,
    nudges,
    vouchers: createVouchers(),
    state: { cancelled: false, stopping: false, order: 0 },
  };
}

/** A cancel interrupts what goes forward; everything else goes on to the result. */
const listenForStageCancel = (
  { forward, nudges, state }: StageContext,
  root: CancellationScope,
): Cancellation =>
  listenForCancel(root, ({ forced }) => {
    state.cancelled = true;
    if (forced) nudges.force();
    forward.cancel();
  });

/** Runs the workflows of a stage, where its condition lets it run, and gives it its phase. */
async function runStage(context: StageContext): Promise<void> {
  const { input, status, forward, changes, mirror, state } = context;
  const { stage } = input;
  const workflows = status.workflowExecutions ?? [];
  status.phase = 'Running';
  status.startTime = now();
  mirror.touch();
  const condition = await checkCondition(input, forward);
  if (condition === 'run') {
    await inLanes(
      workflows.map((_, index) => index),
      stage.parallel ? (stage.maxConcurrency ?? workflows.length) : 1,
      (index) => runWorkflow(context, index),
    );
    closeStage(status, state.cancelled);
    return;
  }
  workflows.forEach((workflow, index) => {
    skipWorkflow(workflow, condition.cause);
    workflow.actionStatuses?.forEach((_, action) => changes.mark(index, action));
  });
  skip(status, condition.cause);
  if (condition.failed) status.phase = 'Failed';
}
