/**
 * Subscriptions per cluster: instead of one Subscription for all clusters an action writes one for each of them (the
 * original's `clusterExecutionMode: PerCluster`). To the code that carries out Subscriptions, each of them is one like
 * any other, with its own name and subscriber.
 */
import { ANNOTATIONS, LABELS } from '../../../api/core/group.js';
import { isObject } from '../../../api/core/json.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { childSubscriptionName, labelValue } from '../../../api/plan/naming.js';
import { renderString } from '../../../api/plan/template/render.js';
import type { SubscriptionAction } from '../../../api/plan/types.js';
import { observe } from '../../../kube/observe.js';
import type { ClusterTarget, TargetsOutcome } from '../../../workflows/plan/contract-tasks.js';
import { APPS, bindingOf, CLUSTER_ID, CLUSTERS, listClusters, missingKind } from './clusternet.js';
import type { ManagedCluster } from './clusternet.js';
import { subscriptionSpec } from '../../../api/plan/actions/clusternet-body.js';
import type { Attempt, AttemptResult, Handler } from '../../core/handler.js';
import type { ObjectHandler } from '../objects/object-handler.js';
import { operationOf } from '../objects/operations.js';
import { chooseTargets } from './subscription-targets.js';

/** Most clusters of one action: each has its part in status. */
export const MAX_CLUSTERS = 200;

/** What decides about several clusters has no meaning for one. */
const FOR_SEVERAL = new Set([
  'subscribers',
  'schedulingStrategy',
  'dividingScheduling',
  'schedulingBySubGroup',
]);

/** Lets a handler of Subscriptions carry them out per cluster, too. */
export function perCluster(handler: ObjectHandler): ObjectHandler & Required<Pick<Handler, 'targets'>> {
  return {
    targets: findTargets,
    run: (attempt) => (isPart(attempt) ? runPart(attempt, handler) : handler.run(attempt)),
    capture: (attempt) => handler.capture(partOf(attempt)),
    undo: (attempt) => handler.undo(partOf(attempt)),
    settle: (attempt) => handler.settle(partOf(attempt)),
    leftovers: (attempt) => handler.leftovers(partOf(attempt)),
    writes: (attempt) => handler.writes(partOf(attempt)),
  };
}

const isPart = ({ task }: Attempt): boolean => task.at.cluster !== undefined;

/**
 * The attempt at the Subscription of one cluster. Placeholders are not filled in here, so that this happens only once.
 */
function partOf(attempt: Attempt): Attempt {
  const { action, scope, task } = attempt;
  const { cluster } = task.at;
  const block = action.subscription;
  if (cluster === undefined || block === undefined) return attempt;
  const clusterId = task.clusterId ?? '';
  const subscription = renderString(block.name, scope);
  return {
    ...attempt,
    member: { subscription, cluster, clusterId },
    action: {
      ...action,
      subscription: childOf(block, {
        name: childSubscriptionName(subscription, cluster),
        clusterId,
        operation: renderString(block.operation || 'Create', scope),
      }),
    },
  };
}

function childOf(
  block: SubscriptionAction,
  child: { name: string; clusterId: string; operation: string },
): SubscriptionAction {
  const { operation, name: _, namespace, spec, ...flat } = block;
  // A spec written in both forms is refused where it is carried out.
  if (spec !== undefined && Object.values(flat).some((value) => value !== undefined)) {
    return { ...block, name: child.name };
  }
  const body = Object.entries(spec ?? flat).filter(
    ([field, value]) => !FOR_SEVERAL.has(field) && value !== undefined,
  );
  const one = {
    subscribers: [{ clusterAffinity: { matchLabels: { [CLUSTER_ID]: child.clusterId } } }],
    schedulingStrategy: 'Replication',
  };
  const isWhole = child.operation !== 'Patch' && child.operation !== 'Delete';
  return {
    name: child.name,
    ...(operation !== undefined && { operation }),
    ...(namespace !== undefined && { namespace }),
    spec: { ...Object.fromEntries(body), ...(isWhole && one) },
  };
}

/** Which clusters there are; what becomes of others later does not matter to the action. */
async function findTargets(attempt: Attempt): Promise<TargetsOutcome> {
  const { action, kube, scope, signal, task } = attempt;
  const block = action.subscription;
  const failed = (refusal: Refusal): TargetsOutcome => ({
    kind: 'failed',
    reason: refusal.reason,
    message: refusal.message,
  });
  if (block === undefined) {
    return failed({
      reason: 'InvalidSpec',
      message: `action "${action.name}" has no block "subscription"; write the Subscription to change`,
    });
  }
  const named = operationOf('Subscription', block.operation, scope);
  if (!named.ok) return failed(named);
  const body = subscriptionSpec(block, scope);
  if (!body.ok) return failed(body);
  const missing = await missingKind(kube, 'Subscription');
  if (missing !== undefined) return failed(missing);
  const { subscribers } = body.spec;
  const isWritten = Array.isArray(subscribers) && subscribers.length > 0;
  if (named.operation === 'Delete' && !isWritten) {
    const name = renderString(block.name, scope);
    const namespace = renderString(block.namespace ?? '', scope) || task.run.namespace;
    const clusters = await clustersOfChildren(attempt, name, namespace);
    return clusters.length === 0
      ? { kind: 'clusters', clusters, message: `no Subscription of a cluster is there for ${name}` }
      : limited(clusters);
  }
  const targets = chooseTargets(subscribers, await listClusters(kube, signal));
  if (!targets.ok) return failed(targets);
  const odd = targets.matched.find(
    ({ metadata, spec }) => !spec?.clusterId || metadata.labels?.[CLUSTER_ID] !== spec.clusterId,
  );
  if (odd !== undefined) {
    return failed({
      reason: 'ClusterNotSelectable',
      message: `ManagedCluster ${bindingOf(odd)} does not carry its clusterId in the label ${CLUSTER_ID}, so a Subscription cannot name it alone; set the label to ${JSON.stringify(odd.spec?.clusterId ?? '')}`,
    });
  }
  const clusters = targets.matched.map((cluster) => ({
    cluster: bindingOf(cluster),
    clusterId: cluster.spec?.clusterId ?? '',
  }));
  const outcome = limited(clusters);
  return outcome.kind === 'clusters' && targets.warning !== undefined
    ? { ...outcome, message: targets.warning }
    : outcome;
}

function limited(clusters: ClusterTarget[]): TargetsOutcome {
  if (clusters.length > MAX_CLUSTERS) {
    return {
      kind: 'failed',
      reason: 'TooManyClusters',
      message: `${clusters.length} clusters match, and an action per cluster can have ${MAX_CLUSTERS}; narrow the labels and split it over several actions`,
    };
  }
  return {
    kind: 'clusters',
    clusters: [...clusters].sort((a, b) => (a.cluster < b.cluster ? -1 : 1)),
  };
}

/** Clusters that a Subscription of this name was written for, also those that are not there any more. */
async function clustersOfChildren(
  { kube, signal }: Attempt,
  name: string,
  namespace: string,
): Promise<ClusterTarget[]> {
  const { items } = await kube.list(
    { apiVersion: APPS, kind: 'Subscription' },
    { namespace, labelSelector: `${LABELS.subscription}=${labelValue(name)}`, signal },
  );
  return items.flatMap(({ metadata }) => {
    const cluster = metadata.annotations?.[ANNOTATIONS.cluster];
    if (cluster === undefined || metadata.name !== childSubscriptionName(name, cluster)) return [];
    return [{ cluster, clusterId: metadata.annotations?.[ANNOTATIONS.clusterId] ?? '' }];
  });
}

/** Carries a part out, and stops waiting when its cluster is taken out: nothing will be deployed there any more. */
async function runPart(attempt: Attempt, handler: Handler): Promise<AttemptResult> {
  const part = partOf(attempt);
  const operation = renderString(attempt.action.subscription?.operation || 'Create', attempt.scope);
  if (operation === 'Delete') return handler.run(part);
  const { kube, task } = attempt;
  const [namespace = '', name = ''] = (task.at.cluster ?? '').split('/');
  const key = { apiVersion: CLUSTERS, kind: 'ManagedCluster', namespace, name };
  const isThere = (cluster: unknown): boolean =>
    isObject(cluster) && isObject(cluster.spec) && cluster.spec.clusterId === task.clusterId;
  const gone = {
    kind: 'failed',
    reason: 'ClusterGone',
    message: `ManagedCluster ${namespace}/${name} with clusterId ${task.clusterId ?? ''} is not there any more; a cluster that joins later is reached by another run`,
  } as const;
  if (!isThere(await kube.get<ManagedCluster>(key, { signal: attempt.signal }))) {
    return { ...gone, effect: 'None' };
  }
  // Held here, as Node 20 may collect the signals of `AbortSignal.any` before they fire.
  const lost = new AbortController();
  const over = new AbortController();
  const stop = (): void => {
    lost.abort(attempt.signal.reason);
    over.abort(attempt.signal.reason);
  };
  if (attempt.signal.aborted) stop();
  else attempt.signal.addEventListener('abort', stop, { once: true });
  let isGone = false;
  const watch = observe(
    kube,
    { cluster: key },
    ({ cluster: [cluster] }) => (isThere(cluster) ? undefined : true),
    {
      signal: over.signal,
      timeoutMs: Math.max(0, attempt.deadline - Date.now()),
    },
  ).then(
    (found) => {
      isGone = found === true;
      if (isGone) lost.abort('cluster gone');
    },
    // Where clusters cannot be watched, the wait lasts until the time is up.
    () => undefined,
  );
  try {
    const result = await handler.run({ ...part, signal: lost.signal });
    if (!isGone || attempt.signal.aborted || result.kind !== 'interrupted') return result;
    return {
      ...gone,
      effect: result.effect,
      ...(result.outputs !== undefined && { outputs: result.outputs }),
    };
  } catch (error) {
    if (!isGone || attempt.signal.aborted) throw error;
    return { ...gone, effect: 'Unknown' };
  } finally {
    attempt.signal.removeEventListener('abort', stop);
    over.abort();
    await watch;
  }
}
