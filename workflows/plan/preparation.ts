import { ActivityFailure, CancelledFailure, isCancellation } from '@temporalio/workflow';
import { innermost } from '../core/failure.js';
import type { ActionOutcome, ActionTask, NotBegun } from './contract-tasks.js';

/**
 * Asks an activity for what an effect needs beforehand. Returns it, or how the action ends without having begun.
 *
 * @param words.cancelled message when a cancel came first
 * @param words.reason reason of the action when it could not be obtained
 * @param words.problem message when it could not be obtained; the cause is appended
 */
export async function prepareEffect<T extends { kind: string }>(
  { round }: Pick<ActionTask, 'round'>,
  ask: () => Promise<T | NotBegun>,
  words: { cancelled: string; reason: string; problem: string },
): Promise<{ ready: T } | { ended: ActionOutcome }> {
  const none = { round, retryCount: 0 };
  try {
    const outcome = await ask();
    if (!isNotBegun(outcome)) return { ready: outcome };
    const { kind, reason, message } = outcome;
    return {
      ended:
        kind === 'skipped'
          ? { phase: 'Skipped', reason, message, ...none }
          : { phase: 'Failed', reason, message, effect: 'None', ...none },
    };
  } catch (error) {
    if (!(error instanceof ActivityFailure) && !(error instanceof CancelledFailure)) throw error;
    const why = isCancellation(error)
      ? { reason: 'Cancelled', message: words.cancelled }
      : { reason: words.reason, message: `${words.problem}: ${innermost(error)}` };
    return { ended: { phase: 'Failed', ...why, effect: 'None', ...none } };
  }
}

const isNotBegun = (outcome: { kind: string }): outcome is NotBegun =>
  outcome.kind === 'skipped' || outcome.kind === 'failed';
