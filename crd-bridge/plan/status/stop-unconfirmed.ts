/**
 * The condition `StopUnconfirmed`: what was removed from a cluster, and the pods of a stopped Job, may still run
 * (S3.27, S3.41).
 */
import type { Condition, DRPlanExecutionStatus, StageStatus } from '../../../api/plan/types.js';
import { findCondition } from '../../core/conditions.js';
import type { ConditionUpdate } from '../../core/conditions.js';

/** Type of the condition, and reason of its Event. */
export const STOP_UNCONFIRMED = 'StopUnconfirmed';

/**
 * The condition that the actions of a run call for; undefined when it would show nothing new. Once set it stays: that a
 * cluster is in reach again does not mean that anybody has looked.
 *
 * @param alsoIn clusters that a rollback inside the run could not confirm; no action's status names them
 */
export function stopUnconfirmed(
  status: DRPlanExecutionStatus,
  stages: readonly StageStatus[],
  alsoIn: readonly string[] = [],
): Omit<ConditionUpdate, 'observedGeneration'> | undefined {
  const known = findCondition(status.conditions, STOP_UNCONFIRMED);
  const where = new Map<string, string>();
  for (const stage of stages) {
    for (const workflow of stage.workflowExecutions ?? []) {
      for (const { name, outputs } of workflow.actionStatuses ?? []) {
        for (const cluster of outputs?.stopUnconfirmed ?? []) {
          if (!where.has(cluster)) where.set(cluster, `action "${name}" in stage "${stage.name}"`);
        }
      }
    }
  }
  for (const cluster of alsoIn) if (!where.has(cluster)) where.set(cluster, 'the rollback');
  const fresh = [...where].filter(([cluster]) => !isNamed(known, cluster));
  if (fresh.length === 0) return undefined;
  const texts = fresh.map(([cluster, by]) => `"${cluster}" (removed by ${by})`);
  const before = known?.message.slice(PREFIX.length, -SUFFIX.length);
  return {
    type: STOP_UNCONFIRMED,
    status: 'True',
    reason: fresh.every(([place]) => IS_POD.test(place)) ? 'PodsDidNotEnd' : 'ClusterDidNotConfirm',
    message: `${PREFIX}${[...(before === undefined ? [] : [before]), ...texts].join(', ')}${SUFFIX}`,
  };
}

/** All places that actions could not confirm, each once. */
export const unconfirmedPlaces = (stages: readonly StageStatus[]): string[] => [
  ...new Set(
    stages.flatMap(({ workflowExecutions = [] }) =>
      workflowExecutions.flatMap(({ actionStatuses = [] }) =>
        actionStatuses.flatMap(({ outputs }) => outputs?.stopUnconfirmed ?? []),
      ),
    ),
  ),
];

/** How actions name the pods of a Job, or the Job whose pods they may not see. */
const IS_POD = /^(pod|Job) /;
const PREFIX = 'what was removed may still run in ';
const SUFFIX = '; make sure that it is stopped there before anything else takes its place';

const isNamed = (condition: Condition | undefined, cluster: string): boolean =>
  condition?.message.includes(`"${cluster}"`) === true;

/** The condition, if it is new or has changed between the two states. */
export function newlyUnconfirmed(
  before: DRPlanExecutionStatus | undefined,
  after: DRPlanExecutionStatus,
): Condition | undefined {
  const now = findCondition(after.conditions, STOP_UNCONFIRMED);
  const was = findCondition(before?.conditions, STOP_UNCONFIRMED);
  return now !== undefined && now.message !== was?.message ? now : undefined;
}
