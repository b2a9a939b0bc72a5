import { activityInfo, ApplicationFailure, CancelledFailure, heartbeat } from '@temporalio/activity';
import { DEFAULT_RETRY } from '../../api/plan/actions/default-retry.js';
import { formatDuration } from '../../api/core/duration.js';
import type { Retry } from '../../api/plan/snapshot/run.js';
import type { ActionOutputs } from '../../api/plan/types.js';
import { UNSETTLED } from '../../workflows/plan/contract-tasks.js';
import type { ActionOutcome, ActionTask } from '../../workflows/plan/contract-tasks.js';
import type { AbortReason, AttemptResult, Memo } from './handler.js';
import type { Notes } from './notes.js';

type Effect = 'Done' | 'None' | 'Unknown';
type Result<Kind extends AttemptResult['kind']> = Extract<AttemptResult, { kind: Kind }>;

/** What the attempts of one activity leave to each other, as heartbeat details. */
interface Progress {
  /** Attempts that ended in a failure. A lost attempt is none (S3.4). */
  failures: number;
  round: number;
  /** All attempts up to this one have left no doubt about the effect of the round; absent means none has. */
  clearTo?: number;
  /** The strongest effect that a failed attempt may have had. */
  effect?: Effect;
  /** How the last failed attempt ended. */
  last?: { reason: string; message: string };
  outputs?: ActionOutputs;
  /** What the handler remembers within a round. */
  memo?: Memo;
}

/** A shorter wait is not shown: it is over before anybody could read it. */
const TOLD_WAIT_MS = 1_000;
/** After this many failures, waits are no longer shown: each note adds to a history. */
const TOLD_FAILURES = 100;
/** An attempt given up for a shutdown or a pause is taken up again at once. */
const AT_ONCE_MS = 1;
const MAX_MESSAGE = 1500;

/**
 * The series of attempts that one activity makes: counts failures and rounds, and turns the result of an attempt into
 * the outcome of the action or into a failure that Temporal retries.
 */
export interface Series {
  readonly progress: Readonly<Progress>;
  /** Milliseconds that are left of `totalTimeout`; Infinity without one. */
  timeLeft(): number;
  remember(memo: Memo): void;
  /**
   * How an attempt ended, given why its signal was aborted, if it was.
   *
   * @throws ApplicationFailure when there is another attempt
   */
  conclude(result: AttemptResult, aborted: AbortReason | undefined): ActionOutcome;
  /** The outcome when no time is left. */
  totalTimeout(): ActionOutcome;
}

/**
 * Takes up the series where the last attempt has left it. Must be called inside an activity.
 *
 * @param notes shows what the action waits for between two attempts
 */
export function resumeSeries(task: ActionTask, notes: Notes): Series {
  const info = activityInfo();
  const kept = info.heartbeatDetails as Progress | undefined;
  const progress: Progress = kept === undefined ? { failures: 0, round: task.round } : { ...kept };
  const state: State = {
    task,
    retry: task.retry ?? DEFAULT_RETRY,
    notes,
    attempt: info.attempt,
    progress,
    lost: info.attempt - 1 > progress.failures,
    until: task.totalTimeoutMs === undefined ? Infinity : info.scheduledTimestampMs + task.totalTimeoutMs,
  };
  return {
    progress,
    timeLeft: () => state.until - Date.now(),
    remember(memo) {
      progress.memo = memo;
      heartbeat({ ...progress });
    },
    totalTimeout: () => totalTimeout(state),
    conclude: (result, aborted) => conclude(state, result, aborted),
  };
}

/** A series as one attempt has found it. */
interface State {
  task: ActionTask;
  retry: Readonly<Retry>;
  notes: Notes;
  /** Number of this attempt, from 1. */
  attempt: number;
  /** Changed in place. */
  progress: Progress;
  /** An attempt was lost, or given up without being counted, and may have had its effect. */
  lost: boolean;
  /** Milliseconds since the epoch at which `totalTimeout` is used up; Infinity without one. */
  until: number;
}

function conclude(state: State, result: AttemptResult, aborted: AbortReason | undefined): ActionOutcome {
  const { progress } = state;
  const counts = { round: progress.round, retryCount: progress.failures };
  switch (result.kind) {
    case 'succeeded':
      return {
        phase: 'Succeeded',
        ...(result.message !== undefined && { message: cutMessage(result.message) }),
        ...(result.outputs !== undefined && { outputs: result.outputs }),
        ...counts,
      };
    case 'skipped':
      return { phase: 'Skipped', reason: result.reason, message: cutMessage(result.message), ...counts };
    case 'failed':
      return failed(state, result, progress.failures);
    case 'retry':
      return aborted === 'cancelled' ? cancelled(state, result) : count(state, result);
    case 'interrupted':
      return interrupted(state, result, aborted);
  }
}

function failed(
  { progress, lost }: State,
  ending: { reason: string; message: string; effect: Effect; outputs?: ActionOutputs },
  retryCount: number,
): ActionOutcome {
  const outputs = ending.outputs ?? progress.outputs;
  const effect = stronger(progress.effect ?? 'None', ending.effect);
  return {
    phase: 'Failed',
    reason: ending.reason,
    message: cutMessage(ending.message),
    ...(outputs !== undefined && { outputs }),
    effect: effect === 'None' && lost ? 'Unknown' : effect,
    round: progress.round,
    retryCount,
  };
}

function cancelled(state: State, result: Result<'retry' | 'interrupted'>): ActionOutcome {
  const { progress, lost } = state;
  // What an earlier attempt has left behind and this one has not seen is found by `settle`.
  const mayBeLeft = result.outputs === undefined && (lost || (progress.effect ?? 'None') !== 'None');
  if (mayBeLeft) throw new CancelledFailure(result.message ?? 'cancelled while it ran');
  return failed(
    state,
    {
      ...result,
      reason: 'Cancelled',
      message: `cancelled while it ran${result.message === undefined ? '' : `: ${result.message}`}`,
      effect: effectOf(result),
    },
    progress.failures,
  );
}

function totalTimeout(state: State): ActionOutcome {
  const { failures, last } = state.progress;
  const when =
    failures === 0 ? 'before an attempt ended' : `after ${failures} attempt${failures === 1 ? '' : 's'}`;
  const because = last === undefined ? '' : ` (last: ${last.message})`;
  const limit = formatDuration(state.task.totalTimeoutMs ?? 0);
  return failed(
    state,
    {
      reason: 'TotalTimeout',
      message: `totalTimeout ${limit} is used up ${when}${because}`,
      effect: 'None',
    },
    Math.max(0, failures - 1),
  );
}

/** Counts a failed attempt, and ends the series when nothing is left of the limit or of the time. */
function count(state: State, result: Result<'retry'>): ActionOutcome {
  const { progress, retry, until } = state;
  progress.failures += 1;
  progress.effect = stronger(progress.effect ?? 'None', effectOf(result));
  progress.last = { reason: result.reason, message: cutMessage(result.message) };
  if (result.outputs !== undefined) progress.outputs = result.outputs;

  if (Date.now() >= until) return totalTimeout(state);
  const { failures } = progress;
  if (failures > retry.limit) {
    const message =
      failures === 1 ? result.message : `failed after ${failures} attempts (last: ${result.message})`;
    return failed(state, { reason: result.reason, message, effect: 'None' }, failures - 1);
  }
  const asked = Math.min(result.afterMs ?? 0, retry.maxIntervalMs);
  const delay = Math.max(policyDelay(retry, failures), asked);
  if (Date.now() + delay >= until) return totalTimeout(state);

  if (isClearAfter(state, result)) {
    progress.clearTo = state.attempt;
    progress.round += 1;
    delete progress.memo;
  }
  tellWait(state, result.message, delay);
  throw giveUp(state, result.reason, result.message, delay);
}

/** Between two attempts, nothing else shows what went wrong, and when it goes on. */
function tellWait({ progress, retry, notes, task }: State, message: string, delay: number): void {
  const { failures } = progress;
  if (delay < TOLD_WAIT_MS || failures > TOLD_FAILURES) return;
  const next = new Date(Date.now() + delay).toISOString();
  notes.send({
    at: task.at,
    message: cutMessage(
      `attempt ${failures} of ${retry.limit + 1} failed, the next one comes at ${next}: ${message}`,
    ),
    retryCount: failures,
  });
}

/**
 * Whether nothing of the round can still come about, so that the next attempt may be a new effect. A refusal, which may
 * come from something in front of the receiver, says so only when no attempt before it was lost, given up, or Unclear.
 */
function isClearAfter({ progress, attempt }: State, { round }: Result<'retry'>): boolean {
  switch (round) {
    case 'Unclear':
      return false;
    case 'Refused':
      return (progress.clearTo ?? 0) >= attempt - 1;
    case 'Settled':
      return true;
  }
}

/** The last heartbeat before a failure reaches the server together with it, so the next attempt finds the count. */
function giveUp({ progress }: State, reason: string, message: string, afterMs: number): ApplicationFailure {
  heartbeat({ ...progress });
  return tryAgain(reason, message, afterMs);
}

function interrupted(
  state: State,
  result: Result<'interrupted'>,
  aborted: AbortReason | undefined,
): ActionOutcome {
  const { progress, task } = state;
  switch (aborted) {
    case 'cancelled':
      // Ends the activity without an outcome, so that the workflow settles it.
      if (result.unsettled === true) throw new CancelledFailure(result.message ?? 'cancelled while it ran');
      return cancelled(state, result);
    case 'timeout':
      if (result.isFinal === true && result.unsettled === true) {
        throw ApplicationFailure.create({
          type: UNSETTLED,
          message: cutMessage(result.message ?? 'timed out'),
          nonRetryable: true,
          category: 'BENIGN',
        });
      }
      return count(state, {
        ...result,
        kind: 'retry',
        reason: 'Timeout',
        message: result.message ?? `no end within its timeout of ${formatDuration(task.timeoutMs)}`,
        round: result.effect === 'None' ? 'Refused' : 'Unclear',
      });
    case 'shutdown':
    case 'paused':
    case undefined: {
      if (result.outputs !== undefined) progress.outputs = result.outputs;
      const reason = aborted === 'paused' ? 'Paused' : 'WorkerShutdown';
      throw giveUp(
        state,
        reason,
        'this attempt was given up; another one goes on with the same effect',
        AT_ONCE_MS,
      );
    }
  }
}

/** The failure that makes Temporal start another attempt after `afterMs`, or after the wait that the activity was given. */
export function tryAgain(reason: string, message: string, afterMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    type: reason,
    message: cutMessage(message),
    // An action that fails is news for its execution, not for the worker's log.
    ...(reason !== 'InternalError' && { category: 'BENIGN' }),
    ...(afterMs !== undefined && { nextRetryDelay: Math.max(AT_ONCE_MS, afterMs) }),
  });
}

/** Bounds a message: it travels through histories and into a status. */
export const cutMessage = (text: string): string =>
  text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`;

function effectOf(result: Result<'retry' | 'interrupted'>): Effect {
  if (result.kind === 'interrupted') return result.effect;
  return result.effect ?? (result.round === 'Unclear' ? 'Unknown' : 'None');
}

function stronger(a: Effect, b: Effect): Effect {
  if (a === 'Done' || b === 'Done') return 'Done';
  return a === 'Unknown' || b === 'Unknown' ? 'Unknown' : 'None';
}

/** The wait that the retry policy gives after so many failures. */
function policyDelay(retry: Readonly<Retry>, failures: number): number {
  const delay = retry.intervalMs * retry.backoffMultiplier ** (failures - 1);
  return Math.min(delay, Math.max(retry.maxIntervalMs, retry.intervalMs));
}
