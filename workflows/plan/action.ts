import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  patched,
  TimeoutFailure,
} from '@temporalio/workflow';
import { isDefaultRetry } from '../../api/plan/actions/default-retry.js';
import { activityOf, isStepType, traitsOf } from '../../api/plan/actions/traits.js';
import type { ActionInput } from '../../api/plan/snapshot/run.js';
import { wholeOutputs } from '../../api/plan/undo/lean-outputs.js';
import { innermost } from '../core/failure.js';
import { UNSETTLED } from './contract-tasks.js';
import type { ActionOutcome, ActionTask, CleanupOutcome, PriorRef } from './contract-tasks.js';
import { actionActivities, helperActivities, settleTask, withStop } from './options.js';
import { prepareEffect } from './preparation.js';
import type { SeriesSetup } from './series.js';
import { carryOutStep } from './step.js';

/** A cancel no longer waits for the end of a wait; in runs begun before 0.2 it does. */
const WAIT_LETS_GO = 'wait-lets-go';

/** The part of a task that comes from its action. */
export const taskPart = ({
  name,
  type,
  timeoutMs,
  totalTimeoutMs,
  retry,
  body,
  bodySeal,
}: ActionInput): Pick<
  ActionTask,
  'name' | 'type' | 'timeoutMs' | 'totalTimeoutMs' | 'retry' | 'body' | 'seals'
> => ({
  name,
  type,
  timeoutMs,
  ...(totalTimeoutMs !== undefined && { totalTimeoutMs }),
  ...(isDefaultRetry(retry) ? {} : { retry }),
  ...(body !== undefined && { body }),
  ...(bodySeal !== undefined && { seals: { body: bodySeal } }),
});

/**
 * Carries out one action: records prior state where the action changes existing objects, attempts the effect, and
 * settles an attempt that ended without an outcome. Always returns an outcome; a cancel of the current scope gives
 * Failed, `Cancelled`. Starts nothing in a scope that is already cancelled.
 */
export async function executeAction(series: SeriesSetup): Promise<ActionOutcome> {
  const { step, optional, cleanup } = series.input;
  const cleans = cleanup !== undefined && series.task.direction === 'forward';
  let unconfirmed: string[] = [];
  if (cleans && cleanup.beforeCreate === true) {
    const room = await makeRoom(series);
    if ('ended' in room) return room.ended;
    if (room.ready.kind === 'done') unconfirmed = room.ready.stopUnconfirmed ?? [];
  }
  const ended = await (step === undefined ? carryOut(series) : carryOutStep(series, step));
  const carried = unconfirmed.length === 0 ? ended : alsoUnconfirmed(ended, unconfirmed);
  const outcome = cleans ? await removeMade(series, carried) : carried;
  if (optional !== true || outcome.phase !== 'Failed' || outcome.reason === 'Cancelled') return outcome;
  const { message, round, retryCount } = outcome;
  return { phase: 'Skipped', reason: 'NotDelivered', message, round, retryCount };
}

/** Adds what was in the way of an action, and may still run, to what the action itself reports as unconfirmed. */
function alsoUnconfirmed(outcome: ActionOutcome, places: readonly string[]): ActionOutcome {
  if (outcome.phase === 'Skipped') return outcome;
  const { outputs } = outcome;
  return {
    ...outcome,
    outputs: { ...outputs, stopUnconfirmed: [...places, ...(outputs?.stopUnconfirmed ?? [])] },
  };
}

/** Deletes what is in the way of a hook, or returns how the action ends without having begun. */
function makeRoom({ task, bounds }: SeriesSetup): ReturnType<typeof prepareEffect<CleanupOutcome>> {
  return prepareEffect(
    task,
    () =>
      helperActivities(`make room: ${task.name}`, { run: task.run, bounds }).cleanUp({
        ...withStop(task, bounds),
        moment: 'before',
      }),
    {
      cancelled: 'cancelled before the hook was created',
      reason: 'HookCleanupFailed',
      problem: 'what an earlier run has left is in the way and could not be removed',
    },
  );
}

/** Deletes what a hook has created, where its outcome calls for that. The outcome keeps its phase. */
async function removeMade(
  { input, task, bounds }: SeriesSetup,
  outcome: ActionOutcome,
): Promise<ActionOutcome> {
  if (outcome.phase === 'Skipped') return outcome;
  const { onSuccess, onFailure } = input.cleanup ?? {};
  const { outputs } = outcome;
  const isWanted = outcome.phase === 'Succeeded' ? onSuccess === true : onFailure === true;
  const isThere = outputs?.jobRef !== undefined || (outputs?.created ?? []).length > 0;
  if (!isWanted || !isThere) return outcome;
  const told = (text: string): ActionOutcome => ({
    ...outcome,
    message: outcome.message === undefined ? text : `${outcome.message}; ${text}`,
  });
  try {
    const cleaned = await CancellationScope.nonCancellable(() =>
      helperActivities(`remove: ${task.name}`, { run: task.run, bounds }).cleanUp({
        ...task,
        moment: 'after',
        made: outputs,
        ...(outcome.seal !== undefined && { madeSeal: outcome.seal }),
      }),
    );
    return cleaned.message === undefined ? outcome : told(cleaned.message);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return told(`what it has created could not be removed: ${innermost(error)}`);
  }
}

async function carryOut(series: SeriesSetup): Promise<ActionOutcome> {
  const { input, task } = series;
  const shielded = input.interruptible ? run : CancellationScope.nonCancellable.bind(CancellationScope);

  let prior: PriorRef | undefined;
  if (input.capture && task.direction === 'forward') {
    const captured = await recordPrior(series);
    if ('ended' in captured) return captured.ended;
    prior = captured.prior;
  }

  const { type } = task;
  if (isStepType(type)) throw new Error(`no activity carries out ${type}`);
  const withPrior = withStop(prior === undefined ? task : { ...task, prior }, series.bounds);
  const letsGo = traitsOf(type).isWait === true && patched(WAIT_LETS_GO);
  const options = { scheduleToCloseMs: series.totalMs ?? serverTotal(input), letsGo };
  try {
    return whole(
      await shielded(() => actionActivities(input, withPrior, options)[activityOf(type)](withPrior)),
    );
  } catch (error) {
    if (!(error instanceof ActivityFailure) && !(error instanceof CancelledFailure)) throw error;
    return letsGo && isCancellation(error) ? abandonWait(task) : settle(series, withPrior, error);
  }
}

/** A wait changes nothing, so an abandoned one needs no settling. */
const abandonWait = ({ round }: ActionTask): ActionOutcome => ({
  phase: 'Failed',
  reason: 'Cancelled',
  message: 'cancelled while it waited',
  effect: 'None',
  round,
  retryCount: 0,
});

const run = <T>(fn: () => Promise<T>): Promise<T> => fn();

/** The activity keeps to the total itself; the server's bound only catches attempts that are lost again and again. */
const serverTotal = (input: ActionInput): number | undefined =>
  input.totalTimeoutMs === undefined ? undefined : input.totalTimeoutMs + 60_000;

async function recordPrior({
  task,
  bounds,
}: SeriesSetup): Promise<{ ended: ActionOutcome } | { prior: PriorRef | undefined }> {
  const recorded = await prepareEffect(
    task,
    () => helperActivities(`record prior state: ${task.name}`, { run: task.run, bounds }).capture(task),
    {
      cancelled: 'cancelled before anything was changed',
      reason: 'CaptureFailed',
      problem: 'the state before the action could not be recorded, so nothing was changed',
    },
  );
  if ('ended' in recorded) return recorded;
  return { prior: recorded.ready.kind === 'captured' ? recorded.ready.prior : undefined };
}

/** An attempt that ended without an outcome may have had its effect: find it, stop it, say what became of it. */
async function settle(series: SeriesSetup, task: ActionTask, cause: Error): Promise<ActionOutcome> {
  const cancelled = isCancellation(cause);
  const because = cancelled ? 'cancelled' : isUnsettled(cause) ? 'timedOut' : 'interrupted';
  const why = cancelled
    ? { reason: 'Cancelled', message: 'cancelled while it ran' }
    : {
        reason: isTimeout(cause) || isUnsettled(cause) ? 'Timeout' : 'Interrupted',
        message: isUnsettled(cause) ? innermost(cause) : `ended without an answer: ${innermost(cause)}`,
      };
  try {
    const outcome = whole(
      await CancellationScope.nonCancellable(() => settleTask(task, series.bounds, because)),
    );
    if (outcome.phase !== 'Failed') return outcome;
    return { ...outcome, ...why, message: `${why.message}; ${outcome.message}` };
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return {
      phase: 'Failed',
      reason: why.reason,
      message: `${why.message}; whether it had its effect could not be found out: ${innermost(error)}`,
      effect: 'Unknown',
      round: task.round,
      retryCount: 0,
    };
  }
}

/** The attempt timed out, and leaves what it has begun to `settle`. */
const isUnsettled = ({ cause }: Error): boolean =>
  cause instanceof ApplicationFailure && cause.type === UNSETTLED;

const isTimeout = (error: Error): boolean => error.cause instanceof TimeoutFailure;

/** An activity's outcome with the output fields restored that were left out in transit. */
export function whole(outcome: ActionOutcome): ActionOutcome {
  if (outcome.phase === 'Skipped' || outcome.outputs === undefined) return outcome;
  const { same, outputs, ...rest } = outcome;
  return { ...rest, outputs: wholeOutputs({ outputs, ...(same !== undefined && { same }) }) };
}
