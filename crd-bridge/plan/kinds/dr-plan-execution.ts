import { ANNOTATIONS, API_VERSION, FINALIZERS } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import { WORKFLOW_TYPES } from '../../../workflows/plan/contract.js';
import type { RunKind } from '../../core/kind.js';
import { fieldsOf } from '../log-fields.js';
import { closeHistory } from '../lock/close-history.js';
import type { ExecutionStarts } from '../start/starts.js';
import { checkAbandoned, checkRestored } from '../start/checks.js';
import { refOf } from '../../core/object-ref.js';
import { identityOf, nameOfTemporal } from '../start/identity.js';
import { concludeClosed, concludeLost } from '../status/ended-outside.js';
import { followRun } from '../status/follow-run.js';
import { setProgressing } from '../status/progressing.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { stateOf, viewOf, workflowIdOf } from './execution-view.js';

/** What the bridge does with executions of plans. */
export function createExecutionKind(deps: DrDeps, starts: ExecutionStarts): RunKind<CachedExecution> {
  const workflowId = (execution: DRPlanExecution): string => workflowIdOf(deps.cluster, execution);
  return {
    words: { one: 'execution', several: 'executions' },
    workflowType: WORKFLOW_TYPES.execution,
    idPrefix: `dr/${deps.cluster}/`,
    workflowId,
    logFields: fieldsOf,
    state: stateOf,
    view: (execution) => viewOf(deps, execution),
    prepareStart: (execution) => starts.prepare(execution),
    isStarting: (execution) => isHolderOfPlan(deps, execution),
    cancelBeforeStart: (execution) => cancelBeforeStart(starts, execution),
    alive: (execution, run) => followRun(deps, execution, run),
    closed: (execution, run) => concludeClosed(deps, execution, run),
    lost: (execution) =>
      concludeLost(deps, execution, execution.status?.temporal?.workflowId ?? workflowId(execution)),
    async mismatch(execution, connected) {
      const recorded = execution.status?.temporal;
      await setProgressing(deps, execution, {
        status: 'False',
        reason: 'TemporalMismatch',
        message: `the run "${recorded?.workflowId ?? ''}" is in ${nameOfTemporal(recorded)}, and the bridge is connected to ${nameOfTemporal(connected)}; connect it to the recorded one, or if that will never come back, end the execution: drover cancel ${execution.metadata.name} --temporal-lost`,
      });
    },
    async held(execution, reason, message) {
      if (execution.status?.temporal === undefined) await starts.hold(execution, reason, message);
      else await setProgressing(deps, execution, { status: 'False', reason, message });
    },
    async blocked(execution, reason, message) {
      const told = `${message}; to delete the record nevertheless, set annotation ${ANNOTATIONS.forceDelete}: "true"`;
      await setProgressing(deps, execution, { status: 'False', reason, message: told });
      if (!isTerminalExecution(execution.status?.phase)) return;
      deps.events.record(execution, {
        type: 'Warning',
        reason: 'DeletionHeld',
        action: 'Delete',
        message: `${reason}: ${told}`,
        key: told,
      });
    },
    beforeRelease: (execution, cause) => closeHistory(deps, execution, cause),
    disown: (execution) => dropFinalizers(deps, execution, [FINALIZERS.legacyExecution]),
    release: (execution) =>
      dropFinalizers(deps, execution, [FINALIZERS.execution, FINALIZERS.legacyExecution]),
  };
}

/** Whether the plan is locked for the execution: the first thing that a start takes. */
async function isHolderOfPlan({ kube }: Pick<DrDeps, 'kube'>, execution: CachedExecution): Promise<boolean> {
  const { uid, namespace } = identityOf(execution);
  const plan = await kube.get<DRPlan>({
    apiVersion: API_VERSION,
    kind: 'DRPlan',
    namespace,
    name: execution.spec.planRef,
  });
  return plan?.status?.currentExecution?.uid === uid;
}

async function cancelBeforeStart(starts: ExecutionStarts, execution: CachedExecution): Promise<void> {
  // It is not known how far another controller came, so nobody can say that nothing was done.
  const foreign = checkAbandoned(execution) ?? checkRestored(execution);
  if (foreign !== undefined) {
    await starts.refuse(execution, 'Failed', foreign);
    return;
  }
  await starts.refuse(execution, 'Cancelled', {
    reason: 'Cancelled',
    message: 'cancelled before it was started: nothing was done',
  });
}

async function dropFinalizers(
  { writer, caches }: Pick<DrDeps, 'writer' | 'caches'>,
  execution: CachedExecution,
  names: readonly string[],
): Promise<void> {
  await writer.metadata(caches.executions, refOf(execution), ({ metadata }) => {
    const finalizers = metadata.finalizers ?? [];
    const kept = finalizers.filter((name) => !names.includes(name));
    return kept.length === finalizers.length ? undefined : { finalizers: kept };
  });
}
