import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { RunInput } from '../../workflows/plan/contract.js';
import { historyPages } from './history-pages.js';

/** What a run was given, by its history; undefined where Temporal knows no such run. */
export async function readRunInput(client: Client, workflowId: string): Promise<RunInput | undefined> {
  const { loadedDataConverter } = client.options;
  try {
    for await (const [first] of historyPages(client, { workflowId })) {
      const payloads = first?.workflowExecutionStartedEventAttributes?.input?.payloads;
      return await decodeFromPayloadsAtIndex<RunInput>(loadedDataConverter, 0, payloads);
    }
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
  return undefined;
}
