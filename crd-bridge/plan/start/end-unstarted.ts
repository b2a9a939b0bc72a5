import { ANNOTATIONS, API_VERSION } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import type { SignalResult } from '../../../client/runs/calls.js';
import type { PlanLock } from '../lock/plan-lock.js';
import { letGo } from '../status/finalizer.js';
import { refusedStatus } from '../status/projection.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { ABANDONED } from './checks.js';
import { refOf } from '../../core/object-ref.js';
import { identityOf } from './identity.js';
import { fieldsOf } from '../log-fields.js';

/** Reasons of executions that are not ours: their metadata is evidence and stays as it is. */
const FOREIGN: ReadonlySet<string> = new Set(['RestoredCopy', ABANDONED]);

/**
 * Ends an execution that never started. Does nothing to one that another replica has started or ended meanwhile: the live
 * object decides, not the one that was passed.
 */
export async function endUnstarted(
  deps: DrDeps,
  plans: PlanLock,
  execution: DRPlanExecution,
  { phase, refusal }: { phase: 'Failed' | 'Cancelled'; refusal: Refusal },
): Promise<void> {
  const { caches } = deps;
  const at = new Date().toISOString();
  const identity = identityOf(execution);
  const workflowId = runWorkflowId({ cluster: deps.cluster, ...identity });
  const isDecided = ({ status }: DRPlanExecution): boolean =>
    isTerminalExecution(status?.phase) || status?.temporal?.workflowId === workflowId;
  const live = await deps.kube.get<CachedExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    namespace: identity.namespace,
    name: identity.name,
  });
  if (live === undefined || live.metadata.uid !== identity.uid) return;
  caches.executions.learn(live);
  // Another replica was faster, and the refusal is out of date.
  if (isDecided(live)) return;
  const cancelRun = (): Promise<SignalResult> =>
    deps.runs.signalCancel(workflowId, { reason: refusal.message });
  // An earlier attempt may have got as far as the start: a run of an execution that ends now must not go on.
  const { annotations } = live.metadata;
  const isStamped =
    annotations?.[ANNOTATIONS.stamp] === identity.uid || annotations?.[ANNOTATIONS.admission] !== undefined;
  const sent = isStamped && !FOREIGN.has(refusal.reason) ? await cancelRun() : 'notRunning';
  // The run did start; it will write its own terminal status.
  if (sent === 'accepted' && phase === 'Cancelled') return;
  // The plan first: an execution that has ended holds nothing.
  if (refusal.reason === ABANDONED) await plans.abandon(execution, identity, { phase, completionTime: at });
  else await plans.giveBack(execution, identity);
  const result = await deps.writer.status(caches.executions, refOf(execution), (current) =>
    isDecided(current)
      ? undefined
      : refusedStatus(current.status, { ...refusal, phase, generation: current.metadata.generation }, at),
  );
  // The start was recorded in the meantime: the plan was given back, so the run must not act without it.
  if (result.kind === 'unchanged' && !isTerminalExecution(result.object.status?.phase)) await cancelRun();
  if (result.kind !== 'written') return;
  await letGo(deps, result.object, { isForeign: FOREIGN.has(refusal.reason) });
  deps.log.info({ ...fieldsOf(execution), phase, ...refusal }, 'execution ended without a run');
  deps.events.record(execution, {
    type: phase === 'Failed' ? 'Warning' : 'Normal',
    reason: `${identity.operation === 'Revert' ? 'Revert' : 'Execution'}${phase}`,
    action: 'Start',
    message: `${refusal.reason}: ${refusal.message}`,
  });
}
