import { CancellationScope } from '@temporalio/workflow';
import { isTerminalItem } from '../../api/core/phase.js';
import { rankOf, waitsOf } from '../../api/plan/order/hooks.js';
import { between, progressOf } from '../../api/plan/progress.js';
import type { ActionInput, WorkflowInput } from '../../api/plan/snapshot/run.js';
import { readsAny, viewsOf } from '../../api/plan/snapshot/views.js';
import type { ActionStatus, WorkflowExecutionStatus } from '../../api/plan/types.js';
import type { Nudges } from '../core/nudges.js';
import { executeAction, taskPart } from './action.js';
import type { Approvals } from './approvals.js';
import { runClusterBatch } from './cluster-batch.js';
import type { RunBounds, RunIdentity } from './contract.js';
import type { ActionOutcome, ActionTask } from './contract-tasks.js';
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
  stopCause: () => StopCause;
}

/** Why nothing more is started. */
export interface StopCause {
  reason: string;
  message: string;
}

const FAIL_FAST: StopCause = { reason: 'FailFast', message: 'an action of the workflow failed before it' };

/** Reasons of what was cut short by something else, and did not fail by itself. */
const INTERRUPTIONS = new Set(['Cancelled', 'FailFast', 'StageFailed']);

/** Whether an item failed by itself, not because it was interrupted. */
export const failedItself = (item: { phase: string; reason?: string | undefined }): boolean =>
  item.phase === 'Failed' && !INTERRUPTIONS.has(item.reason ?? '');

/** Actions of one graph that run at once: below the server's limit of pending activities a workflow may have. */
const MAX_PARALLEL_ACTIONS = 200;

/** Reasons of a skip that satisfies dependants: it was meant. */
const MEANT = new Set(['WhenFalse', 'SkippedByUser', 'NotDelivered', 'OtherMode', 'NoDelete']);

/** Whether a skip was meant, so that what depends on the skipped item goes on (S4.10). */
export const isMeantSkip = (reason: string | undefined): boolean => reason !== undefined && MEANT.has(reason);

/**
 * Runs the actions of one use of a workflow: in order, or as a graph when any has a dependency. Must be called in a
 * cancellable scope; when that is cancelled nothing new starts and the running actions are interrupted. Leaves every
 * action in a terminal phase; the workflow itself is closed by {@link closeWorkflow}.
 *
 * Can be called again after a person's retry: it goes on with the actions that are Pending.
 */
export async function runActions(runner: WorkflowRunner): Promise<void> {
  const { input, status } = runner;
  const statuses = (status.actionStatuses ??= []);
  const { graph, needs } = waitsOf(input.actions);
  const ranks = input.actions.map(rankOf);
  /** Rank of the hooks, or of the others, whose turn it is. */
  const turn = (): number =>
    Math.min(...ranks.filter((_, index) => !isTerminalItem(statuses[index]?.phase ?? '')));
  const running = new Map<number, Promise<void>>();
  const scope = new CancellationScope();
  const outer = CancellationScope.current();
  let failedFast = false;

  status.phase = 'Running';
  status.startTime ??= now();
  runner.changed();

  /** Why an action that ran was interrupted. */
  const interruption = (): StopCause => (outer.consideredCancelled ? runner.stopCause() : FAIL_FAST);

  /** What to do with an action that has not begun. */
  const verdict = (index: number, currentTurn: number): 'start' | 'wait' | StopCause => {
    if (outer.consideredCancelled) return runner.stopCause();
    if (failedFast) return FAIL_FAST;
    for (const need of needs[index] ?? []) {
      const dependency = statuses[need];
      if (dependency === undefined || !isTerminalItem(dependency.phase)) return 'wait';
      // In list order with Continue, the failure of an earlier action is no dependency.
      if (!graph) continue;
      if (
        dependency.phase === 'Failed' ||
        (dependency.phase === 'Skipped' && !isMeantSkip(dependency.reason))
      ) {
        return { reason: 'DependencyFailed', message: `action "${dependency.name}" did not succeed` };
      }
    }
    if ((ranks[index] ?? 1) > currentTurn) return 'wait';
    return running.size < MAX_PARALLEL_ACTIONS ? 'start' : 'wait';
  };

  for (const [index, { skip: meant }] of input.actions.entries()) {
    const own = statuses[index];
    if (meant === undefined || own?.phase !== 'Pending') continue;
    skip(own, meant);
    runner.changed(index);
  }

  for (;;) {
    let skipped = false;
    const currentTurn = turn();
    for (const [index, action] of statuses.entries()) {
      if (action.phase !== 'Pending') continue;
      const decision = verdict(index, currentTurn);
      if (decision === 'wait') continue;
      if (decision === 'start') {
        const batch = batchFrom(runner, index, graph);
        const run = (): Promise<void> =>
          batch.length === 0 ? runAction(runner, index, interruption) : runBatch(runner, batch, interruption);
        running.set(
          index,
          scope.run(run).finally(() => running.delete(index)),
        );
      } else {
        skip(action, decision);
        runner.changed(index);
        skipped = true;
      }
    }
    // Dependants that stand earlier in the list are decided in another pass.
    if (skipped) continue;
    if (running.size === 0) break;
    await Promise.race(running.values());
    if (input.failurePolicy === 'FailFast' && !failedFast && statuses.some(failedItself)) {
      failedFast = true;
      scope.cancel();
    }
  }
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
  interruption: () => StopCause,
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

async function runAction(
  runner: WorkflowRunner,
  index: number,
  interruption: () => StopCause,
): Promise<void> {
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
  interruption: () => StopCause,
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

/** Writes an outcome into an action's status. */
export function applyOutcome(status: ActionStatus, outcome: ActionOutcome): void {
  status.phase = outcome.phase;
  status.completionTime = now();
  status.round = outcome.round;
  if (outcome.retryCount > 0) status.retryCount = outcome.retryCount;
  delete status.reason;
  delete status.message;
  if (outcome.message !== undefined) status.message = outcome.message;
  switch (outcome.phase) {
    case 'Succeeded':
      status.effect = 'Done';
      if (outcome.outputs !== undefined) status.outputs = outcome.outputs;
      return;
    case 'Skipped':
      status.reason = outcome.reason;
      return;
    case 'Failed':
      status.reason = outcome.reason;
      // An earlier round may have had its effect although this one had none.
      status.effect = stronger(status.effect, outcome.effect);
      if (outcome.outputs !== undefined) status.outputs = outcome.outputs;
  }
}

const STRENGTH = { None: 0, Unknown: 1, Done: 2 } as const;
type Effect = keyof typeof STRENGTH;

const stronger = (before: Effect | undefined, now: Effect): Effect =>
  before !== undefined && STRENGTH[before] > STRENGTH[now] ? before : now;

/** Marks something that never began. */
export function skip(item: ActionStatus | WorkflowExecutionStatus, cause: StopCause): void {
  item.phase = 'Skipped';
  item.reason = cause.reason;
  item.message = cause.message;
  item.completionTime = now();
}

/** Skips a use of a workflow with all its actions. */
export function skipWorkflow(status: WorkflowExecutionStatus, cause: StopCause): void {
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

/** The moment of the workflow task, RFC 3339 with milliseconds. */
export const now = (): string => new Date().toISOString();
