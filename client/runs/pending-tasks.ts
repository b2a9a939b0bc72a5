/** What a description of a workflow says about tasks that no worker takes, and about tasks that fail on one. */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { WAIT_ACTIVITIES } from '../../api/plan/actions/activities.js';

/** A task that was due and that no worker has taken. */
export interface WaitingTask {
  /** When it was first scheduled: a server that hands a task to a worker which has just died schedules it anew. */
  since: Date;
  /** `workflow`, `wait` (a slot of those for waits) or `activity`. */
  what: 'workflow' | 'wait' | 'activity';
}

/** A workflow task that fails wherever it is tried. */
export interface FailingTask {
  workflowId: string;
  since: Date;
  /** What the code that tried it said. */
  message: string;
}

type Raw = WorkflowExecutionDescription['raw'];

const WAITS = new Set<string>(WAIT_ACTIVITIES);

/** PENDING_ACTIVITY_STATE_SCHEDULED */
const ACTIVITY_SCHEDULED = 1;
/** EVENT_TYPE_WORKFLOW_TASK_FAILED and EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT */
const TASK_FAILED = 9;
const TASK_TIMED_OUT = 8;
/** The first failure of a task may pass by itself, such as a result that came while the task was worked on. */
const FAILING_ATTEMPTS = 3;
/**
 * Workers report the first failure alone, and let later tries run into their time limit: a second try that is under way for
 * this long, in milliseconds, has failed too.
 */
const SECOND_TRY_MS = 3_000;
/** UNHANDLED_COMMAND, RESET_STICKY_TASK_QUEUE, FORCE_CLOSE_COMMAND, RESET_WORKFLOW: they say nothing about the code. */
const HARMLESS_CAUSES = new Set([1, 13, 17, 20]);
const MAX_EVENTS_LOOKED_AT = 20;

/** The oldest task that was due and that no worker has taken, among workflow tasks and the workflow's own activities. */
export function waitingTask(raw: Raw): WaitingTask | undefined {
  const task = raw.pendingWorkflowTask ?? undefined;
  const isWaiting = task !== undefined && (task.startedTime ?? undefined) === undefined;
  const found: WaitingTask[] = [
    ...(isWaiting ? waiting('workflow', task.originalScheduledTime ?? task.scheduledTime) : []),
    ...(raw.pendingActivities ?? [])
      .filter(({ state }) => Number(state) === ACTIVITY_SCHEDULED)
      .flatMap(({ activityType, scheduledTime }) =>
        waiting(WAITS.has(activityType?.name ?? '') ? 'wait' : 'activity', scheduledTime),
      ),
  ];
  return oldest(found);
}

/** The one of several that waits longest. */
export const oldest = (tasks: readonly WaitingTask[]): WaitingTask | undefined =>
  tasks.length === 0 ? undefined : tasks.reduce((a, b) => (b.since < a.since ? b : a));

/** An activity between two attempts is scheduled for later: it waits for its time, not for a worker. */
function waiting(what: WaitingTask['what'], time: { seconds?: unknown } | null | undefined): WaitingTask[] {
  const ms = Number(time?.seconds ?? Number.NaN) * 1000;
  return Number.isNaN(ms) || ms > Date.now() ? [] : [{ since: new Date(ms), what }];
}

/**
 * What a workflow's task fails with, where it keeps failing: its code does not fit its history any more, or has a fault.
 * One more call where the description shows a task that was tried several times.
 */
export async function failingTask(
  client: Client,
  workflowId: string,
  raw: Raw,
): Promise<FailingTask | undefined> {
  const task = raw.pendingWorkflowTask ?? undefined;
  if (task === undefined) return undefined;
  const attempt = Number(task.attempt);
  const started = Number(task.startedTime?.seconds ?? Number.NaN) * 1000;
  const hasFailed = attempt >= FAILING_ATTEMPTS || (attempt === 2 && Date.now() - started >= SECOND_TRY_MS);
  if (!hasFailed) return undefined;
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId },
    maximumPageSize: MAX_EVENTS_LOOKED_AT,
  });
  const last = (history?.events ?? []).find(({ eventType }) =>
    [TASK_FAILED, TASK_TIMED_OUT].includes(Number(eventType)),
  );
  const failed = last?.workflowTaskFailedEventAttributes ?? undefined;
  // A task that timed out, as where its worker died, says nothing about the code.
  if (failed === undefined || HARMLESS_CAUSES.has(Number(failed.cause))) return undefined;
  const error = await decodeOptionalFailureToOptionalError(
    client.options.loadedDataConverter,
    failed.failure,
  );
  const seconds = Number(task.originalScheduledTime?.seconds ?? task.scheduledTime?.seconds ?? 0);
  return { workflowId, since: new Date(seconds * 1000), message: error?.message ?? 'no reason given' };
}
