import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { RunInput } from '../../workflows/plan/contract.js';
import { historyPages } from './history-pages.js';

/** What a run was given, by its history; undefined where Temporal knows no such run. */
export async function readRunInput(client: Client, workflowId: string): Promise<RunInput | undefined> {
  const payloads = await inputPayloads(client, workflowId);
  if (payloads === undefined) return undefined;
  return decodeFromPayloadsAtIndex<RunInput>(client.options.loadedDataConverter, 0, payloads);
}

/**
 * How the input of a run is written, such as `json/plain` or `binary/zlib`; undefined where Temporal knows no such run.
 */
export async function readInputEncoding(client: Client, workflowId: string): Promise<string | undefined> {
  const encoding = (await inputPayloads(client, workflowId))?.[0]?.metadata?.['encoding'];
  return encoding === undefined || encoding === null ? undefined : Buffer.from(encoding).toString();
}

async function inputPayloads(client: Client, workflowId: string): Promise<Payload[] | undefined> {
  try {
    for await (const [first] of historyPages(client, { workflowId }))
      return first?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
  return undefined;
}
