import { CancellationScope } from '@temporalio/workflow';
import type { ActionAddress, ActionInput } from '../../api/plan/snapshot/run.js';
import type { ActionStatus } from '../../api/plan/types.js';
import { recordInCluster } from '../../api/plan/undo/trace.js';
import { inLanes } from '../core/lanes.js';
import { skip } from '../core/outcome.js';
import { executeAction } from './action.js';
import { applyInCluster, beginInCluster, concludeClusters, mayHaveEffect } from './cluster-outcome.js';
import { inputInCluster, MAX_CLUSTERS_AT_ONCE, taskInCluster } from './cluster-part.js';
import type { RunBounds } from './contract.js';
import type { ActionOutcome, ActionTask, TaskSeals } from './contract-tasks.js';

/**
 * Undoes an action in each cluster that it was carried out in, by its custom rollback or by the automatic inverse.
 * Every cluster is tried: each is a site of its own, and what is already undone is only checked the next time.
 */
export async function undoInClusters(undo: {
  input: ActionInput;
  status: ActionStatus;
  task: ActionTask;
  forward: ActionStatus;
  bounds: RunBounds;
  totalMs: number;
  changed: () => void;
  /** Seals of the part in a cluster. */
  sealsOf: (at: ActionAddress) => TaskSeals;
}): Promise<ActionOutcome> {
  const { input, status, task, forward, bounds, totalMs, changed, sealsOf } = undo;
  const scope = CancellationScope.current();
  const records = (forward.clusterStatuses ?? []).filter(mayHaveEffect);
  status.clusterStatuses = records.map(({ cluster, clusterID }) => ({
    cluster,
    clusterID,
    phase: 'Pending',
  }));
  changed();
  const outcomes = new Map<string, ActionOutcome>();
  const limit = Math.min(MAX_CLUSTERS_AT_ONCE, input.perCluster?.limit ?? MAX_CLUSTERS_AT_ONCE);
  await inLanes([...records].reverse(), limit, async (record) => {
    const own = status.clusterStatuses?.find((one) => one.cluster === record.cluster);
    if (own === undefined) throw new Error(`no cluster ${record.cluster}`);
    if (scope.consideredCancelled) {
      skip(own, { reason: 'Cancelled', message: 'not undone: the run was cancelled' });
      changed();
      return;
    }
    beginInCluster(own);
    changed();
    const part = taskInCluster(task, record);
    const outcome = await executeAction({
      input: inputInCluster(input, record),
      task: {
        ...part,
        seals: { ...part.seals, ...sealsOf(part.at) },
        forward: recordInCluster(forward, record),
        ...(record.priorRef !== undefined && { prior: record.priorRef }),
      },
      bounds,
      totalMs,
    });
    outcomes.set(record.cluster, outcome);
    applyInCluster(own, outcome);
    changed();
  });
  return concludeClusters(status.clusterStatuses, task.round, {});
}
