import type { DRPlan, DRPlanExecution, DRPlanStatus } from '../../../api/plan/types.js';
import { fieldsOfHolder } from '../log-fields.js';
import { findPlan } from '../start/find-plan.js';
import { refOf } from '../../core/object-ref.js';
import { inspectHolder, releaseHolder } from './lock-holder.js';
import { checkPlanPhase, planBusy } from '../start/plan-checks.js';
import { abandonOnPlan, freeLock, holds, takeLock } from './plan-state.js';
import type { ExecutionEnd, ExecutionIdentity } from './plan-state.js';
import { refuse, Refused, throwIf } from '../start/refused.js';
import type { DrDeps } from '../types.js';

/**
 * Takes and gives back plans for executions that are about to start.
 *
 * Seam: a named lock for several systems is this compare-and-swap over an object of its own; it moves to the core with
 * its second user.
 */
export interface PlanLock {
  /**
   * Takes the plan. One write under the plan's resourceVersion decides between any number of executions and replicas.
   *
   * @returns false when the plan is no longer the one that was compiled
   * @throws {@link Refused} when somebody else runs on the plan, or its phase does not allow the operation any more
   */
  take(execution: DRPlanExecution, plan: DRPlan, identity: ExecutionIdentity): Promise<boolean>;
  /** Frees the plan of an execution that took it and then did not start, and removes its history row. */
  giveBack(execution: DRPlanExecution, identity: ExecutionIdentity): Promise<void>;
  /** Frees the plan of an execution that another controller has begun: its history row stays and gets the given end. */
  abandon(execution: DRPlanExecution, identity: ExecutionIdentity, end: ExecutionEnd): Promise<void>;
}

/** Locks over the status of plans. */
export function createPlanLock(deps: DrDeps): PlanLock {
  const { caches } = deps;
  // Rows of several replicas are compared, so they use the one clock that all share.
  const now = (): string => new Date(deps.kube.now()).toISOString();

  async function take(
    execution: DRPlanExecution,
    plan: DRPlan,
    identity: ExecutionIdentity,
  ): Promise<boolean> {
    const key = `DRPlan ${plan.metadata.namespace}/${plan.metadata.name}`;
    return deps.mutex.run(key, async () => {
      for (;;) {
        let busy: DRPlanStatus['currentExecution'];
        let changed = false;
        const result = await deps.writer.status(caches.plans, refOf(plan), (current) => {
          busy = undefined;
          changed = current.metadata.generation !== plan.metadata.generation;
          if (changed) return undefined;
          throwIf(checkPlanPhase(execution, current, identity));
          const taken = takeLock(current.status, identity, now(), deps.temporal);
          if (taken === undefined) busy = current.status?.currentExecution;
          return taken;
        });
        if (result.kind === 'gone')
          return refuse('PlanNotFound', `DRPlan "${plan.metadata.name}" was deleted`);
        if (changed) return false;
        if (busy === undefined) return true;
        const holder = await inspectHolder(deps, result.object, busy);
        if (holder.kind === 'live') throw new Refused(planBusy(plan.metadata.name, holder.why));
        const stale = busy;
        deps.log.warn({ ...fieldsOfHolder(plan, stale), why: holder.why }, 'freeing a stale lock');
        await deps.writer.status(
          caches.plans,
          refOf(plan),
          ({ status }) => status && releaseHolder(status, stale, holder),
        );
      }
    });
  }

  async function change(
    execution: DRPlanExecution,
    identity: ExecutionIdentity,
    next: (status: DRPlanStatus) => DRPlanStatus | undefined,
  ): Promise<void> {
    const plan = await findPlan(deps, identity.namespace, execution.spec.planRef);
    if (plan === undefined) return;
    await deps.mutex.run(`DRPlan ${plan.metadata.namespace}/${plan.metadata.name}`, () =>
      deps.writer.status(
        caches.plans,
        refOf(plan),
        ({ status }) => status && next(status),
        // The plan may have been taken by another replica.
        { confirm: true },
      ),
    );
  }

  return {
    take,
    giveBack: (execution, identity) =>
      change(execution, identity, (status) => {
        if (!holds(status.currentExecution, identity)) return undefined;
        const freed = freeLock(status, status.currentExecution?.uid);
        return {
          ...freed,
          executionHistory: (freed.executionHistory ?? []).filter((row) => row.uid !== identity.uid),
        };
      }),
    abandon: (execution, identity, end) =>
      change(execution, identity, (status) => abandonOnPlan(status, identity, end)),
  };
}
