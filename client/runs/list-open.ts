import type { Client } from '@temporalio/client';
import { decodeMapFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { Call } from './calls.js';
import { toMemo } from './run-description.js';
import type { RunMemo } from './run-description.js';

const PAGE = 200;

/**
 * Open workflows of a type whose id begins with a prefix. A memo that does not open, as where somebody else has started the
 * workflow, is left out: it must not keep others from being found. Eventually consistent.
 */
export async function* listOpen(
  client: Client,
  call: Call,
  { workflowType, idPrefix }: { workflowType: string; idPrefix: string },
): AsyncGenerator<{ workflowId: string; memo: RunMemo | undefined }> {
  const { loadedDataConverter, namespace } = client.options;
  // By id, not by attribute: ids are there even where attributes could not be registered.
  const query = `WorkflowType = '${workflowType}' AND ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '${idPrefix}'`;
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await call(() =>
      client.workflowService.listWorkflowExecutions({
        namespace,
        query,
        pageSize: PAGE,
        ...(nextPageToken !== undefined && { nextPageToken }),
      }),
    );
    for (const { execution, memo } of page.executions) {
      const workflowId = execution?.workflowId ?? '';
      if (!workflowId.startsWith(idPrefix)) continue;
      const opened = await decodeMapFromPayloads(loadedDataConverter, memo?.fields).catch(() => undefined);
      yield { workflowId, memo: toMemo(opened) };
    }
    ({ nextPageToken } = page);
  } while (nextPageToken.length > 0);
}
