/**
 * Carries a trace on from what has started a workflow to what the workflow starts.
 *
 * It is part of all workflow code, whether traces are wanted or not, and must never be seen in what that code does: a run
 * that was begun with traces is carried on by a worker without them, and the other way round, and is replayed by either.
 * So nothing here waits, makes a random number or puts anything between a promise and whoever awaits it: each method
 * returns the very promise that it was given, and the id of a workflow's span follows from its run id. Temporal's own
 * interceptors wrap each promise, and draw ids from the numbers of the workflow (docs/adr/0007-traces.md).
 */
import { ContinueAsNew, proxySinks, workflowInfo } from '@temporalio/workflow';
import type {
  Next,
  WorkflowExecuteInput,
  WorkflowInboundCallsInterceptor,
  WorkflowInterceptors,
} from '@temporalio/workflow';
import { readTraceparent, writeTraceparent } from '../../api/core/trace-context.js';
import type { TraceContext } from '../../api/core/trace-context.js';
import { traceHeaders, traceOf } from './contract-trace.js';
import type { TraceSinks } from './contract-trace.js';

const SPAN_ID_LENGTH = 16;

/** Made anew for each workflow. */
export function interceptors(): WorkflowInterceptors {
  /** Headers of whatever the workflow starts; undefined where it belongs to no trace. */
  let onward: ReturnType<typeof traceHeaders> | undefined;

  function execute(
    input: WorkflowExecuteInput,
    next: Next<WorkflowInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    const parent = traceOf(input.headers);
    const own = parent && ownPlace(parent);
    if (parent === undefined || own === undefined) return next(input);
    onward = traceHeaders(own.context);
    const startedAt = Date.now();
    const result = next(input);
    const tell = (failed: boolean): void => {
      proxySinks<TraceSinks>().trace.ended({
        parent,
        spanId: own.spanId,
        startedAt,
        endedAt: Date.now(),
        failed,
      });
    };
    result.then(
      () => {
        tell(false);
      },
      (error: unknown) => {
        tell(!(error instanceof ContinueAsNew));
      },
    );
    return result;
  }

  const along = <I extends { headers: ReturnType<typeof traceHeaders> }>(input: I): I =>
    onward === undefined ? input : { ...input, headers: { ...input.headers, ...onward } };

  return {
    inbound: [{ execute }],
    outbound: [
      {
        scheduleActivity: (input, next) => next(along(input)),
        startChildWorkflowExecution: (input, next) => next(along(input)),
      },
    ],
  };
}

/** The place of this workflow below what has started it. */
function ownPlace(parent: TraceContext): { spanId: string; context: TraceContext } | undefined {
  const parts = readTraceparent(parent.traceparent);
  // The end of a run id is random in every version of UUID.
  const spanId = workflowInfo().runId.replaceAll('-', '').slice(-SPAN_ID_LENGTH);
  const traceparent = parts && writeTraceparent({ ...parts, spanId });
  if (traceparent === undefined || readTraceparent(traceparent) === undefined) return undefined;
  return { spanId, context: { ...parent, traceparent } };
}
