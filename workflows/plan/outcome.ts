/** How outcomes become the status of actions and workflows, and what they mean for what depends on them. */
import { isTerminalItem } from '../../api/core/phase.js';
import { between, progressOf } from '../../api/plan/progress.js';
import type { ActionStatus, WorkflowExecutionStatus } from '../../api/plan/types.js';
import type { Turn } from '../core/lanes.js';
import { now, skip, writeOutcome } from '../core/outcome.js';
import type { Cause, ItemStatus } from '../core/outcome.js';
import type { ActionOutcome } from './contract-tasks.js';

/** Reasons of what was cut short by something else, and did not fail by itself. */
const INTERRUPTIONS = new Set(['Cancelled', 'FailFast', 'StageFailed']);

/** Whether something else has cut an item short, or kept it from beginning. */
export const isInterrupted = ({ reason }: Pick<ItemStatus, 'reason'>): boolean =>
  INTERRUPTIONS.has(reason ?? '');

/** Whether an item failed by itself, not because it was interrupted. */
export const failedItself = (item: ItemStatus): boolean => item.phase === 'Failed' && !isInterrupted(item);

/** Reasons of a skip that satisfies dependants: it was meant. */
const MEANT = new Set(['WhenFalse', 'SkippedByUser', 'NotDelivered', 'OtherMode', 'NoDelete']);

/** Whether a skip was meant, so that what depends on the skipped item goes on (S4.10). */
export const isMeantSkip = (reason: string | undefined): boolean => reason !== undefined && MEANT.has(reason);

/**
 * Whether what an item depends on lets it begin; undefined when it does.
 *
 * @param needs indices of what it depends on
 * @param options.graph in list order with Continue, the failure of an earlier item is no dependency
 * @param options.what what the items are called in a message
 */
export function heldByNeeds(
  needs: readonly number[],
  items: readonly (ItemStatus & { name: string })[],
  { graph, what }: { graph: boolean; what: string },
): Exclude<Turn, 'start'> | undefined {
  for (const need of needs) {
    const dependency = items[need];
    if (dependency === undefined || !isTerminalItem(dependency.phase)) return 'wait';
    if (!graph) continue;
    const isMissing =
      dependency.phase === 'Failed' || (dependency.phase === 'Skipped' && !isMeantSkip(dependency.reason));
    if (isMissing) {
      return { reason: 'DependencyFailed', message: `${what} "${dependency.name}" did not succeed` };
    }
  }
  return undefined;
}

/** Writes an outcome into an action's status. */
export function applyOutcome(status: ActionStatus, outcome: ActionOutcome): void {
  writeOutcome(status, outcome);
  if (outcome.phase !== 'Skipped' && outcome.outputs !== undefined) status.outputs = outcome.outputs;
}

/** Skips a use of a workflow with all its actions. */
export function skipWorkflow(status: WorkflowExecutionStatus, cause: Cause): void {
  for (const action of status.actionStatuses ?? []) if (action.phase === 'Pending') skip(action, cause);
  status.progress = progressOf(status.actionStatuses ?? []);
  skip(status, cause);
}

/** Gives a workflow whose actions have all ended its own phase. */
export function closeWorkflow(status: WorkflowExecutionStatus): void {
  const actions = status.actionStatuses ?? [];
  const failed = actions.find(failedItself);
  const cut = actions.find(
    (action) => action.phase === 'Failed' || (action.phase === 'Skipped' && !isMeantSkip(action.reason)),
  );
  delete status.currentAction;
  delete status.reason;
  delete status.message;
  status.completionTime = now();
  status.duration = between(status.startTime ?? status.completionTime, status.completionTime);
  status.progress = progressOf(actions);
  if (failed !== undefined) {
    status.phase = 'Failed';
    status.reason = 'ActionFailed';
    status.message = `action "${failed.name}" failed: ${failed.message ?? failed.reason ?? 'no reason given'}`;
  } else if (cut !== undefined) {
    status.phase = 'Failed';
    status.reason = cut.reason;
    status.message = `action "${cut.name}" was stopped: ${cut.message ?? cut.reason ?? ''}`;
  } else if (actions.length > 0 && actions.every((action) => action.phase === 'Skipped')) {
    status.phase = 'Skipped';
    status.reason = actions[0]?.reason;
    status.message = 'every action was skipped';
  } else {
    status.phase = 'Succeeded';
  }
}
