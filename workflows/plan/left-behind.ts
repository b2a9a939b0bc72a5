import { ActivityFailure, CancellationScope, sleep } from '@temporalio/workflow';
import { bridgeActivities } from '../core/bridge-activities.js';
import { whole } from './action.js';
import type { RunBounds, RunIdentity } from './contract.js';
import type { BridgeActivities } from './contract-bridge.js';
import type { ActionOutcome, ActionTask } from './contract-tasks.js';
import type { Settled } from './contract-updates.js';
import { HEARTBEAT_TIMEOUT_MS, settleTask } from './options.js';

/**
 * By then an attempt that still runs somewhere has learned that nobody waits for it, or has lost contact and given up.
 */
const LAST_ATTEMPT_MS = HEARTBEAT_TIMEOUT_MS + 2_000;
/** Between two looks at a nested plan that is being ended. */
const LOOK = { minMs: 1_000, maxMs: 30_000 };

/**
 * Finds what a stage that was ended from outside has left half done, stops it, and says what became of it. Nobody else
 * would: its own workflow is gone, and what it has begun must not go on after the run. Goes on during a cancel.
 *
 * @param options.run the run that asks, where it is one
 * @param options.runId which run of the stage's workflow id; absent = the newest that the run which asks has started
 */
export function settleLeft(
  workflowId: string,
  { cluster, run, runId, bounds }: { cluster: string; run?: RunIdentity; runId?: string; bounds: RunBounds },
): Promise<Settled[]> {
  return CancellationScope.nonCancellable(async () => {
    const bridge = bridgeActivities<BridgeActivities>({ cluster }, 'what the ended stage had begun');
    const { actions, plans } = await bridge.unfinished({
      workflowId,
      ...(run !== undefined && { run }),
      ...(runId !== undefined && { runId }),
    });
    if (actions.length + plans.length === 0) return [];
    await sleep(bounds.lastAttemptMs ?? LAST_ATTEMPT_MS, {
      summary: 'until no attempt of the ended stage is under way',
    });
    const settled = await Promise.all([
      ...actions.map(async (task) => settledOf(task, await settle(task, bounds))),
      ...plans.map(async (task) => settledOf(task, await endPlan(task))),
    ]);
    return settled.flat();
  });
}

/** Nothing for a part in one cluster: status covers it with the action as a whole. */
const settledOf = ({ at }: ActionTask, outcome: ActionOutcome | undefined): Settled[] =>
  outcome === undefined || at.cluster !== undefined
    ? []
    : [{ workflow: at.workflow, action: at.action, outcome }];

async function settle(task: ActionTask, bounds: RunBounds): Promise<ActionOutcome | undefined> {
  try {
    return whole(await settleTask(task, bounds, 'stageEnded'));
  } catch (error) {
    // Without an outcome, status keeps the action as interrupted, of unknown effect.
    if (error instanceof ActivityFailure) return undefined;
    throw error;
  }
}

async function endPlan(task: ActionTask): Promise<ActionOutcome | undefined> {
  const { nestedPlan } = bridgeActivities<BridgeActivities>(task.run, `look: ${task.name}`);
  for (let pauseMs = LOOK.minMs; ; pauseMs = Math.min(pauseMs * 2, LOOK.maxMs)) {
    try {
      const found = await nestedPlan({ task, stop: true });
      if (found.kind === 'ended') return { ...found.outcome, round: task.round, retryCount: 0 };
    } catch (error) {
      if (error instanceof ActivityFailure) return undefined;
      throw error;
    }
    await sleep(pauseMs, { summary: 'until the nested execution has ended' });
  }
}
