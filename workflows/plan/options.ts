import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import { traitsOf } from '../../api/plan/actions/traits.js';
import type { ActionInput } from '../../api/plan/snapshot/run.js';
import { taskQueues } from '../core/contract.js';
import { cutSummary } from '../core/text.js';
import type { RunBounds, RunIdentity } from './contract.js';
import type { ActionOutcome, ActionTask, SettleCause, WorkerActivities } from './contract-tasks.js';

/** Time that the server grants an attempt beyond its own timeout: the attempt ends itself, so that outputs survive. */
export const SERVER_GRACE_MS = 30_000;
/** An attempt that gives no sign of life for this long is lost. */
export const HEARTBEAT_TIMEOUT_MS = 8_000;
/**
 * Attempts that may be lost (worker killed, machine gone) on top of those that the retry policy grants. The activity
 * counts what was really tried and ends the series; this bounds an action that kills its worker each time.
 */
export const LOST_ATTEMPTS = 50;

/** A wait gives few signs of life: there may be a thousand, and none has an effect that somebody must take over soon. */
const WAIT_HEARTBEAT_TIMEOUT_MS = 30_000;

/**
 * Activities of one action: its timeouts, its retries, its name in the Web UI. A failed attempt itself sets the wait
 * that the action's retry policy gives; the interval here is for lost attempts, which need not wait that long.
 *
 * @param options.scheduleToCloseMs bound on all attempts
 * @param options.letsGo whether a cancel does not wait for the attempt to end: for a wait, which has nothing to settle
 */
export function actionActivities(
  action: ActionInput,
  task: ActionTask,
  options: { scheduleToCloseMs: number | undefined; letsGo: boolean },
): WorkerActivities {
  const { scheduleToCloseMs, letsGo } = options;
  const { isWait } = traitsOf(task.type);
  return proxyActivities<WorkerActivities>({
    taskQueue: queueOf(task),
    startToCloseTimeout: action.timeoutMs + SERVER_GRACE_MS,
    ...(scheduleToCloseMs !== undefined && { scheduleToCloseTimeout: scheduleToCloseMs }),
    heartbeatTimeout: isWait === true ? WAIT_HEARTBEAT_TIMEOUT_MS : HEARTBEAT_TIMEOUT_MS,
    cancellationType: letsGo
      ? ActivityCancellationType.TRY_CANCEL
      : ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: '500ms',
      backoffCoefficient: 2,
      maximumInterval: '15s',
      maximumAttempts: action.retry.limit + 1 + LOST_ATTEMPTS,
    },
    summary: cutSummary(action.name),
  });
}

/** Waits never hold up an action, and actions never hold up an undo. */
function queueOf({ run, type, direction }: ActionTask): string {
  const queues = taskQueues(run.cluster);
  if (traitsOf(type).isWait === true) return queues.waits;
  return direction === 'undo' ? queues.urgent : queues.worker;
}

/**
 * Activities that belong to an action but are not its effect: recording, settling. Quick retries, bounded in number and
 * not in time: without a worker a run waits for one.
 *
 * @param options.endless the activity itself knows when to give up
 */
export function helperActivities(
  label: string,
  { run, bounds, endless }: { run: RunIdentity; bounds: RunBounds; endless?: boolean },
): WorkerActivities {
  return proxyActivities<WorkerActivities>({
    taskQueue: taskQueues(run.cluster).urgent,
    startToCloseTimeout: '1m',
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: '500ms',
      backoffCoefficient: 2,
      maximumInterval: '15s',
      ...(endless !== true && { maximumAttempts: triesOf(bounds) }),
    },
    summary: cutSummary(label),
  });
}

const triesOf = (bounds: RunBounds): number => Math.max(5, Math.ceil(bounds.settleMs / 15_000));

const STOP_WAIT_MS = 300_000;

/** The task with the bounds of its stop, where what it has started may go on after that (a Job). */
export const withStop = (task: ActionTask, bounds: RunBounds): ActionTask =>
  traitsOf(task.type).lingers === true
    ? { ...task, stop: { waitMs: bounds.stopWaitMs ?? STOP_WAIT_MS, tries: triesOf(bounds) } }
    : task;

/**
 * Settles a task. A Job's pods may take longer to go than any fixed number of attempts: the activity ends that series
 * itself.
 *
 * @param because why, as messages say it
 */
export function settleTask(
  task: ActionTask,
  bounds: RunBounds,
  because: SettleCause,
): Promise<ActionOutcome> {
  const { stop, ...whole } = withStop(task, bounds);
  return helperActivities(`settle: ${task.name}`, {
    run: task.run,
    bounds,
    endless: traitsOf(task.type).lingers === true,
  }).settle({ ...whole, ...(stop !== undefined && { stop: { ...stop, because } }) });
}
