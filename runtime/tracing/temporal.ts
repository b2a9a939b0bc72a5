/** Traces of what passes through Temporal. How a place in a trace travels in its headers is the contract's business. */
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { Headers } from '@temporalio/common';
import { droverAttributes } from './tracing.js';
import type { TraceContext, Tracing } from './tracing.js';

/** The names that Temporal's own interceptors use, so that its users find what they know. */
const WORKFLOW_ID = 'temporalWorkflowId';
const RUN_ID = 'run_id';
const ACTIVITY_ID = 'temporalActivityId';

/**
 * Shows the start of a workflow in the trace that the caller is in, and lets the workflow go on with it. Outside of any
 * trace nothing is added.
 */
export function traceStarts(
  tracing: Tracing,
  headersOf: (context: TraceContext) => Headers,
): WorkflowClientInterceptor {
  return {
    startWithDetails(input, next) {
      if (tracing.current() === undefined) return next(input);
      const attributes = { [WORKFLOW_ID]: input.options.workflowId };
      return tracing.inSpan(
        { name: `StartWorkflow:${input.workflowType}`, kind: 'client', attributes },
        async (span) => {
          const started = await next(
            span.context === undefined
              ? input
              : { ...input, headers: { ...input.headers, ...headersOf(span.context) } },
          );
          span.set({ [RUN_ID]: started.runId });
          return started;
        },
      );
    },
  };
}

/** What traces are told of activities. */
export interface ActivityWords {
  /** The place in a trace that the headers of an activity carry. */
  placeOf: (headers: Headers) => TraceContext | undefined;
  /** Names of what an activity is about, by its input. */
  about: (input: unknown) => Record<string, string>;
  /** Why what it was about has failed, by its result; undefined where it has not. */
  failureOf: (result: unknown) => string | undefined;
}

/** Shows each attempt of an activity in the trace of its workflow, where that belongs to one. */
export function traceActivities(tracing: Tracing, words: ActivityWords): ActivityInterceptorsFactory[] {
  if (!tracing.isOn) return [];
  const { placeOf, about, failureOf } = words;
  return [
    ({ info }) => ({
      inbound: {
        execute(input, next) {
          const parent = placeOf(input.headers);
          if (parent === undefined) return next(input);
          const { activityType, activityId, attempt, workflowExecution } = info;
          const attributes = {
            ...droverAttributes(about(input.args[0])),
            [ACTIVITY_ID]: activityId,
            ...(workflowExecution !== undefined && {
              [WORKFLOW_ID]: workflowExecution.workflowId,
              [RUN_ID]: workflowExecution.runId,
            }),
            'drover.attempt': attempt,
          };
          return tracing.inSpan(
            { name: `RunActivity:${activityType}`, kind: 'server', attributes, parent },
            async (span) => {
              const result = await next(input);
              const failure = failureOf(result);
              if (failure !== undefined) span.fail(failure);
              return result;
            },
          );
        },
      },
    }),
  ];
}
