import {
  CancellationScope,
  defineQuery,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import { isTerminalItem } from '../../api/core/phase.js';
import { pendingStage } from '../../api/plan/progress.js';
import type { StageStatus } from '../../api/plan/types.js';
import { reportOf } from '../../api/plan/undo/undo.js';
import { bridgeActivities } from '../core/bridge-activities.js';
import { listenForCancel } from '../core/cancel.js';
import type { CancelRecord } from '../core/contract.js';
import { createOutbox } from '../core/outbox.js';
import { now } from '../core/outcome.js';
import type { Cause } from '../core/outcome.js';
import { shellOf } from './changes.js';
import { createChildren } from './children.js';
import { QUERIES, rollbackWorkflowId, stageWorkflowId } from './contract.js';
import type { RunInput, RunProgress, RunResult } from './contract.js';
import type { BridgeActivities } from './contract-bridge.js';
import type { StageUpdate } from './contract-updates.js';
import { endEarlierStages } from './earlier-stages.js';
import { listenForRunNotes } from './notes.js';
import { checkRunOrigin } from './origin.js';
import type { RunContext, Verdict } from './run-context.js';
import { startRunMirror } from './run-mirror.js';
import { runStages, stopsPlan } from './stage-scheduler.js';
import { revert, rollBack } from './undoing.js';
import { judge } from './verdict.js';

/** Query `progress`: the run as it sees itself. */
export const progressQuery = defineQuery<RunProgress>(QUERIES.progress);

/**
 * One run of a plan, or the revert of one. Starts stages as their dependencies allow, each as a child workflow, and
 * ends with one step that frees the plan and writes the terminal status. Never fails as a Temporal workflow: how the
 * run went is its result.
 */
export async function drPlanExecution(input: RunInput): Promise<RunResult> {
  checkRunOrigin(input);
  const { run } = input;
  const startTime = now();
  const stages = initialStages(input);
  const outbox = createOutbox<StageUpdate>();
  const root = CancellationScope.current();
  let message: string | undefined;
  let phase: RunProgress['phase'] = 'Running';
  let cancelRequest: CancelRecord | undefined;
  let order = 0;
  /** The message shows what settling an ended stage waits for. */
  let isTold = false;

  return CancellationScope.nonCancellable(async () => {
    const forward = new CancellationScope();
    const rollback = new CancellationScope();
    const mirror = startRunMirror({
      run,
      from: 'run',
      options: input.mirror,
      collect: () => {
        const batch = outbox.take();
        if (outbox.hasUnsent()) mirror.touch();
        return {
          stages: batch,
          ...(message !== undefined && { message }),
          ...(cancelRequest !== undefined && { cancelRequest }),
        };
      },
      sent: (content) => {
        outbox.acknowledge(content.stages);
      },
    });
    const children = createChildren({
      plan: run.plan.name,
      stages,
      onPace: mirror.follow,
      onCancelled: ({ via, reason, requestedBy }) => {
        cancellation.accept(
          { ...(reason !== undefined && { reason }), ...(requestedBy !== undefined && { requestedBy }) },
          via,
        );
      },
    });
    const cancellation = listenForCancel(root, ({ forced, record }) => {
      cancelRequest = record;
      forward.cancel();
      if (forced) {
        rollback.cancel();
        children.force(record);
      }
      message = `cancelling${record?.reason === undefined ? '' : `: ${record.reason}`}`;
      mirror.touch();
    });
    setHandler(progressQuery, () => ({
      phase,
      startTime,
      ...(message !== undefined && { message }),
      stages,
      ...(cancelRequest !== undefined && { cancelRequest }),
    }));
    const settle: RunContext['settle'] = (index, status, detail, settled = []) => {
      stages[index] = status;
      outbox.put({
        index,
        status: detail === 'told' ? shellOf(status) : status,
        ...(detail !== undefined && { [detail]: true }),
        ...(settled.length > 0 && { settled }),
      });
      setCurrentDetails(describe(stages));
      if (isTold && detail === 'interrupted') {
        message = `what stage "${status.name}" had begun is settled`;
        isTold = false;
      }
      mirror.touch();
    };
    const context: RunContext = {
      input,
      stages,
      forward,
      rollback,
      isCancelled: () => cancelRequest !== undefined,
      vouchers: new Map(),
      nextOrder: () => (order += 1),
      announce: (text) => {
        message = text;
        mirror.touch();
      },
      settle,
      mirrorOptions: mirror.options,
      skip: (index, cause) => {
        const status = stages[index];
        if (status !== undefined) settle(index, skipWhole(status, cause, now()));
      },
      ...children,
    };

    listenForRunNotes((text) => {
      isTold = true;
      context.announce(text);
    });

    const verdict = await carryOut(context, startTime);
    const idOf = run.operation === 'Revert' ? rollbackWorkflowId : stageWorkflowId;
    const childIds = stages.map((_, index) => idOf(workflowInfo().workflowId, index));
    await endEarlierStages(childIds.filter((id) => !children.begun.has(id)));
    mirror.close();
    phase = verdict.phase;
    const completionTime = now();
    if (input.searchAttributes) {
      upsertSearchAttributes([{ key: defineSearchAttributeKey('DrPhase', 'KEYWORD'), value: verdict.phase }]);
    }
    while (outbox.hasUnsent() && outbox.isTooLarge()) await mirror.flush({ stages: outbox.take() });
    await bridgeActivities<BridgeActivities>(run, 'finish').finish({
      run,
      runId: workflowInfo().runId,
      sequence: mirror.nextSequence(),
      phase: verdict.phase,
      reason: verdict.reason,
      message: verdict.message,
      startTime,
      completionTime,
      stages: outbox.rest(),
      ...(cancelRequest !== undefined && { cancelRequest }),
      ...(run.operation === 'Revert' && reportOf(stages)),
      ...(verdict.rolledBack !== undefined && { rolledBack: verdict.rolledBack, undone: verdict.undone }),
    });
    const { reason, message: text } = verdict;
    return { phase: verdict.phase, reason, message: text, startTime, completionTime };
  });
}

/** The status of a stage to undo comes with its undo; `undoStatuses` has only its name. */
function initialStages({ stages, undo, undoStatuses }: RunInput): StageStatus[] {
  const planned = new Map(undo.map((stage) => [stage.index, stage.status]));
  return undoStatuses?.map((status, index) => planned.get(index) ?? status) ?? stages.map(pendingStage);
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

function skipWhole(status: StageStatus, cause: Cause, at: string): StageStatus {
  const skipped = { phase: 'Skipped', reason: cause.reason, message: cause.message, completionTime: at };
  return {
    ...status,
    ...skipped,
    workflowExecutions: status.workflowExecutions?.map((workflow) =>
      isTerminalItem(workflow.phase)
        ? workflow
        : {
            ...workflow,
            ...skipped,
            actionStatuses: workflow.actionStatuses?.map((action) =>
              isTerminalItem(action.phase) ? action : { ...action, ...skipped },
            ),
          },
    ),
  };
}

/** What the Web UI shows of a run: a line a stage. Costs no history. */
const describe = (stages: readonly StageStatus[]): string =>
  stages
    .map(
      (stage) =>
        `- **${stage.name}** ${stage.phase}${stage.reason === undefined ? '' : ` (${stage.reason})`}`,
    )
    .join('\n');
