/** What somebody does to a run in Temporal, past the bridge, as from its Web UI. */
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { stageWorkflowId } from '../../workflows/plan/contract.js';

/** To the run itself, or to the workflow of its first stage. */
export const OUTSIDE_ACTS = [
  'terminate',
  'terminate-stage',
  'reset',
  'request-cancel',
  'request-cancel-stage',
] as const;
export type OutsideAct = (typeof OUTSIDE_ACTS)[number];

/** A run that something is to be done to: once, while it lasts. */
export interface OutsideTarget {
  act: OutsideAct;
  /** Undefined as long as it is not known. */
  workflowId: () => string | undefined;
  /** It was done. */
  done: () => void;
}

/** Runs that wait to be acted upon, by journey. */
export type OutsideTargets = Map<string, OutsideTarget>;

/** Does it. */
export async function actFromOutside(temporal: Client, workflowId: string, act: OutsideAct): Promise<void> {
  const run = temporal.workflow.getHandle(workflowId);
  const stage = temporal.workflow.getHandle(stageWorkflowId(workflowId, 0));
  switch (act) {
    case 'terminate':
      await run.terminate('a fault was injected');
      return;
    case 'terminate-stage':
      await stage.terminate('a fault was injected');
      return;
    case 'request-cancel':
      await run.cancel();
      return;
    case 'request-cancel-stage':
      await stage.cancel();
      return;
    case 'reset': {
      const { events } = await run.fetchHistory();
      const first = events?.find((event) => event.workflowTaskCompletedEventAttributes);
      await temporal.workflowService.resetWorkflowExecution({
        namespace: temporal.options.namespace,
        workflowExecution: { workflowId },
        workflowTaskFinishEventId: first?.eventId ?? null,
        reason: 'a fault was injected',
        requestId: randomUUID(),
      });
    }
  }
}
