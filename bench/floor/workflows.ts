/**
 * An empty run: the workflows, children and activities of a run of the same shape and nothing else: no conditions, no
 * timers, no state, no payloads.
 */
import { ActivityCancellationType, executeChild, proxyActivities, workflowInfo } from '@temporalio/workflow';
import { FLOOR } from './contract.js';
import type { FloorInput, StatusActivities, WorkActivities } from './contract.js';

const { act } = proxyActivities<WorkActivities>({
  startToCloseTimeout: '1m',
  heartbeatTimeout: '8s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
const { finish } = proxyActivities<StatusActivities>({
  taskQueue: FLOOR.statusQueue,
  startToCloseTimeout: '30s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** The run: its stages one after another, then the step that would end its status. */
export async function floorParent({ stages, actions, waitMs }: FloorInput): Promise<void> {
  for (let stage = 0; stage < stages; stage += 1) {
    await executeChild(floorChild, {
      workflowId: `${workflowInfo().workflowId}/s${stage}`,
      args: [actions, waitMs],
    });
  }
  await finish();
}

/** A stage: its actions one after another. */
export async function floorChild(actions: number, waitMs: number): Promise<void> {
  for (let action = 0; action < actions; action += 1) await act(waitMs);
}
