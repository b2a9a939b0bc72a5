import type { Client } from '@temporalio/client';

/** Everything readable in the histories of a run and its children, as one text: strings, and bytes as Latin-1. */
export async function historyTexts(client: Client, workflowId: string): Promise<string> {
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    else if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('latin1'));
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  visit(history);
  for (const event of history.events ?? []) {
    const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId;
    if (child) texts.push(await historyTexts(client, child));
  }
  return texts.join('\n');
}
