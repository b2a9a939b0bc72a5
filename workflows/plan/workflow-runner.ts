import { CancellationScope } from '@temporalio/workflow';
import { isTerminalItem } from '../../api/core/phase.js';
import { rankOf, waitsOf } from '../../api/plan/order/hooks.js';
import { progressOf } from '../../api/plan/progress.js';
import type { ActionInput, WorkflowInput } from '../../api/plan/snapshot/run.js';
import { readsAny, viewsOf } from '../../api/plan/snapshot/views.js';
import type { ActionStatus, WorkflowExecutionStatus } from '../../api/plan/types.js';
import { runInTurn } from '../core/lanes.js';
import type { Nudges } from '../core/nudges.js';
import { now, skip } from '../core/outcome.js';
import type { Cause } from '../core/outcome.js';
import { executeAction, taskPart } from './action.js';
import type { Approvals } from './approvals.js';
import { runClusterBatch } from './cluster-batch.js';
import type { RunBounds, RunIdentity } from './contract.js';
import type { ActionOutcome, ActionTask } from './contract-tasks.js';
import { applyOutcome, failedItself, heldByNeeds, isMeantSkip } from './outcome.js';
import type { Vouchers } from './vouchers.js';

/** What a use of a workflow runs in. */
export interface WorkflowRunner {
  run: RunIdentity;
  stage: number;
  index: number;
  input: WorkflowInput;
  /** Changed in place; every change is followed by `changed`. */
  status: WorkflowExecutionStatus;
  bounds: RunBounds;
  /** The workflow changed; with an action, that action too. */
  changed: (action?: number) => void;
  approvals: Approvals;
  nudges: Nudges;
  vouchers: Vouchers;
  /** How many more actions the clusters yet to be found may add to the run. */
  clustersLeft: () => number;
  /** Next rank in the stage's order of completion. */
  nextOrder: () => number;
  /** Why the scope was cancelled, once it is. */
  stopCause: () => Cause;
}

const FAIL_FAST: Cause = { reason: 'FailFast', message: 'an action of the workflow failed before it' };

/** Actions of one graph that run at once: below the server's limit of pending activities a workflow may have. */
const MAX_PARALLEL_ACTIONS = 200;

/**
 * Runs the actions of one use of a workflow: in order, or as a graph when any has a dependency. Must be called in a
 * cancellable scope; when that is cancelled nothing new starts and the running actions are interrupted. Leaves every
 * action in a terminal phase; the workflow itself is closed by {@link closeWorkflow}.
 *
 * Can be called again after a person's retry: it goes on with the actions that are Pending.
 */
export function runActions(runner: WorkflowRunner): Promise<void> {
  const { input, status } = runner;
  const statuses = (status.actionStatuses ??= []);
  const { graph, needs } = waitsOf(input.actions);
  const ranks = input.actions.map(rankOf);
  const scope = new CancellationScope();
  const outer = CancellationScope.current();
  let failedFast = false;

  status.phase = 'Running';
  status.startTime ??= now();
  runner.changed();

  const pass = (index: number, cause: Cause): void => {
    const own = statuses[index];
    if (own !== undefined) skip(own, cause);
    runner.changed(index);
  };
  for (const [index, { skip: meant }] of input.actions.entries()) {
    if (meant !== undefined && statuses[index]?.phase === 'Pending') pass(index, meant);
  }

  /** Why an action that ran was interrupted. */
  const interruption = (): Cause => (outer.consideredCancelled ? runner.stopCause() : FAIL_FAST);

  return runInTurn({
    items: statuses,
    limit: MAX_PARALLEL_ACTIONS,
    judge: () => {
      /** Rank of the hooks, or of the others, whose turn it is. */
      const turn = Math.min(...ranks.filter((_, index) => !isTerminalItem(statuses[index]?.phase ?? '')));
      return (index) => {
        if (outer.consideredCancelled) return runner.stopCause();
        if (failedFast) return FAIL_FAST;
        const held = heldByNeeds(needs[index] ?? [], statuses, { graph, what: 'action' });
        return held ?? ((ranks[index] ?? 1) > turn ? 'wait' : 'start');
      };
    },
    start: (index) => {
      const batch = batchFrom(runner, index, graph);
      return scope.run(() =>
        batch.length === 0 ? runAction(runner, index, interruption) : runBatch(runner, batch, interruption),
      );
    },
    skip: pass,
    ended: () => {
      if (failedFast || input.failurePolicy !== 'FailFast' || !statuses.some(failedItself)) return;
      failedFast = true;
      scope.cancel();
    },
  });
}

/**
 * The actions per cluster that are carried out together: this one and, in list order, those after it that read nothing
 * of the batch. Empty when this one is carried out once for all clusters.
 */
function batchFrom({ input, status }: WorkflowRunner, index: number, graph: boolean): number[] {
  const batch: number[] = [];
  const names = new Set<string>();
  for (let next = index; next < input.actions.length; next += 1) {
    const action = input.actions[next];
    const own = status.actionStatuses?.[next];
    if (own?.phase === 'Skipped' && isMeantSkip(own.reason)) continue;
    if (action?.perCluster === undefined || own?.phase !== 'Pending') break;
    // A batch does not mix hooks with other actions: each group waits for all clusters of the one before.
    if (rankOf(action) !== rankOf(input.actions[index] ?? action)) break;
    if (readsAny(action, names)) break;
    batch.push(next);
    names.add(action.name);
    if (graph) break;
  }
  return batch;
}

async function runBatch(
  runner: WorkflowRunner,
  batch: readonly number[],
  interruption: () => Cause,
): Promise<void> {
  await runClusterBatch({
    bounds: runner.bounds,
    vouchers: runner.vouchers,
    clustersLeft: runner.clustersLeft,
    failFast: runner.input.failurePolicy === 'FailFast',
    interruption,
    actions: batch.map((index) => {
      const { action, own, task } = begin(runner, index);
      return {
        input: action,
        status: own,
        task,
        changed: () => runner.changed(index),
        ended: (outcome) => finish(runner, index, outcome, interruption),
      };
    }),
  });
}

async function runAction(runner: WorkflowRunner, index: number, interruption: () => Cause): Promise<void> {
  const { action, own, task } = begin(runner, index);
  const outcome = await executeAction({
    input: action,
    task,
    bounds: runner.bounds,
    approvals: runner.approvals,
    nudges: runner.nudges,
    say: (message, outputs) => {
      own.message = message;
      if (outputs !== undefined) own.outputs = outputs;
      runner.changed(index);
    },
  });
  runner.vouchers.ended(task.at, outcome);
  finish(runner, index, outcome, interruption);
}

function begin(
  runner: WorkflowRunner,
  index: number,
): { action: ActionInput; own: ActionStatus; task: ActionTask } {
  const { input, status } = runner;
  const action = input.actions[index];
  const own = status.actionStatuses?.[index];
  if (action === undefined || own === undefined) throw new Error(`no action ${index}`);
  own.phase = 'Running';
  own.startTime = now();
  delete own.completionTime;
  status.currentAction = action.name;
  runner.changed(index);
  return { action, own, task: taskOf(runner, index, action, own) };
}

function finish(
  runner: WorkflowRunner,
  index: number,
  outcome: ActionOutcome,
  interruption: () => Cause,
): void {
  const { status } = runner;
  const own = status.actionStatuses?.[index];
  if (own === undefined) throw new Error(`no action ${index}`);
  applyOutcome(own, outcome);
  if (own.phase === 'Failed' && own.reason === 'Cancelled') own.reason = interruption().reason;
  if (outcome.phase !== 'Skipped') own.order = runner.nextOrder();
  status.progress = progressOf(status.actionStatuses ?? []);
  status.currentAction = status.actionStatuses?.find((other) => other.phase === 'Running')?.name;
  runner.changed(index);
}

function taskOf(runner: WorkflowRunner, index: number, action: ActionInput, own: ActionStatus): ActionTask {
  return {
    run: runner.run,
    at: { stage: runner.stage, workflow: runner.index, action: index },
    direction: 'forward',
    // A person's retry comes after a definite failure: it is a new round (S3.8).
    round: own.round === undefined ? 0 : own.round + 1,
    ...taskPart(action),
    ...viewsOf(action, runner.status.actionStatuses ?? [], index),
    lean: true,
  };
}
