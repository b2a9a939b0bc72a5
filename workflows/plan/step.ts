import { ActivityFailure, CancellationScope, CancelledFailure, sleep } from '@temporalio/workflow';
import { formatDuration } from '../../api/core/duration.js';
import type { StepInput } from '../../api/plan/actions/step-input.js';
import { positionOf } from '../../api/plan/undo/undo.js';
import { innermost } from '../core/failure.js';
import type { ActionOutcome, Decision } from './contract-tasks.js';
import { carryOutPlan } from './nested-plan.js';
import { helperActivities } from './options.js';
import type { SeriesSetup } from './series.js';

/**
 * Carries out an action that is a condition of the workflow itself (docs/semantics.md#other-types): nothing waits in a
 * worker meanwhile, so it may take days. Always ends with an outcome; a cancel ends it at once.
 */
export async function carryOutStep(series: SeriesSetup, step: StepInput): Promise<ActionOutcome> {
  if (step.kind === 'plan') return carryOutPlan(series, step);
  const { input, task } = series;
  const shielded = <T>(fn: () => Promise<T>): Promise<T> =>
    input.interruptible ? fn() : CancellationScope.nonCancellable(fn);
  const none = { round: task.round, retryCount: 0 };
  try {
    const decision = await decide(series, step);
    switch (decision.kind) {
      case 'skipped':
        return { phase: 'Skipped', reason: decision.reason, message: decision.message, ...none };
      case 'failed':
        return {
          phase: 'Failed',
          reason: decision.reason,
          message: decision.message,
          effect: 'None',
          ...none,
        };
      case 'approval': {
        if (series.approvals === undefined) throw new Error('an approval outside a stage');
        const outcome = await series.approvals.wait(positionOf(task.at), decision, series.say);
        return { ...outcome, ...none };
      }
      case 'timer': {
        const { ms } = decision;
        series.say?.(`waits until ${new Date(Date.now() + ms).toISOString()}`);
        await shielded(() => sleep(ms));
        return { phase: 'Succeeded', message: `waited ${formatDuration(ms)}`, ...none };
      }
    }
  } catch (error) {
    if (error instanceof CancelledFailure || CancellationScope.current().consideredCancelled) {
      return {
        phase: 'Failed',
        reason: 'Cancelled',
        message: 'cancelled while it waited',
        effect: 'None',
        ...none,
      };
    }
    if (!(error instanceof ActivityFailure)) throw error;
    return {
      phase: 'Failed',
      reason: 'NotDecided',
      message: `what to wait for could not be found out: ${innermost(error)}`,
      effect: 'None',
      ...none,
    };
  }
}

function decide({ task, bounds }: SeriesSetup, step: StepInput): Promise<Decision> | Decision {
  if (step.kind === 'timer' && step.ms !== undefined) return { kind: 'timer', ms: step.ms };
  return helperActivities(`decide: ${task.name}`, { run: task.run, bounds }).decide(task);
}
