/**
 * Actions that are carried out in each of their clusters separately. Consecutive actions per cluster make a batch: a
 * cluster goes through them in order, independently of the others, and what comes after the batch waits for all
 * clusters. The clusters are found once, before the first of them is touched; each part is an activity of its own, so
 * that nothing that has ended is ever repeated.
 */
import { CancellationScope } from '@temporalio/workflow';
import { isTerminalItem } from '../../api/core/phase.js';
import { MAX_ACTIONS } from '../../api/plan/snapshot/parts.js';
import type { ActionAddress, ActionInput } from '../../api/plan/snapshot/run.js';
import type {
  ActionOutputs,
  ActionStatus,
  ClusterActionStatus,
  ObjectReference,
} from '../../api/plan/types.js';
import { recordInCluster } from '../../api/plan/undo/undo.js';
import { executeAction } from './action.js';
import type { RunBounds } from './contract.js';
import type { ActionOutcome, ActionTask, ClusterTarget, TaskSeals } from './contract-tasks.js';
import { helperActivities } from './options.js';
import { prepareEffect } from './preparation.js';
import type { Vouchers } from './vouchers.js';

/** Most clusters worked on at once, unless an action sets fewer: each part that waits holds a slot in a worker. */
const MAX_CLUSTERS_AT_ONCE = 100;

/** Why something is not started. */
interface Cause {
  reason: string;
  message: string;
}

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
    if (left > 0) action.status.message = progressOf(statusesOf(action));
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
    begin(own);
    changed();
    const part = partOf(task, record);
    const outcome = await executeAction({
      input: named(input, record),
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
    apply(own, outcome);
    changed();
  });
  return concludeClusters(status.clusterStatuses, task.round, {});
}

/** Finds the clusters of an action, or how it ends without any. An action that is tried again keeps its clusters. */
async function resolve(
  action: BatchAction,
  { bounds, vouchers, clustersLeft }: Batch,
): Promise<ActionOutcome | undefined> {
  const { status, task } = action;
  if (status.clusterStatuses !== undefined) {
    for (const cluster of status.clusterStatuses) reopen(cluster);
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
  begin(status);
  action.changed();
  const round = status.round === undefined ? 0 : status.round + 1;
  const part = partOf(task, status, round);
  const seal = batch.vouchers.clusterSeal(part.at);
  const outcome = await executeAction({
    input: named(input, status),
    task: seal === undefined ? part : { ...part, seals: { ...part.seals, cluster: seal } },
    bounds: batch.bounds,
  });
  batch.vouchers.ended(part.at, outcome);
  apply(status, outcome);
  if (outcome.phase === 'Failed' && outcome.reason === 'Cancelled')
    status.reason = batch.interruption().reason;
  // Nothing is left to do in a cluster that was removed before its turn.
  if (outcome.phase === 'Failed' && outcome.reason === 'ClusterGone' && status.effect === 'None') {
    status.phase = 'Skipped';
  }
  addOutputs(action.status, outcome);
}

function partOf(task: ActionTask, part: ClusterTarget | ClusterActionStatus, round = task.round): ActionTask {
  const clusterId = 'clusterId' in part ? part.clusterId : part.clusterID;
  return { ...task, at: { ...task.at, cluster: part.cluster }, clusterId, round };
}

/** The Web UI tells the parts of an action apart by this name. */
const named = (input: ActionInput, { cluster }: ClusterActionStatus): ActionInput => ({
  ...input,
  name: `${input.name} @ ${cluster}`,
});

function begin(status: ClusterActionStatus): void {
  status.phase = 'Running';
  status.startTime = now();
}

/** A part that has failed, or was cut off, gets its turn again; one that has succeeded is left alone. */
function reopen(status: ClusterActionStatus): void {
  if (status.phase === 'Succeeded' || status.reason === 'ClusterGone') return;
  status.phase = 'Pending';
  delete status.completionTime;
  delete status.reason;
  delete status.message;
}

function skip(status: ClusterActionStatus, cause: Cause): void {
  status.phase = 'Skipped';
  status.reason = cause.reason;
  status.message = cause.message;
  status.completionTime = now();
}

function apply(status: ClusterActionStatus, outcome: ActionOutcome): void {
  status.phase = outcome.phase;
  status.completionTime = now();
  status.round = outcome.round;
  if (outcome.retryCount > 0) status.retryCount = outcome.retryCount;
  delete status.reason;
  delete status.message;
  if (outcome.message !== undefined) status.message = cutText(outcome.message, CLUSTER_MESSAGE_LIMIT);
  if (outcome.phase === 'Skipped') {
    status.reason = outcome.reason;
    return;
  }
  if (outcome.phase === 'Failed') status.reason = outcome.reason;
  const effect = outcome.phase === 'Failed' ? outcome.effect : 'Done';
  // An earlier round may have had its effect although this one had none.
  status.effect = strongest([status.effect ?? 'None', effect]);
  const { subscriptionRef, priorRef } = outcome.outputs ?? {};
  if (subscriptionRef !== undefined) status.subscription = subscriptionRef.name;
  if (priorRef !== undefined) status.priorRef = priorRef;
}

function addOutputs(status: ActionStatus, outcome: ActionOutcome): void {
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

function end(action: BatchAction, outcome: ActionOutcome | Omit<Skipped, 'round' | 'retryCount'>): void {
  action.ended('round' in outcome ? outcome : { ...outcome, round: action.task.round, retryCount: 0 });
}

type Skipped = Extract<ActionOutcome, { phase: 'Skipped' }>;

function conclude({ status, task }: BatchAction): ActionOutcome {
  return concludeClusters(status.clusterStatuses ?? [], task.round, status.outputs);
}

/** How an action ends whose clusters have all ended. */
function concludeClusters(
  clusters: readonly ClusterActionStatus[],
  round: number,
  outputs: ActionOutputs | undefined,
): ActionOutcome {
  const counts = {
    round: Math.max(round, ...clusters.map((one) => one.round ?? 0)),
    retryCount: clusters.reduce((sum, one) => sum + (one.retryCount ?? 0), 0),
  };
  const withOutputs = outputs === undefined ? {} : { outputs };
  const failed = clusters.filter((one) => one.phase === 'Failed' && failedItself(one));
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
      message: cutText(`${worked}; failed in ${named.join('; ')}${more}`, MESSAGE_LIMIT),
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

/** Clusters that are named in the message of an action. */
const NAMED = 3;
const MESSAGE_LIMIT = 2000;
/** Shorter: there may be one for each cluster. */
const CLUSTER_MESSAGE_LIMIT = 400;
const cutText = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;

const progressOf = (clusters: readonly ClusterActionStatus[]): string =>
  `${clusters.filter((one) => isTerminalItem(one.phase)).length} of ${clusters.length} clusters ended`;

const failedBefore = ({ task }: BatchAction): Cause => ({
  reason: 'DependencyFailed',
  message: `action "${task.name}" did not succeed in this cluster`,
});

const statusesOf = ({ status }: BatchAction): ClusterActionStatus[] => status.clusterStatuses ?? [];
const isOpen = ({ phase }: ClusterActionStatus): boolean => phase === 'Pending';
const hasFailed = ({ phase }: ClusterActionStatus): boolean => phase === 'Failed';
const INTERRUPTED = new Set(['Cancelled', 'FailFast', 'StageFailed']);
const failedItself = ({ reason }: ClusterActionStatus): boolean => !INTERRUPTED.has(reason ?? '');
/** Whether something was to be done there, and was not: a person's retry brings it back. */
const isCut = ({ reason }: ClusterActionStatus): boolean =>
  INTERRUPTED.has(reason ?? '') || reason === 'DependencyFailed';

const mayHaveEffect = ({ phase, effect }: ClusterActionStatus): boolean =>
  phase === 'Succeeded' || (effect ?? (phase === 'Failed' ? 'Unknown' : 'None')) !== 'None';

type Effect = 'Done' | 'None' | 'Unknown';

function strongest(effects: readonly Effect[]): Effect {
  if (effects.includes('Done')) return 'Done';
  return effects.includes('Unknown') ? 'Unknown' : 'None';
}

/** Runs `body` for each item, in order, up to `limit` at once. */
async function inLanes<T>(
  items: readonly T[],
  limit: number,
  body: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const lane = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await body(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, queue.length) }, lane));
}

const now = (): string => new Date().toISOString();
