import { isTerminalExecution } from '../../api/phase.js';
import { runWorkflowId } from '../../api/naming.js';
import type { DRPlan, ObjectReference } from '../../api/types.js';
import { API_VERSION } from '../../api/group.js';
import type { CachedExecution, DrDeps } from './types.js';

/** Whether the holder of a plan still needs it. */
export type HolderState =
  | { kind: 'live'; why: string }
  /** It is over, or was never there: the lock may be taken away from it. */
  | { kind: 'over'; why: string };

/**
 * Finds out about the holder of a plan's lock, from the live object and from Temporal: caches may be late, and a lock
 * that is taken away from a run that still goes on lets two runs act at once.
 */
export async function inspectHolder(
  deps: Pick<DrDeps, 'kube' | 'runs' | 'cluster' | 'caches'>,
  plan: DRPlan,
  holder: ObjectReference,
): Promise<HolderState> {
  const namespace = holder.namespace ?? plan.metadata.namespace ?? 'default';
  const { name, uid } = holder;
  const cached = deps.caches.executions.get(namespace, name);
  // The common case costs no request: a cached object that runs is one that ran a moment ago.
  if (cached !== undefined && matches(cached, uid) && !isTerminalExecution(cached.status?.phase)) {
    return live(name, cached.status?.phase);
  }
  const object = await deps.kube.get<CachedExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    namespace,
    name,
  });
  if (object !== undefined && matches(object, uid)) {
    return isTerminalExecution(object.status?.phase)
      ? { kind: 'over', why: `execution "${name}" is ${object.status?.phase}` }
      : live(name, object.status?.phase);
  }
  if (uid === undefined) return { kind: 'over', why: `execution "${name}" does not exist` };
  const run = await deps.runs.describe(runWorkflowId({ cluster: deps.cluster, namespace, name, uid }));
  return run?.state === 'Running'
    ? {
        kind: 'live',
        why: `execution "${name}" was deleted, but its run "${run.workflowId}" has not ended yet; wait for it, or terminate it in Temporal`,
      }
    : { kind: 'over', why: `execution "${name}" does not exist and has no open run` };
}

const matches = (object: CachedExecution, uid: string | undefined): boolean =>
  uid === undefined || object.metadata.uid === uid;

const live = (name: string, phase: string | undefined): HolderState => ({
  kind: 'live',
  why: `execution "${name}" is ${phase ?? 'Pending'}; wait until it has ended, or cancel it`,
});
