import { activityInfo } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { PLAN_SIGNALS } from '../../workflows/plan/contract.js';
import type { AttemptNote } from '../../workflows/plan/contract-tasks.js';

/** Tells the workflow of the current activity something to show while the activity goes on. */
export interface Notes {
  /** Best effort: what does not arrive is not shown, and nothing depends on it. Never throws, returns at once. */
  send(note: AttemptNote): void;
}

/** No note is worth holding up an attempt. */
const DEADLINE_MS = 2_000;

/** Sends notes as signals. */
export function createNotes(client: Client): Notes {
  return {
    send(note) {
      const { workflowExecution } = activityInfo();
      if (workflowExecution === undefined) return;
      client
        .withDeadline(Date.now() + DEADLINE_MS, () =>
          client.workflow
            .getHandle(workflowExecution.workflowId, workflowExecution.runId)
            .signal(PLAN_SIGNALS.note, note),
        )
        .catch(() => undefined);
    },
  };
}
