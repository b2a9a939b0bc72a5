import { ActivityFailure, CancellationScope, condition, isCancellation, sleep } from '@temporalio/workflow';
import { formatDuration } from '../../api/core/duration.js';
import type { StepInput } from '../../api/plan/actions/step-input.js';
import { bridgeActivities } from '../core/bridge-activities.js';
import { innermost } from '../core/failure.js';
import type { BridgeActivities, NestedOutcome, NestedRef, NestedState } from './contract-bridge.js';
import type { ActionOutcome } from './contract-tasks.js';
import type { SeriesSetup } from './series.js';

/** Looks become rarer with time, so that a run of many days stays below the limits of a history. */
const LOOK = { minMs: 2_000, maxMs: 900_000 };
/** Pauses between looks once the nested plan has been asked to end. */
const LOOK_AT_STOP = { minMs: 1_000, maxMs: 60_000 };

type Stop = 'Cancelled' | 'Timeout';

/**
 * Runs a nested plan in an execution of its own, or undoes what such a run did, and waits for the end (S3.58). The
 * bridge does what has to be done, one look at a time; between two looks nothing waits but a timer.
 *
 * A cancel and the timeout end the nested execution and wait for that: when this returns, nothing of it acts any more.
 */
export async function carryOutPlan(
  series: SeriesSetup,
  step: Extract<StepInput, { kind: 'plan' }>,
): Promise<ActionOutcome> {
  const { input, task, nudges, say } = series;
  const nudged = (): number => nudges?.count() ?? 0;
  const counts = { round: task.round, retryCount: 0 };
  const outer = CancellationScope.current();
  if (outer.consideredCancelled) return { ...ended('Cancelled', 'cancelled before it began'), ...counts };
  const timeoutMs = timeOf(series, step);
  const bridge = bridgeActivities<BridgeActivities>(task.run, `look: ${task.name}`);

  return CancellationScope.nonCancellable(async () => {
    const { clock, state } = armStop({ outer: input.interruptible ? outer : undefined, timeoutMs });
    let known: NestedRef | undefined;
    let asked: Stop | undefined;
    let since = Date.now();
    let said: string | undefined;
    for (;;) {
      if (asked !== state.stop) since = Date.now();
      asked = state.stop;
      const seen = nudged();
      let found: NestedState;
      try {
        state.looking = new CancellationScope();
        found = await state.looking.run(() =>
          bridge.nestedPlan({
            task,
            ...(known !== undefined && { known }),
            ...(asked !== undefined && { stop: true }),
            ...(asked !== undefined && nudges?.forced() === true && { force: true }),
          }),
        );
      } catch (error) {
        // The stop came before this look was answered: the next look carries it.
        if (isCancellation(error) && asked !== state.stop) continue;
        if (!(error instanceof ActivityFailure)) throw error;
        clock.cancel();
        const why = `what became of the nested plan could not be found out: ${innermost(error)}`;
        return { ...ended('NotDecided', why, 'Unknown'), ...counts };
      } finally {
        delete state.looking;
      }
      if (found.kind === 'ended') {
        clock.cancel();
        return { ...explain(found.outcome, asked, timeoutMs), ...counts };
      }
      // The message holds name and phase.
      if (said !== found.message) say?.(found.message, { planExecutionRef: found.ref });
      said = found.message;
      known = found.ref;
      const { minMs, maxMs } = asked === undefined ? LOOK : LOOK_AT_STOP;
      const pauseMs = Math.min(Math.max((Date.now() - since) / 4, minMs), maxMs);
      await condition(() => nudged() !== seen || state.stop !== asked, Math.round(pauseMs), {
        summary: 'until the nested execution changes',
      });
    }
  });
}

/** What ends a nested plan before its own end. */
interface Stopping {
  /** Holds the timer of the timeout; to be cancelled when the nested plan has ended. */
  clock: CancellationScope;
  state: {
    /** Why it is to be ended, once it is. */
    stop?: Stop;
    /** The look that waits for an answer: a stop cuts it short. */
    looking?: CancellationScope;
  };
}

/**
 * Begins to listen for a cancel, and starts the clock.
 *
 * @param options.outer the scope whose cancel ends the nested plan; undefined where none does
 */
function armStop({
  outer,
  timeoutMs,
}: {
  outer: CancellationScope | undefined;
  timeoutMs: number | undefined;
}): Stopping {
  const clock = new CancellationScope();
  const state: Stopping['state'] = {};
  const halt = (why: Stop): void => {
    if (state.stop !== undefined) return;
    state.stop = why;
    state.looking?.cancel();
  };
  outer?.cancelRequested.catch(() => {
    halt('Cancelled');
  });
  if (timeoutMs !== undefined) {
    clock
      .run(() => sleep(timeoutMs, { summary: 'timeout' }))
      .then(
        () => {
          halt('Timeout');
        },
        () => undefined,
      );
  }
  return { clock, state };
}

/**
 * An inverse is no attempt of the action: undoing a plan with a timeout of one minute may still take as long as any
 * undo. A plan without a timeout has no limit either way.
 */
function timeOf(
  { input, task, bounds }: SeriesSetup,
  { timeoutMs }: Extract<StepInput, { kind: 'plan' }>,
): number | undefined {
  const isInverse = task.direction === 'undo' && input.rollback === undefined;
  return isInverse && timeoutMs !== undefined ? Math.max(timeoutMs, bounds.undoStepMs) : timeoutMs;
}

const ended = (
  reason: string,
  message: string,
  effect: 'None' | 'Unknown' = 'None',
): Extract<NestedOutcome, { phase: 'Failed' }> => ({ phase: 'Failed', reason, message, effect });

/** What was stopped did not fail by itself. */
function explain(
  outcome: NestedOutcome,
  stop: Stop | undefined,
  timeoutMs: number | undefined,
): NestedOutcome {
  if (stop === undefined || outcome.phase !== 'Failed') return outcome;
  const why =
    stop === 'Cancelled'
      ? 'cancelled while it ran'
      : `no end within its timeout of ${formatDuration(timeoutMs ?? 0)}`;
  return { ...outcome, reason: stop, message: `${why}; ${outcome.message}` };
}
