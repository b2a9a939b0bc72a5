/** What becomes of an action that is carried out in each of its clusters, given what became of it in each. */
import { isTerminalItem } from '../../api/core/phase.js';
import type {
  ActionOutputs,
  ActionStatus,
  ClusterActionStatus,
  ObjectReference,
} from '../../api/plan/types.js';
import { now, strongest, writeOutcome } from '../core/outcome.js';
import { cutText } from '../core/text.js';
import type { ActionOutcome } from './contract-tasks.js';
import { failedItself, isInterrupted } from './outcome.js';

/** Clusters that are named in the message of an action. */
const NAMED = 3;
const MAX_MESSAGE = 2000;
/** Shorter: there may be one for each cluster. */
const MAX_CLUSTER_MESSAGE = 400;

/** A cluster whose turn has come. */
export function beginInCluster(status: ClusterActionStatus): void {
  status.phase = 'Running';
  status.startTime = now();
}

/** A part that has failed, or was cut off, gets its turn again; one that has succeeded is left alone. */
export function reopenInCluster(status: ClusterActionStatus): void {
  if (status.phase === 'Succeeded' || status.reason === 'ClusterGone') return;
  status.phase = 'Pending';
  delete status.completionTime;
  delete status.reason;
  delete status.message;
}

/** Writes an outcome into the status of a cluster. */
export function applyInCluster(status: ClusterActionStatus, outcome: ActionOutcome): void {
  const { message } = outcome;
  writeOutcome(status, {
    ...outcome,
    ...(message !== undefined && { message: cutText(message, MAX_CLUSTER_MESSAGE) }),
  });
  if (outcome.phase === 'Skipped') return;
  const { subscriptionRef, priorRef } = outcome.outputs ?? {};
  if (subscriptionRef !== undefined) status.subscription = subscriptionRef.name;
  if (priorRef !== undefined) status.priorRef = priorRef;
}

/** Adds what an action has made in a cluster to what it has made in others. */
export function addOutputs(status: ActionStatus, outcome: ActionOutcome): void {
  const { subscriptionRef, created = [] } = outcome.phase === 'Skipped' ? {} : (outcome.outputs ?? {});
  const added: ActionOutputs = {
    ...status.outputs,
    ...(subscriptionRef !== undefined && {
      subscriptionRefs: joined(status.outputs?.subscriptionRefs, [subscriptionRef]),
    }),
    ...(created.length > 0 && { created: joined(status.outputs?.created, created) }),
  };
  if (Object.keys(added).length > 0) status.outputs = added;
}

/** References in order of their first appearance; of one object the later counts. */
function joined(known: readonly ObjectReference[] = [], more: readonly ObjectReference[]): ObjectReference[] {
  const names = new Set(more.map((one) => one.name));
  return [...known.filter((one) => !names.has(one.name)), ...more];
}

/** How an action ends whose clusters have all ended. */
export function concludeClusters(
  clusters: readonly ClusterActionStatus[],
  round: number,
  outputs: ActionOutputs | undefined,
): ActionOutcome {
  const counts = {
    round: Math.max(round, ...clusters.map((one) => one.round ?? 0)),
    retryCount: clusters.reduce((sum, one) => sum + (one.retryCount ?? 0), 0),
  };
  const withOutputs = outputs === undefined ? {} : { outputs };
  const failed = clusters.filter(failedItself);
  const cut = clusters.find(
    (one) => (one.phase === 'Failed' && !failedItself(one)) || (one.phase === 'Skipped' && isCut(one)),
  );
  const succeeded = clusters.filter((one) => one.phase === 'Succeeded').length;
  const effect = strongest(clusters.map((one) => one.effect ?? 'None'));
  const worked = `${succeeded} of ${clusters.length} ${clusters.length === 1 ? 'cluster' : 'clusters'} done`;
  const [first] = failed;
  if (first !== undefined) {
    const named = failed.slice(0, NAMED).map((one) => `${one.cluster}: ${one.message ?? one.reason ?? ''}`);
    const more = failed.length > NAMED ? ` and ${failed.length - NAMED} more` : '';
    return {
      phase: 'Failed',
      reason: first.reason ?? 'ClusterFailed',
      message: cutText(`${worked}; failed in ${named.join('; ')}${more}`, MAX_MESSAGE),
      effect,
      ...withOutputs,
      ...counts,
    };
  }
  const all = clusters.length > 0 && clusters.every((one) => one.phase === 'Skipped');
  if (cut !== undefined && (!all || effect !== 'None')) {
    return {
      phase: 'Failed',
      reason: cut.reason ?? 'Cancelled',
      message: `${worked}; ${cut.message ?? 'the others were cut off'}`,
      effect,
      ...withOutputs,
      ...counts,
    };
  }
  const [skipped] = clusters.filter((one) => one.phase === 'Skipped');
  if (all && skipped !== undefined) {
    return {
      phase: 'Skipped',
      reason: skipped.reason ?? 'Skipped',
      message: skipped.message ?? 'every cluster was skipped',
      ...counts,
    };
  }
  const passed = skipped === undefined ? '' : `; not in ${skipped.cluster}: ${skipped.message ?? ''}`;
  return { phase: 'Succeeded', message: `${worked}${passed}`, ...withOutputs, ...counts };
}

/** How far the clusters are, for a person. */
export const describeClusters = (clusters: readonly ClusterActionStatus[]): string =>
  `${clusters.filter((one) => isTerminalItem(one.phase)).length} of ${clusters.length} clusters ended`;

/** Whether something was to be done there, and was not: a person's retry brings it back. */
const isCut = (status: ClusterActionStatus): boolean =>
  isInterrupted(status) || status.reason === 'DependencyFailed';

/** Whether there is, or may be, something to undo in a cluster. */
export const mayHaveEffect = ({ phase, effect }: ClusterActionStatus): boolean =>
  phase === 'Succeeded' || (effect ?? (phase === 'Failed' ? 'Unknown' : 'None')) !== 'None';
