import { CancellationScope, getExternalWorkflowHandle, sleep, workflowInfo } from '@temporalio/workflow';
import { lookSignal } from './nudges.js';

/** A stage of before a reset is given so long to end, and looked at so often. */
const END = { forMs: 600_000, everyMs: 1_000 };

/**
 * Tries again and again what a stage of before a reset stands in the way of: it goes on although its run does not.
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
 * Ends stages of before a reset which this run has not come to: nothing may act after the last word. One that this run
 * has come to has been waited for. Does nothing in a run that was not reset.
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
  // Then it refuses a look too, which changes nothing.
  await onceEarlierStageHasEnded(() =>
    handle.signal(lookSignal).then(
      () => undefined,
      () => 'ended',
    ),
  );
}
