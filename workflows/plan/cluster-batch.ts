/**
 * Actions that are carried out in each of their clusters separately. Consecutive actions per cluster make a batch: a
 * cluster goes through them in order, independently of the others, and what comes after the batch waits for all
 * clusters. The clusters are found once, before the first of them is touched; each part is an activity of its own, so
 * that nothing that has ended is ever repeated.
 */
import { CancellationScope } from '@temporalio/workflow';
import { MAX_ACTIONS } from '../../api/plan/snapshot/parts.js';
import type { ActionInput } from '../../api/plan/snapshot/run.js';
import type { ActionStatus, ClusterActionStatus } from '../../api/plan/types.js';
import { inLanes } from '../core/lanes.js';
import { skip } from '../core/outcome.js';
import type { Cause } from '../core/outcome.js';
import { executeAction } from './action.js';
import {
  addOutputs,
  applyInCluster,
  beginInCluster,
  concludeClusters,
  describeClusters,
  reopenInCluster,
} from './cluster-outcome.js';
import { inputInCluster, MAX_CLUSTERS_AT_ONCE, taskInCluster } from './cluster-part.js';
import type { RunBounds } from './contract.js';
import type { ActionOutcome, ActionTask } from './contract-tasks.js';
import { helperActivities } from './options.js';
import { failedItself } from './outcome.js';
import { prepareEffect } from './preparation.js';
import type { Vouchers } from './vouchers.js';

/** One action of a batch. */
export interface BatchAction {
  input: ActionInput;
  /** Changed in place; every change is followed by `changed`. */
  status: ActionStatus;
  /** The task without what belongs to a cluster. */
  task: ActionTask;
  changed: () => void;
  /** All its clusters have ended. */
  ended: (outcome: ActionOutcome) => void;
}

/** What a batch runs in. */
export interface Batch {
  /** In the order that a cluster goes through them. */
  actions: BatchAction[];
  bounds: RunBounds;
  vouchers: Vouchers;
  /** How many more actions the clusters yet to be found may add to the run. */
  clustersLeft: () => number;
  /** Whether one failed cluster keeps others from starting. */
  failFast: boolean;
  /** Why the current scope was cancelled, once it is. */
  interruption: () => Cause;
}

const FAIL_FAST: Cause = { reason: 'FailFast', message: 'another cluster failed before it' };

/** Runs a batch in the current scope, until every action has ended. Must be called in a cancellable scope. */
export async function runClusterBatch(batch: Batch): Promise<void> {
  const scope = CancellationScope.current();
  const state = { failed: false };
  const ready: BatchAction[] = [];
  for (const action of batch.actions) {
    if (state.failed && batch.failFast) {
      end(action, { phase: 'Skipped', ...FAIL_FAST, message: 'an action of the workflow failed before it' });
      continue;
    }
    const outcome = await resolve(action, batch);
    if (outcome === undefined) ready.push(action);
    else {
      end(action, outcome);
      state.failed ||= outcome.phase === 'Failed';
    }
  }

  const open = new Map(ready.map((action) => [action, statusesOf(action).filter(isOpen).length]));
  const closed = (action: BatchAction): void => {
    const left = (open.get(action) ?? 0) - 1;
    open.set(action, left);
    if (left > 0) action.status.message = describeClusters(statusesOf(action));
    action.changed();
    if (left === 0) end(action, conclude(action));
  };
  for (const action of ready) if (open.get(action) === 0) end(action, conclude(action));

  /** Why nothing more is started in a cluster for an action. */
  const obstacle = (action: BatchAction): Cause | undefined => {
    if (scope.consideredCancelled) return batch.interruption();
    return state.failed && batch.failFast && action.input.perCluster?.independent !== true
      ? FAIL_FAST
      : undefined;
  };

  const runOne = async (cluster: string): Promise<void> => {
    let broken: Cause | undefined;
    for (const action of ready) {
      const status = statusesOf(action).find((one) => one.cluster === cluster);
      if (status === undefined) continue;
      if (!isOpen(status)) {
        if (status.phase === 'Failed') broken = failedBefore(action);
        continue;
      }
      const cause = broken ?? obstacle(action);
      if (cause !== undefined) {
        skip(status, cause);
        closed(action);
        continue;
      }
      await runPart(action, status, batch);
      if (hasFailed(status)) {
        broken = failedBefore(action);
        state.failed ||= failedItself(status);
      }
      closed(action);
    }
  };

  const clusters = [...new Set(ready.flatMap((action) => statusesOf(action).map((one) => one.cluster)))];
  const limit = Math.min(
    MAX_CLUSTERS_AT_ONCE,
    ...ready.map((action) => action.input.perCluster?.limit ?? MAX_CLUSTERS_AT_ONCE),
  );
  await inLanes(clusters, limit, runOne);
}

/** Finds the clusters of an action, or how it ends without any. An action that is tried again keeps its clusters. */
async function resolve(
  action: BatchAction,
  { bounds, vouchers, clustersLeft }: Batch,
): Promise<ActionOutcome | undefined> {
  const { status, task } = action;
  if (status.clusterStatuses !== undefined) {
    for (const cluster of status.clusterStatuses) reopenInCluster(cluster);
    action.changed();
    return undefined;
  }
  const found = await prepareEffect(
    task,
    () => helperActivities(`find clusters: ${task.name}`, { run: task.run, bounds }).targets(task),
    {
      cancelled: 'cancelled before anything was changed',
      reason: 'ClustersUnknown',
      problem: 'the clusters could not be found out, so nothing was changed',
    },
  );
  if ('ended' in found) return found.ended;
  const { clusters, message } = found.ready;
  const room = clustersLeft() + 1;
  if (clusters.length > room) {
    return {
      phase: 'Failed',
      reason: 'TooManyClusters',
      effect: 'None',
      message: `${clusters.length} clusters match, and the run has room for ${Math.max(0, room)} more: it may come to ${MAX_ACTIONS} actions, where one per cluster counts once for each; split the plan`,
      retryCount: 0,
      round: task.round,
    };
  }
  vouchers.found(task.at, clusters);
  if (message !== undefined) status.message = message;
  status.clusterStatuses = clusters.map(({ cluster, clusterId }) => ({
    cluster,
    clusterID: clusterId,
    phase: 'Pending',
  }));
  action.changed();
  return undefined;
}

async function runPart(action: BatchAction, status: ClusterActionStatus, batch: Batch): Promise<void> {
  const { input, task } = action;
  beginInCluster(status);
  action.changed();
  const round = status.round === undefined ? 0 : status.round + 1;
  const part = taskInCluster(task, status, round);
  const seal = batch.vouchers.clusterSeal(part.at);
  const outcome = await executeAction({
    input: inputInCluster(input, status),
    task: seal === undefined ? part : { ...part, seals: { ...part.seals, cluster: seal } },
    bounds: batch.bounds,
  });
  batch.vouchers.ended(part.at, outcome);
  applyInCluster(status, outcome);
  if (outcome.phase === 'Failed' && outcome.reason === 'Cancelled')
    status.reason = batch.interruption().reason;
  // Nothing is left to do in a cluster that was removed before its turn.
  if (outcome.phase === 'Failed' && outcome.reason === 'ClusterGone' && status.effect === 'None') {
    status.phase = 'Skipped';
  }
  addOutputs(action.status, outcome);
}

function end(action: BatchAction, outcome: ActionOutcome | Omit<Skipped, 'round' | 'retryCount'>): void {
  action.ended('round' in outcome ? outcome : { ...outcome, round: action.task.round, retryCount: 0 });
}

type Skipped = Extract<ActionOutcome, { phase: 'Skipped' }>;

function conclude({ status, task }: BatchAction): ActionOutcome {
  return concludeClusters(status.clusterStatuses ?? [], task.round, status.outputs);
}

const failedBefore = ({ task }: BatchAction): Cause => ({
  reason: 'DependencyFailed',
  message: `action "${task.name}" did not succeed in this cluster`,
});

const statusesOf = ({ status }: BatchAction): ClusterActionStatus[] => status.clusterStatuses ?? [];
const isOpen = ({ phase }: ClusterActionStatus): boolean => phase === 'Pending';
const hasFailed = ({ phase }: ClusterActionStatus): boolean => phase === 'Failed';
