import type { Client } from '@temporalio/client';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { isObject } from '../../../../api/core/json.js';
import { historyPages, type HistoryEvent } from '../../../runs/history-pages.js';
import type { LogEntry } from './entry.js';
import { openHistory } from './open-history.js';

type Failure = NonNullable<NonNullable<HistoryEvent['activityTaskFailedEventAttributes']>['failure']>;

/** Reads what Temporal knows of a run: attempts, failures, signals; of the run itself and its stages. */
export interface HistoryReader {
  /** Undefined when Temporal no longer knows the run. `stages` are the names of its stages, by index. */
  readonly read: (workflowId: string, stages: readonly string[]) => Promise<LogEntry[] | undefined>;
}

/** A reader that fetches the history of a closed stage once. */
export function createHistoryReader(client: Client): HistoryReader {
  const closed = new Map<string, LogEntry[]>();

  async function one(
    workflowId: string,
    label: string,
  ): Promise<{ entries: LogEntry[]; children: readonly string[] }> {
    const known = closed.get(workflowId);
    if (known !== undefined) return { entries: known, children: [] };
    const converter = client.options.loadedDataConverter;
    const story = createStory(label);
    const told: LogEntry[] = [];
    for await (const events of historyPages(client, { workflowId })) {
      await openHistory(events, converter);
      told.push(...story.read(events));
    }
    const description = await client.workflow.getHandle(workflowId).describe();
    await openHistory(description.raw, converter);
    const pending = (description.raw.pendingActivities ?? []).flatMap((activity) => {
      const id = activity.activityId ?? '';
      const attempt = attemptReport(story.activity(id) ?? { name: 'activity', id }, activity);
      if (attempt === undefined) return [];
      return entry(timeOf(activity.lastStartedTime) ?? timeOf(activity.scheduledTime), label, attempt);
    });
    const entries = [...told, ...pending];
    if (label !== '' && description.status.name !== 'RUNNING') closed.set(workflowId, entries);
    return { entries, children: story.children };
  }

  return {
    async read(workflowId, stages) {
      try {
        const run = await one(workflowId, '');
        const entries = [...run.entries];
        // One after the other: a run may have 200 stages, and each of them a long history.
        for (const child of run.children) {
          const stage = await one(child, `${stageNameOf(child, stages)}/`).catch(unlessGone);
          entries.push(...(stage?.entries ?? []));
        }
        return entries;
      } catch (error) {
        return unlessGone(error);
      }
    },
  };
}

/** The name of the stage in `<run>/s<index>` or `<run>/r<index>` (see `stageWorkflowId`). */
function stageNameOf(workflowId: string, stages: readonly string[]): string {
  const last = workflowId.slice(workflowId.lastIndexOf('/') + 1);
  return stages[Number(last.slice(1))] ?? last;
}

function unlessGone(error: unknown): undefined {
  if (error instanceof WorkflowNotFoundError) return undefined;
  const NOT_FOUND = 5;
  if (isGrpcServiceError(error) && Number(error.code) === NOT_FOUND) return undefined;
  throw error;
}

/** What a history says, read a page after the other. */
export interface Story {
  /** What a further page says. */
  read: (events: readonly HistoryEvent[]) => LogEntry[];
  /** Ids of the children that were started so far. */
  readonly children: readonly string[];
  /** An activity that was scheduled so far, by its id. */
  activity: (id: string) => Activity | undefined;
}

/**
 * Reports what the status does not show: further attempts and why, failures, time-outs, signals, cancels. Steps that went
 * well at once are left out, since the status has them.
 */
export function createStory(label: string): Story {
  const scheduled = new Map<string, Activity>();
  const children: string[] = [];
  return {
    read: (events) =>
      events.flatMap((event) => {
        const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId;
        if (child) children.push(child);
        const activity = scheduledBy(event);
        if (activity !== undefined) scheduled.set(String(event.eventId), activity);
        const report = reportOf(event, scheduled);
        return report === undefined ? [] : entry(timeOf(event.eventTime), label, report);
      }),
    children,
    activity: (id) => [...scheduled.values()].find((known) => known.id === id),
  };
}

type Report = Omit<LogEntry, 'time' | 'source'>;

interface Activity {
  /** Type and summary, such as `http switch-dns`. */
  name: string;
  id: string;
}

/** The activity that an event schedules. */
function scheduledBy({
  activityTaskScheduledEventAttributes: scheduled,
  userMetadata,
}: HistoryEvent): Activity | undefined {
  if (!scheduled) return undefined;
  const summary = decode(userMetadata?.summary);
  const type = scheduled.activityType?.name ?? 'activity';
  return {
    name: typeof summary === 'string' ? `${type} ${summary}` : type,
    id: scheduled.activityId ?? '',
  };
}

/** A further attempt. The history has it once it has ended, the description while it goes on, under the same key. */
function attemptReport(
  activity: Activity,
  state: { attempt?: number | null; lastFailure?: Failure | null },
): Report | undefined {
  const attempt = state.attempt ?? 1;
  if (attempt < 2) return undefined;
  const last = failureText(state.lastFailure);
  return {
    level: 'warn',
    subject: activity.name,
    text: `attempt ${attempt}${last === '' ? '' : `; the one before: ${last}`}`,
    key: `activity ${activity.id} attempt ${attempt}`,
  };
}

function reportOf(event: HistoryEvent, names: Map<string, Activity>): Report | undefined {
  const activityOf = (id: unknown): Activity => names.get(String(id)) ?? { name: 'activity', id: String(id) };
  const nameOf = (id: unknown): string => activityOf(id).name;
  const started = event.activityTaskStartedEventAttributes;
  if (started) return attemptReport(activityOf(started.scheduledEventId), started);
  const failed = event.activityTaskFailedEventAttributes;
  if (failed) {
    return {
      level: 'error',
      subject: nameOf(failed.scheduledEventId),
      text: `failed: ${failureText(failed.failure)}`,
    };
  }
  const timedOut = event.activityTaskTimedOutEventAttributes;
  if (timedOut) {
    return {
      level: 'error',
      subject: nameOf(timedOut.scheduledEventId),
      text: `timed out: ${failureText(timedOut.failure)}`,
    };
  }
  const cancelAsked = event.activityTaskCancelRequestedEventAttributes;
  if (cancelAsked) {
    return { level: 'warn', subject: nameOf(cancelAsked.scheduledEventId), text: 'told to stop' };
  }
  const signaled = event.workflowExecutionSignaledEventAttributes;
  if (signaled) {
    const argument = decode(signaled.input?.payloads?.[0]);
    return {
      level: 'warn',
      subject: 'run',
      text: `signal ${signaled.signalName}${argumentText(argument)}`,
    };
  }
  if (event.workflowExecutionCancelRequestedEventAttributes) {
    const { cause } = event.workflowExecutionCancelRequestedEventAttributes;
    return { level: 'warn', subject: 'run', text: `cancel requested${cause ? `: ${cause}` : ''}` };
  }
  const taskFailed = event.workflowTaskFailedEventAttributes;
  if (taskFailed) {
    return {
      level: 'error',
      subject: 'run',
      text: `workflow task failed: ${failureText(taskFailed.failure)}`,
    };
  }
  if (event.workflowExecutionTerminatedEventAttributes) {
    const { reason } = event.workflowExecutionTerminatedEventAttributes;
    return { level: 'error', subject: 'run', text: `terminated from outside${reason ? `: ${reason}` : ''}` };
  }
  const runFailed = event.workflowExecutionFailedEventAttributes;
  if (runFailed) return { level: 'error', subject: 'run', text: `failed: ${failureText(runFailed.failure)}` };
  if (event.workflowExecutionTimedOutEventAttributes) {
    return { level: 'error', subject: 'run', text: 'timed out' };
  }
  return undefined;
}

function entry(time: string | undefined, label: string, { key, ...report }: Report): LogEntry[] {
  if (time === undefined) return [];
  const subject = `${label}${report.subject}`;
  return [
    { time, source: 'temporal', ...report, subject, ...(key !== undefined && { key: `${label} ${key}` }) },
  ];
}

function timeOf(time: { seconds?: unknown; nanos?: number | null } | null | undefined): string | undefined {
  if (!time) return undefined;
  const NANOS_PER_MS = 1_000_000;
  return new Date(Number(time.seconds ?? 0) * 1000 + (time.nanos ?? 0) / NANOS_PER_MS).toISOString();
}

/** The innermost message: outer ones only say that an activity failed. */
function failureText(failure: Failure | null | undefined): string {
  let text = '';
  for (let current = failure; current; current = current.cause) text = current.message || text;
  return text;
}

/** What a signal carries: the message of a note is for people as it is. */
function argumentText(argument: unknown): string {
  if (argument === undefined) return '';
  const isNote = isObject(argument) && 'at' in argument && typeof argument.message === 'string';
  return isNote ? `: ${String(argument.message)}` : ` ${JSON.stringify(argument)}`;
}

/** A payload's value; one that is still encrypted stays closed. */
function decode(payload: Payload | null | undefined): unknown {
  if (!payload) return undefined;
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined;
  }
}
