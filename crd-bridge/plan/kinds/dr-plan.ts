import { ANNOTATIONS, LABELS } from '../../../api/core/group.js';
import { errorsOf } from '../../../api/core/problem.js';
import type { Problem } from '../../../api/core/problem.js';
import { labelValue } from '../../../api/plan/naming.js';
import type { DRPlan, DRPlanStatus } from '../../../api/plan/types.js';
import { findCondition, setCondition } from '../../core/conditions.js';
import { refOf } from '../../core/object-ref.js';
import { fieldsOfHolder } from '../log-fields.js';
import { inspectHolder, releaseHolder } from '../lock/lock-holder.js';
import { EXECUTED_CONDITION, wasExecuted } from '../lock/plan-state.js';
import type { DrDeps } from '../types.js';
import { readyCondition } from './dr-workflow.js';
import type { WorkflowKind } from './dr-workflow.js';
import { createPlanChecks } from './plan-checks.js';
import type { PlanChecks } from './plan-checks.js';
import { references } from './plan-references.js';

/** Checks plans, and frees those whose holder is over. */
export interface PlanKind extends Omit<PlanChecks, 'check' | 'learnMissing'> {
  /** @returns after how many milliseconds to look again, if at all */
  reconcile(plan: DRPlan): Promise<number | undefined>;
}

/** Time between two looks at a lock whose holder is alive. */
const LOCK_CHECK_MS = 60_000;
/** The same where only the plan still knows the run that holds it. */
const GONE_CHECK_MS = 5_000;

/** The row of DRPlan in the bridge's table: it has a status and no runs. */
export function createPlanKind(deps: DrDeps, workflows: WorkflowKind): PlanKind {
  const { caches, writer } = deps;
  const { check, learnMissing, ...checks } = createPlanChecks(deps, workflows);
  // Saves a request per look; the event itself is recorded only once in any case.
  const told = new Set<string>();

  function warnOfTrigger(plan: DRPlan): void {
    const trigger = plan.metadata.annotations?.[ANNOTATIONS.trigger];
    const key = `${plan.metadata.uid}/${trigger}`;
    if (trigger === undefined || told.has(key)) return;
    told.add(key);
    deps.events.record(plan, {
      type: 'Warning',
      reason: 'TriggerIgnored',
      action: 'Check',
      message: `annotation ${ANNOTATIONS.trigger} starts nothing; create a DRPlanExecution to run the plan, and remove the annotation`,
      key: trigger,
    });
  }

  return {
    ...checks,
    async reconcile(plan) {
      if (plan.metadata.deletionTimestamp !== undefined) return undefined;
      await learnMissing(plan);
      await writer.status(caches.plans, refOf(plan), (current) =>
        planStatus(current, check(current), new Date().toISOString()),
      );
      await labelWithWorkflow(deps, plan);
      warnOfTrigger(plan);
      return sweepLock(deps, caches.plans.get(plan.metadata.namespace, plan.metadata.name) ?? plan);
    },
  };
}

/** Keeps label `workflow` on a plan that uses a single one, so that plans can be selected by it. */
async function labelWithWorkflow(
  { caches, writer }: Pick<DrDeps, 'caches' | 'writer'>,
  plan: DRPlan,
): Promise<void> {
  const single = singleWorkflow(plan);
  if (plan.metadata.labels?.[LABELS.workflow] === single) return;
  await writer.metadata(caches.plans, refOf(plan), ({ metadata }) => {
    const { [LABELS.workflow]: _, ...labels } = metadata.labels ?? {};
    return { labels: single === undefined ? labels : { ...labels, [LABELS.workflow]: single } };
  });
}

/**
 * Frees the lock of a plan whose holder is over.
 *
 * @returns after how many milliseconds to look again, if at all
 */
async function sweepLock(deps: DrDeps, plan: DRPlan): Promise<number | undefined> {
  const holder = plan.status?.currentExecution;
  if (holder === undefined) return undefined;
  const state = await inspectHolder(deps, plan, holder, { isActing: true });
  if (state.kind === 'live') return state.isGone === true ? GONE_CHECK_MS : LOCK_CHECK_MS;
  deps.log.warn({ ...fieldsOfHolder(plan, holder), why: state.why }, 'freeing a stale lock');
  await deps.writer.status(
    deps.caches.plans,
    refOf(plan),
    ({ status }) => status && releaseHolder(status, holder, state),
  );
  return undefined;
}

/** Status of a plan after a check. Executed survives Invalid and edits: it comes back when the plan is valid again. */
export function planStatus(plan: DRPlan, problems: readonly Problem[], now: string): DRPlanStatus {
  const { status, metadata } = plan;
  const executed = wasExecuted(status);
  const invalid = errorsOf(problems).length > 0;
  let conditions = readyCondition(status?.conditions, problems, metadata.generation, now);
  if (executed && findCondition(conditions, EXECUTED_CONDITION) === undefined) {
    conditions = setCondition(
      conditions,
      {
        type: EXECUTED_CONDITION,
        status: 'True',
        reason: 'Executed',
        message: `executed by DRPlanExecution "${status?.lastExecutionRef ?? ''}"`,
      },
      status?.lastExecutionTime ?? now,
    );
  }
  return {
    ...status,
    phase: invalid ? 'Invalid' : executed ? 'Executed' : 'Ready',
    conditions,
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
  };
}

/** Label value of the one workflow that a plan uses (S1.16). */
function singleWorkflow(plan: DRPlan): string | undefined {
  const keys = new Set(references(plan).map((ref) => `${ref.namespace}/${ref.name}`));
  const [only] = references(plan);
  return keys.size === 1 && only !== undefined ? labelValue(only.name) : undefined;
}
