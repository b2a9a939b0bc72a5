/**
 * Which executions that have ended may be removed: due by age or by number, and no longer needed by anybody. Pure:
 * decided from what the cache keeps of them and from the status of their plan.
 */
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlan } from '../../../api/plan/types.js';
import { rowOf } from '../lock/history.js';
import { executedByOf } from '../lock/plan-state.js';
import type { CachedExecution } from '../types.js';

/** What holds where neither execution nor plan sets a limit; absent means: for ever. */
export interface RetentionDefaults {
  /** How many of a plan are kept. */
  historyLimit?: number;
  /** How long one is kept after its end, in milliseconds. */
  ttlMs?: number;
}

/** All executions, as far as they matter to one of them. */
export interface RetentionView {
  /** Executions of a plan, by its `namespace/name`. */
  ofPlan(plan: string): readonly CachedExecution[];
  plan(plan: string): DRPlan | undefined;
  /** Executions that one has made as parts of itself, by its uid. */
  nestedIn(uid: string): readonly CachedExecution[];
}

/** Key of the plan of an execution. */
export const planKeyOf = ({ metadata, spec }: CachedExecution): string =>
  `${metadata.namespace ?? ''}/${spec.planRef}`;

/**
 * Executions of a plan that are due and not needed, oldest first.
 *
 * @param now in milliseconds since the epoch
 */
export function removable(
  view: RetentionView,
  planKey: string,
  defaults: RetentionDefaults,
  now: number,
): CachedExecution[] {
  const due = dueOf(view.ofPlan(planKey), view.plan(planKey), defaults, now);
  if (due.length === 0) return due;
  const isNeeded = judge(view);
  return due.filter((execution) => !isNeeded(execution));
}

function dueOf(
  executions: readonly CachedExecution[],
  plan: DRPlan | undefined,
  defaults: RetentionDefaults,
  now: number,
): CachedExecution[] {
  const limit = plan?.spec.historyLimit ?? defaults.historyLimit;
  const planTtl = plan?.spec.ttlSecondsAfterFinished;
  const isAsked =
    limit !== undefined ||
    planTtl !== undefined ||
    defaults.ttlMs !== undefined ||
    executions.some(({ spec }) => spec.ttlSecondsAfterFinished !== undefined);
  if (!isAsked) return [];
  return (
    executions
      // An execution that is part of another is removed with that one.
      .filter((execution) => isOver(execution) && !hasOwner(execution))
      .sort((a, b) => endOf(b) - endOf(a))
      .filter((execution, index) => {
        if (limit !== undefined && index >= limit) return true;
        const seconds = execution.spec.ttlSecondsAfterFinished ?? planTtl;
        const ttl = seconds === undefined ? defaults.ttlMs : seconds * 1000;
        return ttl !== undefined && endOf(execution) + ttl <= now;
      })
      .reverse()
  );
}

/** Over for good: ended, with a completion time, and not being deleted already. */
const isOver = ({ status, metadata, stub }: CachedExecution): boolean =>
  isTerminalExecution(status?.phase) &&
  stub !== undefined &&
  metadata.deletionTimestamp === undefined &&
  !Number.isNaN(Date.parse(status?.completionTime ?? ''));

const endOf = ({ status }: CachedExecution): number => Date.parse(status?.completionTime ?? '');
const hasOwner = ({ metadata }: CachedExecution): boolean =>
  metadata.ownerReferences?.some(({ controller }) => controller === true) === true;

/** Decides whether somebody may still need an execution: then it stays, whatever the limits. */
function judge(view: RetentionView): (execution: CachedExecution) => boolean {
  const plans = new Map<string, { isBusy: boolean; standing: ReadonlySet<string> }>();

  function factsOf(key: string): { isBusy: boolean; standing: ReadonlySet<string> } {
    let facts = plans.get(key);
    if (facts === undefined) {
      const executions = view.ofPlan(key);
      // While an execution runs on the plan, nothing of the plan is touched: what it builds on or undoes is not known
      // yet.
      const isBusy =
        view.plan(key)?.status?.currentExecution !== undefined ||
        executions.some(({ status }) => !isTerminalExecution(status?.phase));
      facts = { isBusy, standing: standing(executions) };
      plans.set(key, facts);
    }
    return facts;
  }

  return function isNeeded(execution): boolean {
    const { metadata, stub } = execution;
    const { uid = '', name } = metadata;
    if (!isOver(execution) || stub?.kept !== undefined) return true;
    const key = planKeyOf(execution);
    const facts = factsOf(key);
    if (facts.isBusy || facts.standing.has(uid) || isPartlyUndone(execution)) return true;
    const plan = view.plan(key)?.status;
    const row = rowOf(plan?.executionHistory, uid);
    if (row !== undefined && !isTerminalExecution(row.phase)) return true;
    const inEffect = executedByOf(plan);
    if (
      inEffect !== undefined &&
      (inEffect.uid === undefined ? inEffect.name === name : inEffect.uid === uid)
    )
      return true;
    // Removing it also removes all executions that it has made as parts of itself.
    return view.nestedIn(uid).some((nested) => isNeeded(nested));
  };
}

/** A revert of it has stopped half way, and can be run again. */
const isPartlyUndone = ({ status, stub }: CachedExecution): boolean =>
  stub?.isTouched === true && stub.hasEffects && status?.revertedBy === undefined;

/**
 * Executions that are in effect and can be reverted step by step: the newest run that is not reverted, and all before
 * it that it builds on, back to the last one that carried out the plan as a whole. That one covers everything before
 * it.
 */
function standing(executions: readonly CachedExecution[]): Set<string> {
  const found = new Set<string>();
  const runs = executions
    .filter(({ spec, status }) => spec.operationType === 'Execute' && status?.revertedBy === undefined)
    .sort((a, b) => startOf(b) - startOf(a));
  for (const { metadata, spec, status, stub } of runs) {
    const hasSucceeded = status?.phase === 'Succeeded';
    if (!hasSucceeded && stub?.hasEffects !== true) continue;
    found.add(metadata.uid ?? '');
    const isWhole = spec.mode === undefined || spec.mode === 'Install';
    if (hasSucceeded && isWhole) break;
  }
  return found;
}

const startOf = ({ status, metadata }: CachedExecution): number =>
  Date.parse(status?.startTime ?? metadata.creationTimestamp ?? '');
