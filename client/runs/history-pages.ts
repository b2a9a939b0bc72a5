/** Reads histories page by page: one may have 50 MB. */
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** Bytes of payloads that a page aims for. */
const PAGE_BYTES = 1024 * 1024;
/** Before anything is known of their size: one event may carry 2 MiB. */
const FIRST_PAGE = 4;
const MAX_PAGE = 100;
const GROWTH = 4;
/** Longest time of one page; of more than one event, it may be too large, which is tried again for the whole time. */
const PAGE_TIMEOUT_MS = { one: 10_000, several: 3_000 };
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const RESOURCE_EXHAUSTED = 8;

/** Which history, and from which end. */
export interface HistoryRequest {
  workflowId: string;
  /** Of one run of the id; absent = the newest. */
  runId?: string | undefined;
  /** From the newest event to the oldest. */
  newestFirst?: boolean;
}

/**
 * The events of a run of a workflow, a page at a time. What is asked for next goes by the size of what came; a
 * page that is larger than a client takes is asked for again in parts.
 *
 * @throws WorkflowNotFoundError
 */
export async function* historyPages(
  client: Client,
  { workflowId, runId, newestFirst = false }: HistoryRequest,
): AsyncGenerator<HistoryEvent[]> {
  const { workflowService } = client.connection;
  let maximumPageSize = FIRST_PAGE;
  let nextPageToken: Uint8Array | undefined;
  for (;;) {
    const request = {
      namespace: client.options.namespace,
      execution: { workflowId, ...(runId !== undefined && { runId }) },
      maximumPageSize,
      ...(nextPageToken !== undefined && { nextPageToken }),
    };
    const timeoutMs = maximumPageSize > 1 ? PAGE_TIMEOUT_MS.several : PAGE_TIMEOUT_MS.one;
    try {
      const page = await client.withDeadline(Date.now() + timeoutMs, () =>
        newestFirst
          ? workflowService.getWorkflowExecutionHistoryReverse(request)
          : workflowService.getWorkflowExecutionHistory(request),
      );
      const events = page.history?.events ?? [];
      yield events;
      if (page.nextPageToken.length === 0) return;
      nextPageToken = page.nextPageToken;
      maximumPageSize = nextPageSize(maximumPageSize, events);
    } catch (error) {
      const code = isGrpcServiceError(error) ? Number(error.code) : undefined;
      if (isGrpcServiceError(error) && code === NOT_FOUND) {
        throw new WorkflowNotFoundError(error.details, workflowId, undefined);
      }
      if ((code !== RESOURCE_EXHAUSTED && code !== DEADLINE_EXCEEDED) || maximumPageSize === 1) throw error;
      maximumPageSize = Math.floor(maximumPageSize / GROWTH);
    }
  }
}

/** How many events to ask for after a page. */
function nextPageSize(size: number, events: readonly HistoryEvent[]): number {
  if (events.length === 0) return size;
  const bytes = events.reduce((sum, event) => sum + EVENT_BYTES + payloadBytes(event), 0);
  const fitting = Math.floor((PAGE_BYTES * events.length) / bytes);
  return Math.max(1, Math.min(fitting, size * GROWTH, MAX_PAGE));
}

/** What an event has beside payloads. */
const EVENT_BYTES = 200;

/** Bytes of what an event carries for workflows and activities. */
function payloadBytes(event: HistoryEvent): number {
  const carried = [
    event.workflowExecutionStartedEventAttributes?.input,
    event.workflowExecutionCompletedEventAttributes?.result,
    event.workflowExecutionSignaledEventAttributes?.input,
    event.activityTaskScheduledEventAttributes?.input,
    event.activityTaskCompletedEventAttributes?.result,
    event.startChildWorkflowExecutionInitiatedEventAttributes?.input,
    event.childWorkflowExecutionCompletedEventAttributes?.result,
  ];
  return carried
    .flatMap((payloads) => payloads?.payloads ?? [])
    .reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
}
