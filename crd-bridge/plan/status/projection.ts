/**
 * Writes a run's state into an execution's status. Pure functions from status to status: late, lost, repeated and
 * reordered updates all end in the same place (S6.5).
 */
import { isTerminalExecution, isTerminalItem } from '../../../api/core/phase.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { between, closeStage, summarize } from '../../../api/plan/progress.js';
import type {
  ActionStatus,
  DRPlanExecutionStatus,
  StageStatus,
  WorkflowExecutionStatus,
} from '../../../api/plan/types.js';
import { positionOf } from '../../../api/plan/undo/undo.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type {
  FinishUpdate,
  MirrorUpdate,
  StageUpdate,
  WorkflowChange,
} from '../../../workflows/plan/contract-updates.js';
import { findCondition, setCondition } from '../../core/conditions.js';
import type { ConditionUpdate } from '../../core/conditions.js';
import { interrupt } from './interrupted-stage.js';
import { alsoRuns, fullyReverted } from './revert-end.js';
import { fitStatus } from './size-guard.js';
import { ENDS_WITH_NEWS } from './standstill.js';
import { stopUnconfirmed, unconfirmedPlaces } from './stop-unconfirmed.js';

/** Sets several conditions at once. */
function withConditions(
  status: DRPlanExecutionStatus,
  updates: readonly Omit<ConditionUpdate, 'observedGeneration'>[],
  now: string,
): DRPlanExecutionStatus {
  let { conditions } = status;
  for (const update of updates) {
    const observedGeneration = status.observedGeneration;
    conditions = setCondition(
      conditions,
      { ...update, ...(observedGeneration !== undefined && { observedGeneration }) },
      now,
    );
  }
  return { ...status, ...(conditions !== undefined && { conditions }) };
}

/** Status of an execution that waits for something before it can start. */
export function waitingStatus(
  status: DRPlanExecutionStatus | undefined,
  input: { reason: string; message: string; generation: number | undefined },
  now: string,
): DRPlanExecutionStatus {
  return withConditions(
    {
      ...status,
      phase: 'Pending',
      message: input.message,
      ...(input.generation !== undefined && { observedGeneration: input.generation }),
    },
    [
      { type: 'Succeeded', status: 'Unknown', reason: input.reason, message: input.message },
      { type: 'Progressing', status: 'False', reason: input.reason, message: input.message },
    ],
    now,
  );
}

/** Status of an execution whose run has just been started. */
export function startedStatus(
  status: DRPlanExecutionStatus | undefined,
  input: {
    startTime: string;
    generation: number | undefined;
    stages: StageStatus[];
    run: RunIdentity;
    temporal: NonNullable<DRPlanExecutionStatus['temporal']>;
    message: string;
  },
): DRPlanExecutionStatus {
  const { stages, temporal, startTime, message, run } = input;
  const next = withConditions(
    {
      ...status,
      phase: 'Running',
      startTime,
      stageStatuses: stages,
      summary: summarize(stages),
      ...(input.generation !== undefined && { observedGeneration: input.generation }),
      temporal,
      snapshotRef: { name: run.snapshot.name, digest: run.snapshot.digest },
    },
    [
      { type: 'Succeeded', status: 'Unknown', reason: 'Running', message },
      { type: 'Finished', status: 'False', reason: 'Running', message },
      { type: 'Progressing', status: 'True', reason: 'Running', message },
    ],
    startTime,
  );
  delete next.message;
  return fitStatus(next);
}

/** Status of an execution that ends without having run. */
export function refusedStatus(
  status: DRPlanExecutionStatus | undefined,
  refusal: Refusal & { phase: 'Failed' | 'Cancelled'; generation: number | undefined },
  now: string,
): DRPlanExecutionStatus {
  return endedStatus(
    { ...status, ...(refusal.generation !== undefined && { observedGeneration: refusal.generation }) },
    {
      phase: refusal.phase,
      reason: refusal.reason,
      message: refusal.message,
      completionTime: now,
      // Stages that status still holds from before were never carried to an end.
      unfinished: {
        running: { reason: 'Interrupted', message: refusal.message },
        pending: { reason: refusal.reason, message: 'the execution ended before this began' },
      },
    },
  );
}

interface Ending {
  phase: 'Succeeded' | 'Failed' | 'Cancelled';
  reason: string;
  message: string;
  startTime?: string;
  completionTime: string;
  unfinished: { running: { reason: string; message: string }; pending: { reason: string; message: string } };
}

/** Terminal means: every item has ended, counters add up, times and conditions are there (S5.22). */
function endedStatus(status: DRPlanExecutionStatus, ending: Ending): DRPlanExecutionStatus {
  const { phase, reason, message, completionTime } = ending;
  const startTime = status.startTime ?? ending.startTime;
  const stages = (status.stageStatuses ?? []).map((stage) =>
    hasEnded(stage) ? stage : closeStage(stage, { at: completionTime, ...ending.unfinished }),
  );
  const succeeded = phase === 'Succeeded';
  return withConditions(
    {
      ...status,
      phase,
      reason,
      message,
      ...(startTime !== undefined && { startTime, duration: between(startTime, completionTime) }),
      completionTime,
      ...(status.stageStatuses !== undefined && { stageStatuses: stages }),
      summary: summarize(stages),
    },
    [
      { type: 'Succeeded', status: succeeded ? 'True' : 'False', reason, message },
      { type: 'Finished', status: 'True', reason: phase, message },
      { type: 'Progressing', status: 'False', reason: phase, message },
    ],
    completionTime,
  );
}

/** Whether a stage and everything in it has ended. */
const hasEnded = (stage: StageStatus): boolean =>
  isClosed(stage) &&
  (stage.workflowExecutions ?? []).every(
    (workflow) => isClosed(workflow) && (workflow.actionStatuses ?? []).every(isClosed),
  );
const isClosed = (item: { phase: string; completionTime?: string | undefined }): boolean =>
  isTerminalItem(item.phase) && item.completionTime !== undefined;

/**
 * Writes progress into status. It drops everything after the end, a lower sequence of the same speaker, and anything
 * about a stage that has ended.
 *
 * @returns undefined when the update contains nothing new
 */
export function applyMirror(
  status: DRPlanExecutionStatus,
  update: MirrorUpdate,
  now: string,
): DRPlanExecutionStatus | undefined {
  if (isTerminalExecution(status.phase)) return undefined;
  if (update.from === 'run' && update.sequence <= (status.sequence ?? 0)) return undefined;
  const stages = mergeStages(status.stageStatuses ?? [], update, now);
  if (update.from !== 'run' && stages === undefined) return undefined;
  const stageStatuses = stages ?? status.stageStatuses ?? [];
  const next: DRPlanExecutionStatus = {
    ...status,
    stageStatuses,
    summary: summarize(stageStatuses),
    ...(update.from === 'run' && { sequence: update.sequence }),
    ...(update.cancelRequest !== undefined && { cancelRequest: update.cancelRequest }),
    ...(update.message !== undefined && { message: update.message }),
  };
  const unconfirmed = stopUnconfirmed(next, stageStatuses);
  const told = unconfirmed === undefined ? next : withConditions(next, [unconfirmed], now);
  return fitStatus(mirrorConditions(told, update, now));
}

function mirrorConditions(
  status: DRPlanExecutionStatus,
  update: MirrorUpdate,
  now: string,
): DRPlanExecutionStatus {
  const progressing = findCondition(status.conditions, 'Progressing');
  if (update.paused !== undefined) {
    const message = `stage "${update.paused.stage}" waits for a decision (retry, skip or abort): ${update.paused.message}`;
    return withConditions(status, [{ type: 'Progressing', status: 'False', reason: 'Paused', message }], now);
  }
  if (update.cancelRequest !== undefined && progressing?.reason !== 'Cancelling') {
    const message = update.message ?? 'cancelling';
    return withConditions(
      status,
      [{ type: 'Progressing', status: 'True', reason: 'Cancelling', message }],
      now,
    );
  }
  // A stage that sends an update is not waiting: neither for a person, if it was the one that did, nor for a worker.
  const speaker = update.from === 'run' ? undefined : status.stageStatuses?.[update.from]?.name;
  const resumed =
    (progressing?.reason === 'Paused' &&
      speaker !== undefined &&
      progressing.message.startsWith(`stage "${speaker}" `)) ||
    ENDS_WITH_NEWS.has(progressing?.reason ?? '');
  if (!resumed) return status;
  return withConditions(
    status,
    [{ type: 'Progressing', status: 'True', reason: 'Running', message: 'the run goes on' }],
    now,
  );
}

/** @returns undefined when no stage changes */
function mergeStages(
  known: readonly StageStatus[],
  update: Pick<MirrorUpdate, 'from' | 'sequence' | 'stages'>,
  now: string,
): StageStatus[] | undefined {
  let merged: StageStatus[] | undefined;
  for (const entry of update.stages) {
    const current = (merged ?? known)[entry.index];
    const next = mergeStage(current, entry, update, now);
    if (next === undefined) continue;
    merged ??= [...known];
    merged[entry.index] = next;
  }
  return merged;
}

function mergeStage(
  known: StageStatus | undefined,
  entry: StageUpdate,
  speaker: Pick<MirrorUpdate, 'from' | 'sequence'>,
  now: string,
): StageStatus | undefined {
  if (known !== undefined && isTerminalItem(known.phase)) return undefined;
  const own = speaker.from === entry.index;
  const sequence = known?.sequence ?? 0;
  if (own && speaker.sequence <= sequence) return undefined;
  // What the run reports about a stage in progress is older than what the stage itself has reported.
  if (!own && sequence > 0 && !isTerminalItem(entry.status.phase)) return undefined;
  const numbered = own ? speaker.sequence : sequence;
  const merged = detailOf(known, entry, now);
  return { ...merged, ...(numbered > 0 && { sequence: numbered }) };
}

function detailOf(known: StageStatus | undefined, entry: StageUpdate, now: string): StageStatus {
  if (entry.interrupted === true) return interrupt(known, entry, now);
  const workflows = known?.workflowExecutions;
  if (entry.told === true) return { ...entry.status, ...(workflows && { workflowExecutions: workflows }) };
  if (entry.changes === undefined) return entry.status;
  return { ...entry.status, workflowExecutions: withChanges(workflows ?? [], entry.changes) };
}

function withChanges(
  known: readonly WorkflowExecutionStatus[],
  changes: readonly WorkflowChange[],
): WorkflowExecutionStatus[] {
  const workflows = [...known];
  for (const change of changes) {
    const actionStatuses = [...(workflows[change.index]?.actionStatuses ?? [])];
    for (const action of change.actions) actionStatuses[action.index] = action.status;
    workflows[change.index] = { ...change.status, actionStatuses };
  }
  return workflows;
}

/**
 * Writes the final update of a run into status.
 *
 * @returns undefined when the execution has ended already
 */
export function applyFinish(
  status: DRPlanExecutionStatus,
  update: FinishUpdate,
): DRPlanExecutionStatus | undefined {
  if (isTerminalExecution(status.phase)) return undefined;
  const known = status.stageStatuses ?? [];
  const stages = mergeStages(known, { ...update, from: 'run' }, update.completionTime) ?? known;
  const revert = update.run.operation === 'Revert';
  const undone = [...new Set([...(status.undone ?? []), ...rolledBackPositions(update, stages)])];
  const ended = endedStatus(
    {
      ...status,
      stageStatuses: [...stages],
      sequence: update.sequence,
      snapshotRef: { name: update.run.snapshot.name, digest: update.run.snapshot.digest },
      // Somebody has reset the run, and it ended before the bridge looked.
      ...(update.runId !== undefined &&
        status.temporal !== undefined && { temporal: { ...status.temporal, runId: update.runId } }),
      ...(update.cancelRequest !== undefined && { cancelRequest: update.cancelRequest }),
      ...(revert && update.unreverted !== undefined && { unreverted: update.unreverted.slice(0, 256) }),
      ...(!revert && undone.length > 0 && { undone }),
    },
    {
      ...update,
      unfinished: {
        running: { reason: 'Interrupted', message: 'the run ended while this was running' },
        pending: { reason: 'Interrupted', message: 'the run ended before this began' },
      },
    },
  );
  const conditions: Omit<ConditionUpdate, 'observedGeneration'>[] = [];
  const unconfirmed = stopUnconfirmed(ended, stages, update.rolledBack?.stopUnconfirmed);
  if (unconfirmed !== undefined) conditions.push(unconfirmed);
  if (revert) conditions.push(fullyReverted(update, unconfirmedPlaces(stages)));
  if (update.rolledBack !== undefined) {
    const { complete, message } = update.rolledBack;
    conditions.push({
      type: 'RolledBack',
      status: complete ? 'True' : 'False',
      reason: complete ? 'RolledBack' : 'RollbackIncomplete',
      message: `${message}${complete ? alsoRuns(update.rolledBack.stopUnconfirmed ?? []) : ''}`,
    });
  }
  return fitStatus(withConditions(ended, conditions, update.completionTime));
}

function rolledBackPositions(update: FinishUpdate, stages: readonly StageStatus[]): string[] {
  if (update.run.operation === 'Revert') return [];
  if (update.undone !== undefined) return update.undone;
  if (update.rolledBack?.complete !== true) return [];
  return stages.flatMap((stage, s) =>
    (stage.workflowExecutions ?? []).flatMap((workflow, w) =>
      (workflow.actionStatuses ?? []).flatMap((action, a) =>
        action.phase === 'Succeeded' || action.phase === 'Failed'
          ? [positionOf({ stage: s, workflow: w, action: a })]
          : [],
      ),
    ),
  );
}

/** A failed action, to be recorded as an event. */
export interface FailedAction {
  /** Position and round: distinguishes two failures, but not repetitions of one. */
  key: string;
  stage: string;
  workflow: string;
  action: ActionStatus;
}

/** Actions that have failed between two states of a status. */
export function newFailures(
  before: DRPlanExecutionStatus | undefined,
  after: DRPlanExecutionStatus,
): FailedAction[] {
  const failures: FailedAction[] = [];
  after.stageStatuses?.forEach((stage, s) => {
    const old = before?.stageStatuses?.[s];
    if (old === stage) return;
    stage.workflowExecutions?.forEach((workflow, w) => {
      workflow.actionStatuses?.forEach((action, a) => {
        const was = old?.workflowExecutions?.[w]?.actionStatuses?.[a];
        if (action.phase !== 'Failed' || (was?.phase === 'Failed' && was.round === action.round)) return;
        failures.push({
          key: `${positionOf({ stage: s, workflow: w, action: a })}/${action.round ?? 0}`,
          stage: stage.name,
          workflow: workflow.workflowRef.name,
          action,
        });
      });
    });
  });
  return failures;
}
