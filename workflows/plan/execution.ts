import { CancellationScope, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import { reportOf } from '../../api/plan/undo/undo.js';
import { bridgeActivities } from '../core/bridge-activities.js';
import { now } from '../core/outcome.js';
import { rollbackWorkflowId, stageWorkflowId } from './contract.js';
import type { RunInput, RunResult } from './contract.js';
import type { BridgeActivities } from './contract-bridge.js';
import { envelopeOf } from './contract-updates.js';
import type { FinishUpdate } from './contract-updates.js';
import { endEarlierStages } from './earlier-stages.js';
import { openRun } from './open-run.js';
import type { OpenRun } from './open-run.js';
import { checkRunOrigin } from './origin.js';
import type { RunContext, Verdict } from './run-context.js';
import { runStages, stopsPlan } from './stage-scheduler.js';
import { revert, rollBack } from './undoing.js';
import { judge } from './verdict.js';

/**
 * One run of a plan, or the revert of one. Starts stages as their dependencies allow, each as a child workflow, and
 * ends with one step that frees the plan and writes the terminal status. Never fails as a Temporal workflow: how the
 * run went is its result.
 */
export async function drPlanExecution(input: RunInput): Promise<RunResult> {
  checkRunOrigin(input);
  const startTime = now();
  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(async () => {
    const run = openRun(input, startTime, root);
    const verdict = await carryOut(run.context, startTime);
    await endUnreachedStages(run);
    return finish(run, verdict);
  });
}

/** The work of the run, from its first task to the phase that it ends in. */
async function carryOut(context: RunContext, startTime: string): Promise<Verdict> {
  const { input, stages } = context;
  if (Date.now() > Date.parse(input.startDeadline)) {
    stages.forEach((_, index) => {
      context.skip(index, { reason: 'StartDeadlineExceeded', message: 'the run started too late' });
    });
    return {
      phase: 'Failed',
      reason: 'StartDeadlineExceeded',
      message:
        `the run would have started at ${startTime}, after its deadline ${input.startDeadline}: nothing was done; ` +
        'create a new execution to run the plan now',
    };
  }
  if (input.run.operation === 'Revert') return revert(context);
  await runStages(context);
  const verdict = judge(
    stages,
    context.isCancelled(),
    (index) => input.stages[index]?.failurePolicy !== 'Continue',
  );
  if (verdict.phase === 'Failed' && input.onFailure === 'Rollback' && stopsPlan(input, stages)) {
    return { ...verdict, ...(await rollBack(context)) };
  }
  return verdict;
}

/** After a reset: ends stages from before it that this run has not reached. */
function endUnreachedStages({ context, begun }: OpenRun): Promise<void> {
  const idOf = context.input.run.operation === 'Revert' ? rollbackWorkflowId : stageWorkflowId;
  const ids = context.stages.map((_, index) => idOf(workflowInfo().workflowId, index));
  return endEarlierStages(ids.filter((id) => !begun.has(id)));
}

/** The last step: what is not in status yet, and the end of the run, which frees the plan. */
async function finish({ context, mirror, outbox, shown }: OpenRun, verdict: Verdict): Promise<RunResult> {
  const { input, stages } = context;
  const { run } = input;
  const { startTime } = shown;
  const { phase, reason, message } = verdict;
  mirror.close();
  shown.phase = phase;
  const completionTime = now();
  if (input.searchAttributes) {
    upsertSearchAttributes([{ key: defineSearchAttributeKey('DrPhase', 'KEYWORD'), value: phase }]);
  }
  while (outbox.hasUnsent() && outbox.isTooLarge()) await mirror.flush({ stages: outbox.take() });
  const end: Omit<FinishUpdate, 'run' | 'sequence'> = {
    runId: workflowInfo().runId,
    phase,
    reason,
    message,
    startTime,
    completionTime,
    stages: outbox.rest(),
    ...(shown.cancelRequest !== undefined && { cancelRequest: shown.cancelRequest }),
    ...(run.operation === 'Revert' && reportOf(stages)),
    ...(verdict.rolledBack !== undefined && { rolledBack: verdict.rolledBack, undone: verdict.undone }),
  };
  const { finish: tell } = bridgeActivities<BridgeActivities>(run, 'finish');
  const sequence = mirror.nextSequence();
  await tell(
    input.mirror.envelope === true ? envelopeOf(run, 'run', sequence, end) : { run, sequence, ...end },
  );
  return { phase, reason, message, startTime, completionTime };
}
