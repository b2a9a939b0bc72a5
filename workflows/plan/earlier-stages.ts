import { CancellationScope, getExternalWorkflowHandle, sleep, workflowInfo } from '@temporalio/workflow';
import { lookSignal } from '../core/nudges.js';

/** How long a stage from before a reset may take to end, and how often it is checked. */
const END = { forMs: 600_000, everyMs: 1_000 };

/**
 * Repeats an attempt that a stage from before a reset blocks: the stage goes on although its run does not.
 *
 * @param attempt resolves to undefined while the stage is there
 * @returns undefined when it has not ended within ten minutes
 */
export async function onceEarlierStageHasEnded<T>(
  attempt: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const until = Date.now() + END.forMs;
  for (;;) {
    const result = await attempt();
    if (result !== undefined || Date.now() >= until) return result;
    await sleep(END.everyMs, { summary: 'until the stage of before the reset has ended' });
  }
}

/**
 * Ends stages from before a reset that this run has not reached: nothing may act after the run has ended. A stage that
 * it has reached has been waited for. Does nothing in a run that was not reset.
 */
export async function endEarlierStages(workflowIds: readonly string[]): Promise<void> {
  const { runId, originalExecutionRunId } = workflowInfo();
  if (runId === originalExecutionRunId) return;
  await CancellationScope.nonCancellable(() => Promise.all(workflowIds.map(end)));
}

async function end(workflowId: string): Promise<void> {
  const handle = getExternalWorkflowHandle(workflowId);
  try {
    await handle.cancel();
  } catch {
    // It has ended, or never was.
    return;
  }
  // A stage that has ended refuses this signal, which changes nothing in one that runs.
  await onceEarlierStageHasEnded(() =>
    handle.signal(lookSignal).then(
      () => undefined,
      () => 'ended',
    ),
  );
}
