import { ApplicationFailure } from '@temporalio/common';
import type { BridgeActivities } from '../../../workflows/plan/contract-bridge.js';
import type { BridgeVouching } from '../start/vouching.js';
import type { DrDeps } from '../types.js';

/** The activity by which a run asks what a stage of its own, ended from outside, has left half done. */
export function unfinishedActivity({
  runs,
  vouching,
}: {
  runs: DrDeps['runs'];
  vouching: BridgeVouching;
}): Pick<BridgeActivities, 'unfinished'> {
  return {
    async unfinished({ workflowId, runId, run }) {
      if (run !== undefined) await vouching.run(run);
      if (!vouching.ownsStage(workflowId))
        throw ApplicationFailure.nonRetryable(`"${workflowId}" is no stage of who asks`, 'NotSealed');
      const stage =
        run?.workflowId === undefined
          ? { workflowId, runId }
          : await runs.describeChild({ workflowId: run.workflowId }, workflowId);
      return stage === undefined ? { actions: [], plans: [] } : runs.unfinished(stage);
    },
  };
}
