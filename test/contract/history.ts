/** Histories of Temporal as text, with all payloads decoded. */
import type { Client } from '@temporalio/client';

/** Everything that the histories of a workflow and of its stages hold, payloads as the text they carry. */
export async function historyText(temporal: Client, workflowId: string): Promise<string> {
  const texts: string[] = [];
  for (let stage = -1; ; stage += 1) {
    const id = stage === -1 ? workflowId : `${workflowId}/s${stage}`;
    try {
      const { events } = await temporal.workflow.getHandle(id).fetchHistory();
      texts.push(decoded(JSON.stringify(events)));
    } catch (error) {
      if (stage === -1) throw error;
      return texts.join('\n');
    }
  }
}

/** JSON of events holds the data of payloads in base64. */
const decoded = (json: string): string =>
  json.replaceAll(/"data":"([A-Za-z0-9+/=]*)"/g, (_, data: string) =>
    Buffer.from(data, 'base64').toString('utf8'),
  );
