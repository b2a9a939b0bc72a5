/** How much of Temporal's limits the histories of a run take. */
import type { Client } from '@temporalio/client';
import { historyPages } from '../../client/runs/history-pages.js';
import type { HistoryEvent } from '../../client/runs/history-pages.js';
import { rollbackWorkflowId, stageWorkflowId } from '../../workflows/plan/contract.js';

export interface HistorySize {
  workflowId: string;
  events: number;
  /** As Temporal counts them. */
  bytes: number;
  /** Of one input or result. */
  largestPayload: number;
  /** Of all commands of one workflow task, which go in one message. */
  largestMessage: number;
}

/** Sizes of the histories of a run and of its stages, undone or not. */
export async function historySizes(
  client: Client,
  workflowId: string,
  stages: number,
): Promise<HistorySize[]> {
  const children = Array.from({ length: stages }, (_, index) => [
    stageWorkflowId(workflowId, index),
    rollbackWorkflowId(workflowId, index),
  ]).flat();
  const found: HistorySize[] = [];
  for (const id of [workflowId, ...children]) {
    const size = await sizeOf(client, id).catch((error: unknown) => {
      if ((error as Error).name === 'WorkflowNotFoundError') return undefined;
      throw error;
    });
    if (size !== undefined) found.push(size);
  }
  return found;
}

async function sizeOf(client: Client, workflowId: string): Promise<HistorySize> {
  const { historyLength, historySize = 0 } = await client.workflow.getHandle(workflowId).describe();
  const size = {
    workflowId,
    events: historyLength,
    bytes: historySize,
    largestPayload: 0,
    largestMessage: 0,
  };
  const messages = new Map<string, number>();
  for await (const events of historyPages(client, { workflowId })) {
    for (const event of events) {
      const bytes = payloadsOf(event);
      size.largestPayload = Math.max(size.largestPayload, bytes);
      const task =
        event.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId ??
        event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowTaskCompletedEventId;
      if (task) messages.set(String(task), (messages.get(String(task)) ?? 0) + bytes + COMMAND_BYTES);
    }
  }
  size.largestMessage = Math.max(0, ...messages.values());
  return size;
}

/** What a command has beside its input. */
const COMMAND_BYTES = 300;

const payloadsOf = (event: HistoryEvent): number =>
  [
    event.workflowExecutionStartedEventAttributes?.input,
    event.workflowExecutionCompletedEventAttributes?.result,
    event.activityTaskScheduledEventAttributes?.input,
    event.activityTaskCompletedEventAttributes?.result,
    event.startChildWorkflowExecutionInitiatedEventAttributes?.input,
    event.childWorkflowExecutionCompletedEventAttributes?.result,
  ]
    .flatMap((payloads) => payloads?.payloads ?? [])
    .reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
