import {
  CancellationScope,
  ChildWorkflowFailure,
  defineQuery,
  isCancellation,
  ParentClosePolicy,
  setCurrentDetails,
  setHandler,
  startChild,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { ChildWorkflowHandle } from '@temporalio/workflow';
import { defineSearchAttributeKey, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { dependencies, isGraph } from '../api/graph.js';
import { isTerminalItem } from '../api/phase.js';
import { between, pendingStage } from '../api/progress.js';
import type { UndoStageInput } from '../api/run.js';
import type { StageStatus } from '../api/types.js';
import { planUndo, positionOf } from '../api/undo.js';
import { listenForCancel } from './cancel.js';
import type { Cancellation } from './cancel.js';
import { QUERIES, rollbackWorkflowId, stageWorkflowId, WORKFLOW_TYPES } from './contract.js';
import type {
  FinishUpdate,
  Resolution,
  RunInput,
  RunProgress,
  RunResult,
  StageResult,
  StageRollbackInput,
  StageRunInput,
  StageUpdate,
} from './contract.js';
import { bridgeActivities, startMirror } from './mirror.js';
import { abortSignal, retrySignal, skipSignal } from './stage.js';
import { isMeantSkip, now } from './workflow-runner.js';
import type { StopCause } from './workflow-runner.js';

/** Query `progress`: the run as it sees itself. */
export const progressQuery = defineQuery<RunProgress>(QUERIES.progress);

/** Payloads stay well below the server's limit of 2 MiB. */
const MAX_FINISH_CHARACTERS = 700_000;

type Child = (input: StageRunInput | StageRollbackInput) => Promise<StageResult>;

/** What a run came to, before it is told. */
interface Verdict {
  phase: RunResult['phase'];
  reason: string;
  message: string;
  rolledBack?: FinishUpdate['rolledBack'];
}

/**
 * One run of a plan, or the revert of one. Starts stages as their dependencies allow, each as a child workflow, and
 * ends with one step that frees the plan and writes the terminal status. Never fails as a Temporal workflow: how the
 * run went is its result.
 */
export async function drPlanExecution(input: RunInput): Promise<RunResult> {
  const { run } = input;
  const startTime = now();
  const stages: StageStatus[] = input.undoStatuses ?? input.stages.map(pendingStage);
  // Stages whose last word is not yet in status.
  const unsent = new Map<number, StageUpdate>();
  // What the step under way carries: it may be dropped once the terminal status is there.
  let inFlight: StageUpdate[] = [];
  const children = new Map<number, ChildWorkflowHandle<Child>>();
  let message: string | undefined;
  let result: RunProgress['phase'] = 'Running';
  let order = 0;
  const root = CancellationScope.current();

  return CancellationScope.nonCancellable(async () => {
    const forward = new CancellationScope();
    const rollback = new CancellationScope();
    const cancelRequest = (): Cancellation['record'] => cancellation.record;
    const mirror = startMirror({
      run,
      from: 'run',
      options: input.mirror,
      collect: () => {
        inFlight = takeBatch(unsent);
        if (unsent.size > 0) mirror.touch();
        return {
          stages: inFlight,
          ...(message !== undefined && { message }),
          ...(cancelRequest() !== undefined && { cancelRequest: cancelRequest() }),
        };
      },
    });

    const cancellation = listenForCancel(root, ({ forced, record }) => {
      forward.cancel();
      if (forced) rollback.cancel();
      message = `cancelling${record?.reason === undefined ? '' : `: ${record.reason}`}`;
      mirror.touch();
    });
    setHandler(progressQuery, () => ({
      phase: result,
      startTime,
      ...(message !== undefined && { message }),
      stages,
      ...(cancellation.record !== undefined && { cancelRequest: cancellation.record }),
    }));
    for (const signal of [retrySignal, skipSignal, abortSignal]) {
      setHandler(signal, async (resolution?: Resolution) => {
        const targets = [...children].filter(
          ([index]) => resolution?.stage === undefined || stages[index]?.name === resolution.stage,
        );
        // A stage that has just ended refuses the signal: there is nothing left to decide.
        await Promise.allSettled(targets.map(([, child]) => child.signal(signal, resolution)));
      });
    }

    /** Takes a stage's last word over. */
    const settleStage = (index: number, status: StageStatus, interrupted = false): void => {
      stages[index] = status;
      unsent.set(index, { index, status, ...(interrupted && { interrupted }) });
      setCurrentDetails(describeStages(stages));
      mirror.touch();
    };

    const runChild = async (
      type: string,
      workflowId: string,
      index: number,
      childInput: StageRunInput | StageRollbackInput,
    ): Promise<StageResult | { interrupted: string }> => {
      try {
        const child = await startChild<Child>(type, {
          workflowId,
          args: [childInput],
          parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
          staticSummary: `${run.plan.name}: ${stages[index]?.name ?? ''}`.slice(0, 200),
        });
        children.set(index, child);
        const ended = await child.result();
        // Whoever cancels one stage means the run (plan semantics, §5 Cancel: one path).
        if (ended.cancelled !== undefined && cancellation.record === undefined) {
          const { via, reason, requestedBy } = ended.cancelled;
          cancellation.accept(
            { ...(reason !== undefined && { reason }), ...(requestedBy !== undefined && { requestedBy }) },
            via,
          );
        }
        return ended;
      } catch (error) {
        if (isCancellation(error)) return { interrupted: 'the run was cancelled' };
        if (error instanceof WorkflowExecutionAlreadyStartedError) {
          return {
            interrupted: `a workflow "${workflowId}" runs already; end it and create a new execution`,
          };
        }
        if (error instanceof ChildWorkflowFailure) {
          return {
            interrupted: `the stage's workflow was ended from outside: ${error.cause?.message ?? error.message}`,
          };
        }
        throw error;
      } finally {
        children.delete(index);
      }
    };

    const runStage = async (index: number): Promise<void> => {
      const stage = input.stages[index];
      const status = stages[index];
      if (stage === undefined || status === undefined) throw new Error(`no stage ${index}`);
      status.phase = 'Running';
      status.startTime = now();
      setCurrentDetails(describeStages(stages));
      const outcome = await forward.run(() =>
        runChild(WORKFLOW_TYPES.stage, stageWorkflowId(workflowInfo().workflowId, index), index, {
          run,
          stage,
          phases: Object.fromEntries(stages.map((other) => [other.name, other.phase])),
          pauseOnFailure: input.onFailure === 'Pause',
          mirror: input.mirror,
          bounds: input.bounds,
        }),
      );
      if ('interrupted' in outcome) {
        const cancelled = cancellation.record !== undefined;
        const at = now();
        settleStage(
          index,
          {
            ...status,
            phase: 'Failed',
            reason: cancelled ? 'Cancelled' : 'StageTerminated',
            message: outcome.interrupted,
            completionTime: at,
            duration: between(status.startTime, at),
          },
          true,
        );
      } else {
        settleStage(index, {
          ...outcome.status,
          ...(outcome.status.phase !== 'Skipped' && { order: (order += 1) }),
        });
      }
    };

    const skipStage = (index: number, cause: StopCause): void => {
      const status = stages[index];
      if (status === undefined) return;
      settleStage(index, skipWhole(status, cause, now()));
    };

    const decide = async (): Promise<Verdict> => {
      if (Date.now() > Date.parse(input.startDeadline)) {
        stages.forEach((_, index) => {
          skipStage(index, { reason: 'StartDeadlineExceeded', message: 'the run started too late' });
        });
        return {
          phase: 'Failed',
          reason: 'StartDeadlineExceeded',
          message:
            `the run would have started at ${startTime}, after its deadline ${input.startDeadline}: nothing was done; ` +
            'create a new execution to run the plan now',
        };
      }
      if (run.operation === 'Revert') return revert();
      await runStages({ input, stages, forward, runStage, skipStage });
      const verdict = judge(stages, cancellation.record !== undefined);
      if (verdict.phase === 'Failed' && input.onFailure === 'Rollback' && stopsPlan(input, stages)) {
        return { ...verdict, ...(await rollBack()) };
      }
      return verdict;
    };

    const undoStages = async (
      plan: readonly UndoStageInput[],
      scope: CancellationScope,
      done: (undo: UndoStageInput, status: StageStatus) => void,
    ): Promise<{ failed?: StageStatus; left: UndoStageInput[] }> => {
      for (const [position, undo] of plan.entries()) {
        if (undo.steps.length === 0) continue;
        if (scope.consideredCancelled) return { left: plan.slice(position) };
        const outcome = await scope.run(() =>
          runChild(
            WORKFLOW_TYPES.stageRollback,
            rollbackWorkflowId(workflowInfo().workflowId, undo.index),
            undo.index,
            {
              run,
              undo,
              mirror: input.mirror,
              bounds: input.bounds,
            },
          ),
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
        done(undo, status);
        if (status.phase === 'Failed') return { failed: status, left: plan.slice(position + 1) };
      }
      return { left: [] };
    };

    const revert = async (): Promise<Verdict> => {
      const { failed, left } = await undoStages(input.undo, forward, (undo, status) => {
        settleStage(undo.index, { ...status, order: (order += 1) }, status.reason === 'StageTerminated');
      });
      const cause: StopCause =
        failed === undefined || failed.reason === 'Cancelled'
          ? { reason: 'Cancelled', message: 'not undone: the run was cancelled' }
          : { reason: 'UndoStopped', message: `not undone: undoing stage "${failed.name}" failed before it` };
      for (const undo of left) skipStage(undo.index, cause);
      stages.forEach((status, index) => {
        if (!isTerminalItem(status.phase))
          skipStage(index, { reason: 'NothingToUndo', message: 'nothing to undo' });
      });
      if (cancellation.record !== undefined && (failed?.reason === 'Cancelled' || left.length > 0)) {
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
        message: `execution "${run.target?.name ?? ''}" was reverted`,
      };
    };

    const rollBack = async (): Promise<Pick<Verdict, 'rolledBack'>> => {
      message = 'rolling back';
      mirror.touch();
      const plan = planUndo({ stages: input.stages, statuses: stages, undone: [] });
      const undone: StageStatus[] = [];
      const { failed, left } = await undoStages(plan, rollback, (_, status) => undone.push(status));
      const missing = [
        ...plan.flatMap((undo) => (undo.steps.length === 0 ? unrevertedOf(undo.index, undo.status) : [])),
        ...left.flatMap((undo) => undo.steps.map((step) => positionOf(step.at))),
        ...undone.flatMap((status) =>
          unrevertedOf(
            stages.findIndex((stage) => stage.name === status.name),
            status,
          ),
        ),
      ];
      message = undefined;
      return {
        rolledBack: {
          complete: failed === undefined && missing.length === 0,
          message:
            failed !== undefined
              ? `rollback stopped: ${failed.message ?? failed.name}; not undone: ${missing.join(', ')}`
              : missing.length > 0
                ? `not undone: ${missing.join(', ')}`
                : 'everything that the run did was undone',
        },
      };
    };

    const verdict = await decide();
    mirror.close();
    result = verdict.phase;
    const completionTime = now();
    if (input.searchAttributes) {
      upsertSearchAttributes([{ key: defineSearchAttributeKey('DrPhase', 'KEYWORD'), value: verdict.phase }]);
    }
    while (sizeOf(unsent) > MAX_FINISH_CHARACTERS) await mirror.flush({ stages: takeBatch(unsent) });
    await bridgeActivities(run, 'finish').finish({
      run,
      sequence: mirror.nextSequence(),
      phase: verdict.phase,
      reason: verdict.reason,
      message: verdict.message,
      startTime,
      completionTime,
      stages: [...(mirror.busy() ? inFlight : []), ...unsent.values()],
      ...(cancellation.record !== undefined && { cancelRequest: cancellation.record }),
      ...(run.operation === 'Revert' && revertedPositions(stages)),
      ...(verdict.rolledBack !== undefined && { rolledBack: verdict.rolledBack }),
    });
    return {
      phase: verdict.phase,
      reason: verdict.reason,
      message: verdict.message,
      startTime,
      completionTime,
    };
  });
}

interface StageSchedule {
  input: RunInput;
  stages: StageStatus[];
  forward: CancellationScope;
  runStage: (index: number) => Promise<void>;
  skipStage: (index: number, cause: StopCause) => void;
}

/** Starts stages in list order, or as a graph when any has a dependency, until each has ended or is skipped. */
async function runStages(schedule: StageSchedule): Promise<void> {
  const { input, stages, forward } = schedule;
  const graph = isGraph(input.stages);
  const needs = graph
    ? dependencies(input.stages)
    : input.stages.map((_, index) => (index === 0 ? [] : [index - 1]));
  const limit = graph ? input.maxConcurrentStages : 1;
  const running = new Map<number, Promise<void>>();

  const verdict = (index: number): 'start' | 'wait' | StopCause => {
    if (forward.consideredCancelled)
      return { reason: 'Cancelled', message: 'the run was cancelled before the stage' };
    if (stopsPlan(input, stages))
      return { reason: 'PlanStopped', message: 'the plan stopped at a failed stage' };
    for (const need of needs[index] ?? []) {
      const dependency = stages[need];
      if (dependency === undefined || !isTerminalItem(dependency.phase)) return 'wait';
      if (!graph) continue;
      if (
        dependency.phase === 'Failed' ||
        (dependency.phase === 'Skipped' && !isMeantSkip(dependency.reason))
      ) {
        return { reason: 'DependencyFailed', message: `stage "${dependency.name}" did not succeed` };
      }
    }
    return running.size < limit ? 'start' : 'wait';
  };

  for (;;) {
    let skipped = false;
    for (const index of stages.keys()) {
      if (stages[index]?.phase !== 'Pending') continue;
      const decision = verdict(index);
      if (decision === 'wait') continue;
      if (decision === 'start') {
        running.set(
          index,
          schedule.runStage(index).finally(() => running.delete(index)),
        );
      } else {
        schedule.skipStage(index, decision);
        skipped = true;
      }
    }
    if (skipped) continue;
    if (running.size === 0) return;
    await Promise.race(running.values());
  }
}

/** Whether a stage has failed whose policy does not let the plan go on. */
function stopsPlan(input: RunInput, stages: readonly StageStatus[]): boolean {
  return stages.some(
    (stage, index) => stage.phase === 'Failed' && input.stages[index]?.failurePolicy !== 'Continue',
  );
}

/** The phase of a run whose stages have all ended. */
function judge(stages: readonly StageStatus[], cancelRequested: boolean): Verdict {
  if (cancelRequested && stages.some(isCutStage)) {
    return { phase: 'Cancelled', reason: 'Cancelled', message: 'cancelled; what was done can be reverted' };
  }
  const failed = stages.find((stage) => stage.phase === 'Failed');
  if (failed !== undefined) {
    return {
      phase: 'Failed',
      reason: 'StageFailed',
      message: `stage "${failed.name}" failed: ${failed.message ?? failed.reason ?? ''}`,
    };
  }
  const actions = stages.flatMap((stage) =>
    (stage.workflowExecutions ?? []).flatMap((workflow) => workflow.actionStatuses ?? []),
  );
  const meant =
    stages.some((stage) => isMeantSkip(stage.reason)) || actions.some((action) => isMeantSkip(action.reason));
  if (!meant && !actions.some((action) => action.phase === 'Succeeded')) {
    return {
      phase: 'Failed',
      reason: 'NothingExecuted',
      message: 'no action was executed and none was meant to be skipped',
    };
  }
  return { phase: 'Succeeded', reason: 'Completed', message: `${stages.length} stages completed` };
}

/** Whether a cancel took something away from the stage. */
const isCutStage = (stage: StageStatus): boolean =>
  stage.reason === 'Cancelled' ||
  (stage.workflowExecutions ?? []).some(
    (workflow) =>
      workflow.reason === 'Cancelled' ||
      (workflow.actionStatuses ?? []).some(
        (action) => action.reason === 'Cancelled' && action.phase === 'Skipped',
      ),
  );

function skipWhole(status: StageStatus, cause: StopCause, at: string): StageStatus {
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

/** Reasons for which an item of a revert needs no undo, or has had it. */
const SETTLED = new Set(['AlreadyUndone', 'NotExecuted', 'NoEffect', 'NothingToUndo']);

const isUndone = (action: { phase: string; reason?: string | undefined }): boolean =>
  action.phase === 'Succeeded' || (action.phase === 'Skipped' && SETTLED.has(action.reason ?? ''));

function positions(
  index: number,
  status: StageStatus,
  wanted: (action: { phase: string; reason?: string | undefined }) => boolean,
): string[] {
  return (status.workflowExecutions ?? []).flatMap((workflow, w) =>
    (workflow.actionStatuses ?? []).flatMap((action, a) =>
      wanted(action) ? [positionOf({ stage: index, workflow: w, action: a })] : [],
    ),
  );
}

const unrevertedOf = (index: number, status: StageStatus): string[] =>
  positions(index, status, (action) => !isUndone(action));

function revertedPositions(stages: readonly StageStatus[]): { undone: string[]; unreverted: string[] } {
  return {
    undone: stages.flatMap((stage, index) =>
      positions(index, stage, (action) => action.phase === 'Succeeded' || action.reason === 'AlreadyUndone'),
    ),
    unreverted: stages.flatMap((stage, index) => unrevertedOf(index, stage)),
  };
}

/** Takes updates off the list until they fill one payload. */
function takeBatch(unsent: Map<number, StageUpdate>): StageUpdate[] {
  const batch: StageUpdate[] = [];
  let size = 0;
  for (const [index, update] of unsent) {
    size += JSON.stringify(update).length;
    if (batch.length > 0 && size > MAX_FINISH_CHARACTERS) break;
    batch.push(update);
    unsent.delete(index);
  }
  return batch;
}

const sizeOf = (unsent: Map<number, StageUpdate>): number => JSON.stringify([...unsent.values()]).length;

/** What the Web UI shows of a run: a line a stage. Costs no history. */
const describeStages = (stages: readonly StageStatus[]): string =>
  stages
    .map(
      (stage) =>
        `- **${stage.name}** ${stage.phase}${stage.reason === undefined ? '' : ` (${stage.reason})`}`,
    )
    .join('\n');
