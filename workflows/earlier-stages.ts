import { CancellationScope, getExternalWorkflowHandle, sleep, workflowInfo } from '@temporalio/workflow';
import { lookSignal } from './nested-plan.js';

/** Stages of before a reset are given so long to end. */
const END = { forMs: 600_000, everyMs: 1_000 };

/**
 * Ends stages of before a reset which this run has not come to: they go on although their run does not, and nothing may
 * act after the last word. One that this run has come to has been waited for. Does nothing in a run that was not reset.
 */
export async function endEarlierStages(workflowIds: readonly string[]): Promise<void> {
  const { runId, originalExecutionRunId } = workflowInfo();
  if (runId === originalExecutionRunId) return;
  await CancellationScope.nonCancellable(() => Promise.all(workflowIds.map(end)));
}

async function end(workflowId: string): Promise<void> {
  const handle = getExternalWorkflowHandle(workflowId);
  const until = Date.now() + END.forMs;
  try {
    await handle.cancel();
    // A look changes nothing; one that has ended, or never was, refuses it.
    for (; Date.now() < until; await sleep(END.everyMs, { summary: 'until the stage of before has ended' })) {
      await handle.signal(lookSignal);
    }
  } catch {
    return;
  }
}
