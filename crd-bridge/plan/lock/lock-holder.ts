import { isTerminalExecution } from '../../../api/core/phase.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import type { DRPlan, DRPlanExecution, DRPlanStatus, ObjectReference } from '../../../api/plan/types.js';
import { API_VERSION } from '../../../api/core/group.js';
import { isElsewhere } from '../../core/temporal-identity.js';
import { rowOf } from './history.js';
import { identityOf, nameOfTemporal } from '../start/identity.js';
import { endOnPlan, freeLock } from './plan-state.js';
import type { ExecutionEnd, ExecutionIdentity } from './plan-state.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { remainsOf } from './remains.js';
import type { RemainsDeps } from './remains.js';

/** Whether the holder of a plan still needs it. */
export type HolderState =
  | {
      kind: 'live';
      why: string;
      /** Its execution is gone: nobody but the plan looks after its run. */
      isGone?: true;
    }
  /** It is over, or never existed: the lock may be taken away from it. */
  | {
      kind: 'over';
      why: string;
      /** How it ended, where its record still shows that. */
      ended?: { execution: ExecutionIdentity; end: ExecutionEnd };
    };

/**
 * Finds out about the holder of a plan's lock, from the live object and from Temporal: caches may be behind, and taking
 * the lock from a run that still goes on would let two runs act at once.
 *
 * @param options.isActing whether to end and settle, too, what a run has left that was ended from outside and whose
 * execution is gone
 */
export async function inspectHolder(
  deps: Pick<DrDeps, 'kube' | 'caches' | 'temporal'> & RemainsDeps,
  plan: DRPlan,
  holder: ObjectReference,
  { isActing = false }: { isActing?: boolean } = {},
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
    const end = endOf(object);
    if (end === undefined) return live(name, object.status?.phase);
    return {
      kind: 'over',
      why: `execution "${name}" is ${end.phase}`,
      ended: { execution: identityOf(object), end },
    };
  }
  if (uid === undefined) return { kind: 'over', why: `execution "${name}" does not exist` };
  const where = rowOf(plan.status?.executionHistory, uid)?.temporal;
  if (isElsewhere(where, deps.temporal)) {
    return {
      kind: 'live',
      why: `execution "${name}" was deleted, and its run is in ${nameOfTemporal(where)}, while the bridge is connected to ${nameOfTemporal(deps.temporal)}; connect it to that one, or, once the run is known to be over, remove status.currentExecution from the plan`,
    };
  }
  const run = await deps.runs.describe(runWorkflowId({ cluster: deps.cluster, namespace, name, uid }));
  const isGone = true;
  if (run?.state === 'Running')
    return {
      kind: 'live',
      isGone,
      why: `execution "${name}" was deleted, but its run "${run.workflowId}" has not ended yet; wait for it, or, where it cannot go on, end it with "drover cancel ${name} -n ${namespace} --terminate"`,
    };
  const remains = run === undefined ? undefined : await remainsOf(deps, run, isActing);
  return remains === undefined
    ? { kind: 'over', why: `execution "${name}" does not exist and has no open run` }
    : {
        kind: 'live',
        isGone,
        why: `execution "${name}" was deleted and its run has ended, but for ${remains}`,
      };
}

/** How an execution has ended, by its own status. */
export function endOf({ status }: DRPlanExecution): ExecutionEnd | undefined {
  const { phase, startTime, completionTime } = status ?? {};
  if (!isTerminalExecution(phase)) return undefined;
  return {
    phase: phase as ExecutionEnd['phase'],
    ...(startTime !== undefined && { startTime }),
    completionTime: completionTime ?? new Date().toISOString(),
  };
}

/**
 * Takes the lock away from a holder that is over, and writes what its end should have written: all of it where the
 * record of the execution shows how it ended, else only that it no longer runs. Guarded by uid, as every end.
 */
export function releaseHolder(
  status: DRPlanStatus,
  holder: ObjectReference,
  { ended }: Extract<HolderState, { kind: 'over' }>,
): DRPlanStatus {
  const { uid } = holder;
  if (status.currentExecution === undefined || status.currentExecution.uid !== uid) return status;
  if (ended !== undefined) return endOnPlan(status, ended.execution, ended.end);
  const rows = status.executionHistory ?? [];
  // Rows and locks of the original controller have no uid.
  const open = rows.find(
    (row) =>
      !isTerminalExecution(row.phase) &&
      (uid === undefined ? row.uid === undefined && row.name === holder.name : row.uid === uid),
  );
  const freed = freeLock(status, uid);
  if (open === undefined) return freed;
  const closed = { ...open, phase: 'Cancelled', completionTime: new Date().toISOString() };
  return { ...freed, executionHistory: rows.map((row) => (row === open ? closed : row)) };
}

const matches = (object: CachedExecution, uid: string | undefined): boolean =>
  uid === undefined || object.metadata.uid === uid;

const live = (name: string, phase: string | undefined): HolderState => ({
  kind: 'live',
  why: `execution "${name}" is ${phase ?? 'Pending'}; wait until it has ended, or cancel it`,
});
