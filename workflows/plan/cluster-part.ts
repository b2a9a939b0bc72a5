import type { ActionInput } from '../../api/plan/snapshot/run.js';
import type { ClusterActionStatus } from '../../api/plan/types.js';
import type { ActionTask, ClusterTarget } from './contract-tasks.js';

/** Most clusters worked on at once, unless an action sets fewer: each part that waits holds a slot in a worker. */
export const MAX_CLUSTERS_AT_ONCE = 100;

/** The task of an action in one of its clusters. */
export function taskInCluster(
  task: ActionTask,
  part: ClusterTarget | ClusterActionStatus,
  round = task.round,
): ActionTask {
  const clusterId = 'clusterId' in part ? part.clusterId : part.clusterID;
  return { ...task, at: { ...task.at, cluster: part.cluster }, clusterId, round };
}

/** The Web UI tells the parts of an action apart by this name. */
export const inputInCluster = (input: ActionInput, { cluster }: ClusterActionStatus): ActionInput => ({
  ...input,
  name: `${input.name} @ ${cluster}`,
});
