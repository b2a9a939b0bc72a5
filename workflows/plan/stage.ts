import {
  ActivityCancellationType,
  ActivityFailure,
  CancellationScope,
  proxyActivities,
} from '@temporalio/workflow';
import { between, pendingStage } from '../../api/plan/progress.js';
import { addedByClusters } from '../../api/plan/snapshot/parts.js';
import type { StageStatus, WorkflowExecutionStatus } from '../../api/plan/types.js';
import { listenForCancel } from '../core/cancel.js';
import { taskQueues } from '../core/contract.js';
import { inLanes } from '../core/lanes.js';
import { createNudges } from '../core/nudges.js';
import { now, skip } from '../core/outcome.js';
import type { Cause } from '../core/outcome.js';
import { createApprovals } from './approvals.js';
import { followChanges } from './changes.js';
import { stageWorkflowId } from './contract.js';
import type { StageResult, StageRunInput } from './contract.js';
import type { WorkerActivities } from './contract-tasks.js';
import { listenForNotes } from './notes.js';
import { checkChildOrigin } from './origin.js';
import { closeWorkflow, failedItself, isMeantSkip, skipWorkflow } from './outcome.js';
import { createPauses } from './pause.js';
import { startRunMirror } from './run-mirror.js';
import { resultOf } from './stage-result.js';
import { createVouchers } from './vouchers.js';
import { runActions } from './workflow-runner.js';
import type { WorkflowRunner } from './workflow-runner.js';

const CANCELLED: Cause = { reason: 'Cancelled', message: 'the run was cancelled before it began' };
const SIBLING: Cause = {
  reason: 'StageFailed',
  message: 'another workflow of the stage failed before it',
};

/**
 * One stage of a run: its workflows in order or at once, its failure policy, its part of status. Always ends with a
 * result; a cancel ends in one too.
 */
export async function drStage(input: StageRunInput): Promise<StageResult> {
  const { stage } = input;
  checkChildOrigin(input.run, (runId) => stageWorkflowId(runId, stage.index));
  const status = pendingStage(stage);
  const state = { cancelled: false, stopping: false, order: 0 };
  const changes = followChanges(stage.index, status);

  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(async () => {
    // Everything that a cancel interrupts runs in here; everything else goes on to the result.
    const forward = new CancellationScope();
    const mirror = startRunMirror({
      run: input.run,
      from: stage.index,
      options: input.mirror,
      collect: () => {
        const paused = pauses.current();
        return { stages: [changes.take()], ...(paused !== undefined && { paused }) };
      },
    });
    const pauses = createPauses({
      stage: stage.name,
      bounds: input.bounds,
      scope: forward,
      touch: mirror.touch,
    });

    const approvals = createApprovals({ run: input.run, stage: stage.index });
    const nudges = createNudges();
    listenForNotes(status, ({ workflow, action }) => {
      changes.mark(workflow, action);
      mirror.touch();
    });
    const vouchers = createVouchers();

    const stopCause = (): Cause => (state.cancelled ? CANCELLED : SIBLING);
    const workflows = status.workflowExecutions ?? [];

    const runOne = async (index: number): Promise<void> => {
      const workflow = workflows[index];
      const definition = stage.workflows[index];
      if (workflow === undefined || definition === undefined) throw new Error(`no workflow ${index}`);
      if (forward.consideredCancelled || state.stopping) {
        skipWorkflow(workflow, stopCause());
        workflow.actionStatuses?.forEach((_, action) => changes.mark(index, action));
        mirror.touch();
        return;
      }
      const runner: WorkflowRunner = {
        run: input.run,
        stage: stage.index,
        index,
        input: definition,
        status: workflow,
        bounds: input.bounds,
        approvals,
        nudges,
        vouchers,
        clustersLeft: () => (input.clustersLeft ?? Number.POSITIVE_INFINITY) - addedByClusters([status]),
        changed: (action) => {
          changes.mark(index, action);
          mirror.touch();
        },
        nextOrder: () => (state.order += 1),
        stopCause,
      };
      for (;;) {
        await forward.run(() => runActions(runner));
        closeWorkflow(workflow);
        if (!shouldPause(workflow)) break;
        // Whatever a person decides may change every action.
        const decision = await pauses.wait(workflow);
        workflow.actionStatuses?.forEach((_, action) => changes.mark(index, action));
        if (decision === 'end') {
          closeWorkflow(workflow);
          break;
        }
      }
      changes.mark(index);
      mirror.touch();
      if (workflow.phase !== 'Failed' || state.cancelled) return;
      if (stage.failurePolicy !== 'Continue') state.stopping = true;
      if (stage.failurePolicy === 'FailFast') forward.cancel();
    };

    const shouldPause = (workflow: WorkflowExecutionStatus): boolean =>
      workflow.phase === 'Failed' &&
      input.pauseOnFailure &&
      stage.failurePolicy !== 'Continue' &&
      !forward.consideredCancelled &&
      !state.stopping;

    const cancellation = listenForCancel(root, ({ forced }) => {
      state.cancelled = true;
      if (forced) nudges.force();
      forward.cancel();
    });

    status.phase = 'Running';
    status.startTime = now();
    mirror.touch();

    const gate = await checkCondition(input, forward);
    if (gate === 'run') {
      await inLanes(
        workflows.map((_, index) => index),
        stage.parallel ? (stage.maxConcurrency ?? workflows.length) : 1,
        runOne,
      );
      closeStageStatus(status, state.cancelled);
    } else {
      workflows.forEach((workflow, index) => {
        skipWorkflow(workflow, gate.cause);
        workflow.actionStatuses?.forEach((_, action) => changes.mark(index, action));
      });
      skip(status, gate.cause);
      if (gate.failed) status.phase = 'Failed';
    }
    mirror.close();
    const vouched = input.run.rollsBack === true ? vouchers.all() : undefined;
    return {
      ...(await resultOf(status, changes, mirror)),
      ...(vouched !== undefined && { vouchers: vouched }),
      ...(cancellation.record !== undefined && wasCut(status) && { cancelled: cancellation.record }),
    };
  });
}

async function checkCondition(
  input: StageRunInput,
  scope: CancellationScope,
): Promise<'run' | { cause: Cause; failed: boolean }> {
  const { when } = input.stage;
  if (when === undefined) return 'run';
  const { evaluate } = proxyActivities<WorkerActivities>({
    taskQueue: taskQueues(input.run.cluster).urgent,
    startToCloseTimeout: '30s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '500ms', maximumInterval: '10s' },
    summary: 'when',
  });
  try {
    const outcome = await scope.run(() =>
      evaluate({
        run: input.run,
        stage: input.stage.index,
        expression: when,
        ...(input.stage.whenParams !== undefined && { params: input.stage.whenParams }),
        phases: input.phases,
        ...(input.packedPhases !== undefined && { packedPhases: input.packedPhases }),
      }),
    );
    if ('error' in outcome) {
      return {
        cause: {
          reason: 'InvalidExpression',
          message: `when "${when}" cannot be evaluated: ${outcome.error}`,
        },
        failed: true,
      };
    }
    return outcome.value
      ? 'run'
      : { cause: { reason: 'WhenFalse', message: `when "${when}" is false` }, failed: false };
  } catch (error) {
    if (error instanceof ActivityFailure || scope.consideredCancelled)
      return { cause: CANCELLED, failed: false };
    throw error;
  }
}

/** Gives a stage whose workflows have all ended its own phase. */
function closeStageStatus(status: StageStatus, cancelled: boolean): void {
  const workflows = status.workflowExecutions ?? [];
  const failed = workflows.find(failedItself);
  const cut = workflows.find((workflow) => isCut(workflow));
  status.completionTime = now();
  status.duration = between(status.startTime ?? status.completionTime, status.completionTime);
  if (failed !== undefined) {
    status.phase = 'Failed';
    status.reason = 'WorkflowFailed';
    status.message = `workflow "${failed.workflowRef.name}" failed: ${failed.message ?? failed.reason ?? ''}`;
  } else if (cut !== undefined && cancelled) {
    status.phase = 'Failed';
    status.reason = 'Cancelled';
    status.message = 'the run was cancelled while the stage ran';
  } else if (workflows.length > 0 && workflows.every((workflow) => workflow.phase === 'Skipped')) {
    status.phase = 'Skipped';
    status.reason = workflows[0]?.reason;
    status.message = 'every workflow was skipped';
  } else {
    status.phase = 'Succeeded';
  }
}

const isCut = (workflow: WorkflowExecutionStatus): boolean =>
  workflow.reason === 'Cancelled' || (workflow.phase === 'Skipped' && !isMeantSkip(workflow.reason));

/** Whether a cancel cut anything short: one that comes after the last action changes nothing. */
const wasCut = (status: StageStatus): boolean =>
  status.reason === 'Cancelled' ||
  (status.workflowExecutions ?? []).some(
    (workflow) =>
      isCut(workflow) || (workflow.actionStatuses ?? []).some((action) => action.reason === 'Cancelled'),
  );
