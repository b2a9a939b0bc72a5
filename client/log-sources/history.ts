import type { Client } from '@temporalio/client';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import type { LogEntry } from './entry.js';
import { openHistory } from './open-history.js';

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];
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
  ): Promise<{ entries: LogEntry[]; children: string[] }> {
    const known = closed.get(workflowId);
    if (known !== undefined) return { entries: known, children: [] };
    const handle = client.workflow.getHandle(workflowId);
    const [history, description] = await Promise.all([handle.fetchHistory(), handle.describe()]);
    const converter = client.options.loadedDataConverter;
    await Promise.all([openHistory(history, converter), openHistory(description.raw, converter)]);
    const names = [...activityNames(history).values()];
    const pending = (description.raw.pendingActivities ?? []).flatMap((activity) => {
      const known = names.find(({ id }) => id === activity.activityId);
      const told = tellAttempt(known ?? { name: 'activity', id: activity.activityId ?? '' }, activity);
      if (told === undefined) return [];
      return entry(timeOf(activity.lastStartedTime) ?? timeOf(activity.scheduledTime), label, told);
    });
    const entries = [...historyEntries(history, label), ...pending];
    if (label !== '' && description.status.name !== 'RUNNING') closed.set(workflowId, entries);
    return { entries, children: childrenOf(history) };
  }

  return {
    async read(workflowId, stages) {
      try {
        const run = await one(workflowId, '');
        const children = await Promise.all(
          run.children.map(async (child) => {
            const stage = await one(child, `${stageNameOf(child, stages)}/`).catch(unlessGone);
            return stage?.entries ?? [];
          }),
        );
        return [...run.entries, ...children.flat()];
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

function childrenOf(history: History): string[] {
  return (history.events ?? []).flatMap((event) => {
    const id = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId;
    return id ? [id] : [];
  });
}

/**
 * What a history tells beyond the status: further attempts and why, failures, time-outs, signals, cancels. Steps that
 * went well at once are left out, since the status has them.
 */
export function historyEntries(history: History, label: string): LogEntry[] {
  const names = activityNames(history);
  return (history.events ?? []).flatMap((event) => {
    const told = tell(event, names);
    return told === undefined ? [] : entry(timeOf(event.eventTime), label, told);
  });
}

interface Activity {
  /** Type and summary, such as `http switch-dns`. */
  name: string;
  id: string;
}

/** Activities of a history by the id of the event that scheduled them. */
function activityNames(history: History): Map<string, Activity> {
  const activities = new Map<string, Activity>();
  for (const { eventId, activityTaskScheduledEventAttributes: scheduled, userMetadata } of history.events ??
    []) {
    if (!scheduled) continue;
    const summary = decode(userMetadata?.summary);
    const type = scheduled.activityType?.name ?? 'activity';
    const name = typeof summary === 'string' ? `${type} ${summary}` : type;
    activities.set(String(eventId), { name, id: scheduled.activityId ?? '' });
  }
  return activities;
}

type Told = Omit<LogEntry, 'time' | 'source'>;

/** A further attempt. History has it once it has ended, the description while it goes on: the key is the same. */
function tellAttempt(
  activity: Activity,
  state: { attempt?: number | null; lastFailure?: Failure | null },
): Told | undefined {
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

function tell(event: HistoryEvent, names: Map<string, Activity>): Told | undefined {
  const activityOf = (id: unknown): Activity => names.get(String(id)) ?? { name: 'activity', id: String(id) };
  const nameOf = (id: unknown): string => activityOf(id).name;
  const started = event.activityTaskStartedEventAttributes;
  if (started) return tellAttempt(activityOf(started.scheduledEventId), started);
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
      text: `signal ${signaled.signalName}${argument === undefined ? '' : ` ${JSON.stringify(argument)}`}`,
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

function entry(time: string | undefined, label: string, { key, ...told }: Told): LogEntry[] {
  if (time === undefined) return [];
  const subject = `${label}${told.subject}`;
  return [
    { time, source: 'temporal', ...told, subject, ...(key !== undefined && { key: `${label} ${key}` }) },
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

/** A payload's value; one that is still encrypted stays closed. */
function decode(payload: Payload | null | undefined): unknown {
  if (!payload) return undefined;
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined;
  }
}
