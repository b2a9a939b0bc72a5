/**
 * The frame around every action activity: one call is one attempt. It gives signs of life, bounds times, turns cancel
 * and shutdown into the handler's signal, and leaves counting to the {@link Series}.
 */
import { activityInfo } from '@temporalio/activity';
import type {
  ActionOutcome,
  ActionTask,
  CaptureOutcome,
  NotBegun,
  TargetsOutcome,
} from '../../workflows/plan/contract-tasks.js';
import { PODS_REMAIN, StaleAttempt } from './handler.js';
import type { AbortReason, Attempt, AttemptResult, Handler } from './handler.js';
import { dispatch, fromException, prepare } from './prepare.js';
import type { AttemptDeps, Inherited } from './prepare.js';
import { startPulse } from './pulse.js';
import type { Pulse } from './pulse.js';
import { cutMessage, resumeSeries, tryAgain } from './series.js';
import type { Series } from './series.js';
import { NotYetVouched, tryVouchedAgain } from './vouching.js';

/** Longest time of one attempt to capture or to settle; the server waits a minute. */
export const HELPER_TIMEOUT_MS = 45_000;

/** Carries out the effect of a task, or its undo. One call is one attempt. */
export async function runAction(
  task: ActionTask,
  handler: Handler,
  deps: AttemptDeps,
): Promise<ActionOutcome> {
  const series = resumeSeries(task, deps.notes);
  const left = series.timeLeft();
  if (left <= 0) return series.totalTimeout();
  return attempt('act', Math.min(task.timeoutMs, left), { task, handler, deps, series }, (result, pulse) =>
    series.conclude(result, abortReason(pulse)),
  );
}

/**
 * Settles a task: retried until it is done or the workflow's bound is reached, since what is left behind matters more
 * than how often it was tried.
 */
export async function settleAction(
  task: ActionTask,
  handler: Handler,
  deps: AttemptDeps,
): Promise<ActionOutcome> {
  const series = resumeSeries(task, deps.notes);
  return attempt('settle', HELPER_TIMEOUT_MS, { task, handler, deps, series }, (result, pulse) => {
    switch (result.kind) {
      case 'retry':
        return settleLater(result, series, task);
      case 'interrupted':
        throw tryAgain('Interrupted', result.message ?? 'interrupted before it was settled');
      case 'succeeded':
      case 'skipped':
      case 'failed':
        return series.conclude(result, abortReason(pulse));
    }
  });
}

/** Tries again: at once where pods are waited for, and not for ever where nothing can be found out about a Job. */
function settleLater(
  result: Extract<AttemptResult, { kind: 'retry' }>,
  series: Series,
  task: ActionTask,
): ActionOutcome {
  const { stop } = task;
  const { memo } = series.progress;
  if (result.reason === PODS_REMAIN) {
    series.remember({ ...memo, failed: 0 });
    throw tryAgain(result.reason, result.message, 1);
  }
  const failed = Number(memo?.failed ?? 0) + 1;
  series.remember({ ...memo, failed });
  if (stop === undefined || failed < stop.tries)
    throw tryAgain(result.reason, result.message, result.afterMs);
  const { reason, outputs } = result;
  return series.conclude(
    {
      kind: 'failed',
      reason,
      message: `whether it has stopped could not be found out: ${result.message}`,
      outputs: { ...outputs, stopUnconfirmed: outputs?.stopUnconfirmed ?? [`Job of action "${task.name}"`] },
      effect: 'Unknown',
    },
    undefined,
  );
}

/** Records the state before the effect of a task. */
export async function captureAction(
  task: ActionTask,
  handler: Handler,
  deps: AttemptDeps,
): Promise<CaptureOutcome> {
  if (handler.capture === undefined) return { kind: 'none' };
  return prepareEffect(task, deps, {
    look: async (attempt) => (await handler.capture?.(attempt)) ?? { kind: 'none' },
    cut: 'interrupted before the state was recorded',
  });
}

/** Finds the clusters of an action per cluster. */
export async function targetsAction(
  task: ActionTask,
  handler: Handler,
  deps: AttemptDeps,
): Promise<TargetsOutcome> {
  const outcome = await prepareEffect(task, deps, {
    look: (attempt) => {
      if (handler.targets === undefined) throw new Error(`an action of type ${task.type} has no clusters`);
      return handler.targets(attempt);
    },
    cut: 'interrupted before the clusters were known',
  });
  if (outcome.kind !== 'clusters') return outcome;
  return { ...outcome, clusters: outcome.clusters.map((target) => deps.vouching.cluster(task, target)) };
}

/** Does what comes before an effect and has none itself; `when` is evaluated first. */
async function prepareEffect<T extends { kind: string }>(
  task: ActionTask,
  deps: AttemptDeps,
  options: { look: (attempt: Attempt) => Promise<T>; cut: string },
): Promise<T | NotBegun> {
  const series = resumeSeries(task, deps.notes);
  const pulse = pulseOf(series, HELPER_TIMEOUT_MS, deps);
  let result: AttemptResult;
  try {
    let looked: T | undefined;
    const done = await byFreshPolicies<{ kind: string; reason?: string; effect?: string }>(deps, async () => {
      const prepared = await prepare(task, 'capture', pulse, inherited(series), deps);
      looked = undefined;
      if (!('attempt' in prepared)) return prepared;
      looked = await options.look(prepared.attempt);
      return looked;
    });
    if (looked !== undefined) return cutShort(looked);
    result = done as AttemptResult;
  } catch (error) {
    result = readError(error, task, pulse, deps);
  } finally {
    pulse.stop();
  }
  return notBegun(result, pulse, options.cut);
}

/**
 * How an activity without an effect ends when it did not achieve its purpose.
 *
 * @param cut message when it was interrupted
 * @throws ApplicationFailure when it has to be tried again
 */
export function notBegun(result: AttemptResult, pulse: Pulse, cut: string): NotBegun {
  switch (result.kind) {
    case 'skipped':
    case 'failed':
      return { kind: result.kind, reason: result.reason, message: cutMessage(result.message) };
    case 'retry':
      throw tryAgain(result.reason, result.message, result.afterMs);
    case 'interrupted':
      if (abortReason(pulse) === 'cancelled') {
        return { kind: 'failed', reason: 'Cancelled', message: 'cancelled before anything was changed' };
      }
      throw tryAgain('Interrupted', cut);
    case 'succeeded':
      throw new Error('a preparation ended as if it were an action');
  }
}

const cutShort = <T extends { kind: string; message?: string }>(outcome: T): T =>
  outcome.message === undefined ? outcome : { ...outcome, message: cutMessage(outcome.message) };

interface Work {
  task: ActionTask;
  handler: Handler;
  deps: AttemptDeps;
  series: Series;
}

async function attempt(
  method: 'act' | 'settle',
  timeoutMs: number,
  work: Work,
  conclude: (result: AttemptResult, pulse: Pulse) => ActionOutcome,
): Promise<ActionOutcome> {
  const { task, handler, deps, series } = work;
  const pulse = pulseOf(series, timeoutMs, deps);
  try {
    let result: AttemptResult;
    try {
      let hasLooked = false;
      result = await byFreshPolicies(deps, async () => {
        const prepared = await prepare(task, method, pulse, inherited(series), deps);
        hasLooked = 'attempt' in prepared;
        return 'attempt' in prepared ? carryOut(handler, method, prepared.attempt) : prepared;
      });
      if (method === 'settle' && !hasLooked) result = notFoundOut(result);
    } catch (error) {
      result = readError(error, task, pulse, deps);
      if (method === 'settle') result = notFoundOut(result);
    }
    return deps.vouching.outcome(task, conclude(result, pulse));
  } finally {
    pulse.stop();
  }
}

/** How an action goes is news for its execution; whoever looks for a fault sees it in the log too. */
async function carryOut(
  handler: Handler,
  method: 'act' | 'settle',
  prepared: Attempt,
): Promise<AttemptResult> {
  const result = await dispatch(handler, method, prepared);
  const { kind } = result;
  const attempt = activityInfo().attempt;
  prepared.log.debug(
    { attempt, kind, ...('reason' in result && { reason: result.reason }) },
    'attempt ended',
  );
  return result;
}

/** What cannot be looked at may have happened: a failure to settle never means that there was no effect. */
const notFoundOut = (result: AttemptResult): AttemptResult =>
  result.kind === 'failed'
    ? {
        ...result,
        message: `whether it had its effect could not be found out: ${result.message}`,
        effect: 'Unknown',
      }
    : result;

/** Policies are cached for seconds: what they refuse is tried once more with policies read anew. */
async function byFreshPolicies<T extends { kind: string; reason?: string; effect?: string }>(
  { policies }: AttemptDeps,
  work: () => Promise<T>,
): Promise<T> {
  const result = await work();
  const isHarmless = result.effect === undefined || result.effect === 'None';
  if (result.kind !== 'failed' || result.reason !== 'PolicyRefused' || !isHarmless) return result;
  policies.forget();
  return work();
}

/** What an exception in an attempt means; one that was overtaken is tried again. */
export function readError(error: unknown, task: ActionTask, pulse: Pulse, deps: AttemptDeps): AttemptResult {
  // The current attempt goes on with it; this one is not counted.
  if (error instanceof StaleAttempt) throw tryAgain('StaleAttempt', error.message, 1);
  if (error instanceof NotYetVouched) {
    if (activityInfo().attempt === 1) deps.notes.send({ at: task.at, message: error.message });
    throw tryVouchedAgain(error);
  }
  return fromException(error, task, pulse, deps.log);
}

/** The pulse of an attempt of a series: each beat carries what the next attempt has to know. */
export const pulseOf = (series: Series, timeoutMs: number, { heartbeats }: AttemptDeps): Pulse =>
  startPulse({ timeoutMs, details: () => ({ ...series.progress }), heartbeats });

/** What earlier attempts of the series leave to this one. */
export const inherited = (series: Series): Inherited => ({
  round: series.progress.round,
  attempt: activityInfo().attempt,
  failures: series.progress.failures,
  ...(series.progress.memo !== undefined && { memo: series.progress.memo }),
  remember: (memo) => series.remember(memo),
});

/** Why the signal was aborted, once it is. */
const abortReason = (pulse: Pulse): AbortReason | undefined =>
  pulse.signal.aborted ? (pulse.signal.reason as AbortReason) : undefined;
