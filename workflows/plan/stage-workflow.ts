import type { CancellationScope } from '@temporalio/workflow';
import { addedByClusters } from '../../api/plan/snapshot/parts.js';
import type { StageStatus, WorkflowExecutionStatus } from '../../api/plan/types.js';
import type { Nudges } from '../core/nudges.js';
import type { Cause } from '../core/outcome.js';
import type { Approvals } from './approvals.js';
import type { Changes } from './changes.js';
import type { StageRunInput } from './contract.js';
import { closeWorkflow, skipWorkflow } from './outcome.js';
import type { Pauses } from './pause.js';
import type { RunMirror } from './run-mirror.js';
import { RUN_CANCELLED } from './stage-outcome.js';
import type { Vouchers } from './vouchers.js';
import { runActions } from './workflow-runner.js';

const SIBLING_FAILED: Cause = {
  reason: 'StageFailed',
  message: 'another workflow of the stage failed before it',
};

/** What the parts of a stage share. */
export interface StageContext {
  input: StageRunInput;
  /** Changed in place. */
  status: StageStatus;
  /** Everything that a cancel interrupts runs in here. */
  forward: CancellationScope;
  changes: Changes;
  mirror: RunMirror;
  pauses: Pauses;
  approvals: Approvals;
  nudges: Nudges;
  vouchers: Vouchers;
  state: {
    cancelled: boolean;
    /** A workflow has failed, and the stage starts no other. */
    stopping: boolean;
    /** Rank of the action that ended last. */
    order: number;
  };
}

/** Runs one use of a workflow to its end, pauses included, or skips it when the stage starts nothing more. */
export async function runWorkflow(stage: StageContext, index: number): Promise<void> {
  const { input, status, forward, changes, mirror, pauses, state } = stage;
  const { failurePolicy, workflows } = input.stage;
  const workflow = status.workflowExecutions?.[index];
  const definition = workflows[index];
  if (workflow === undefined || definition === undefined) throw new Error(`no workflow ${index}`);
  const markActions = (): void =>
    workflow.actionStatuses?.forEach((_, action) => changes.mark(index, action));
  const stopCause = (): Cause => (state.cancelled ? RUN_CANCELLED : SIBLING_FAILED);
  if (forward.consideredCancelled || state.stopping) {
    skipWorkflow(workflow, stopCause());
    markActions();
    mirror.touch();
    return;
  }
  for (;;) {
    await forward.run(() =>
      runActions({
        run: input.run,
        stage: input.stage.index,
        index,
        input: definition,
        status: workflow,
        bounds: input.bounds,
        approvals: stage.approvals,
        nudges: stage.nudges,
        vouchers: stage.vouchers,
        clustersLeft: () => (input.clustersLeft ?? Number.POSITIVE_INFINITY) - addedByClusters([status]),
        changed: (action) => {
          changes.mark(index, action);
          mirror.touch();
        },
        nextOrder: () => (state.order += 1),
        stopCause,
      }),
    );
    closeWorkflow(workflow);
    if (!shouldPause(stage, workflow)) break;
    const decision = await pauses.wait(workflow);
    // Whatever a person decides may change every action.
    markActions();
    if (decision === 'end') {
      closeWorkflow(workflow);
      break;
    }
  }
  changes.mark(index);
  mirror.touch();
  if (workflow.phase !== 'Failed' || state.cancelled) return;
  if (failurePolicy !== 'Continue') state.stopping = true;
  if (failurePolicy === 'FailFast') forward.cancel();
}

const shouldPause = ({ input, forward, state }: StageContext, workflow: WorkflowExecutionStatus): boolean =>
  workflow.phase === 'Failed' &&
  input.pauseOnFailure &&
  input.stage.failurePolicy !== 'Continue' &&
  !forward.consideredCancelled &&
  !state.stopping;
