import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { historyPages } from './history-pages.js';
import type { HistoryRequest } from './history-pages.js';

type Run = Pick<HistoryRequest, 'workflowId' | 'runId'>;

/**
 * What a workflow was given, by its history; undefined where Temporal knows no such workflow. Anybody may have started it:
 * nothing of it is known to be there.
 */
export async function readInput<T>(client: Client, run: Run): Promise<T | undefined> {
  const payloads = await inputPayloads(client, run);
  if (payloads === undefined) return undefined;
  return decodeFromPayloadsAtIndex<T>(client.options.loadedDataConverter, 0, payloads);
}

/**
 * How the input of a run is written, such as `json/plain` or `binary/zlib`; undefined where Temporal knows no such run.
 */
export async function readInputEncoding(client: Client, run: Run): Promise<string | undefined> {
  const encoding = (await inputPayloads(client, run))?.[0]?.metadata?.['encoding'];
  return encoding === undefined || encoding === null ? undefined : Buffer.from(encoding).toString();
}

async function inputPayloads(client: Client, run: Run): Promise<Payload[] | undefined> {
  try {
    for await (const [first] of historyPages(client, run))
      return first?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
  return undefined;
}
