import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { ActivityInterfaceFor } from '@temporalio/workflow';
import { taskQueues } from './contract.js';
import { cutSummary } from './text.js';

/**
 * Activities of the bridge, for one cluster: quick, and never given up. While the bridge is away a run goes on, status is
 * late and never lost, and what waits for an answer waits for the bridge.
 *
 * @param summary what the Web UI shows of the activity
 */
export function bridgeActivities<Activities>(
  { cluster }: { cluster: string },
  summary: string,
): ActivityInterfaceFor<Activities> {
  return proxyActivities<Activities>({
    taskQueue: taskQueues(cluster).bridge,
    startToCloseTimeout: '30s',
    // Of a bridge that has died while it worked: another one goes on. Bridges of earlier releases give no sign of life, and
    // what takes one longer than this is done again.
    heartbeatTimeout: '8s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
    summary: cutSummary(summary),
  });
}
