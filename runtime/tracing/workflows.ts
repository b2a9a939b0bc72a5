import type { InjectedSinks } from '@temporalio/worker';
import type { TraceContext, Tracing } from './tracing.js';

/** What workflow code tells of a workflow that has ended. */
interface EndedWorkflow {
  parent: TraceContext;
  spanId: string;
  startedAt: number;
  endedAt: number;
  failed: boolean;
}

/**
 * Makes spans of workflows from what workflow code tells. Needed where traces are off too: a workflow that was begun with
 * them tells of its end all the same.
 */
export const workflowSinks = (
  tracing: Tracing,
): InjectedSinks<{ trace: { ended(workflow: EndedWorkflow): void } }> => ({
  trace: {
    ended: {
      fn({ workflowType, workflowId, runId }, { parent, spanId, startedAt, endedAt, failed }) {
        tracing.record({
          name: `RunWorkflow:${workflowType}`,
          kind: 'server',
          attributes: { temporalWorkflowId: workflowId, run_id: runId },
          parent,
          spanId,
          startedAt,
          endedAt,
          ...(failed && { failed: 'WorkflowFailed' }),
        });
      },
    },
  },
});
