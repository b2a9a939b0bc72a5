/** How many things a run does: an action that is carried out in each of its clusters counts once for each. */
import type { StageInput } from './run.js';
import type { StageStatus } from '../types.js';

/** Most actions of a run (S6.9). */
export const MAX_ACTIONS = 2000;

/** Actions as they are written, whatever clusters they are carried out in. */
export const countActions = (stages: readonly Pick<StageInput, 'workflows'>[]): number =>
  stages.flatMap(({ workflows }) => workflows).flatMap(({ actions }) => actions).length;

/** What the clusters that were found out so far add to the number of actions. */
export function addedByClusters(stages: readonly StageStatus[]): number {
  let added = 0;
  for (const stage of stages) {
    for (const workflow of stage.workflowExecutions ?? []) {
      for (const { clusterStatuses = [] } of workflow.actionStatuses ?? []) {
        added += Math.max(0, clusterStatuses.length - 1);
      }
    }
  }
  return added;
}
