/**
 * How a trace travels through Temporal: as a header beside the input of a workflow or an activity, by the name and in the
 * form of Temporal's own interceptors, so that programs of others can carry it on. A header is under no seal and decides
 * nothing.
 */
import { defaultPayloadConverter } from '@temporalio/common';
import type { Headers } from '@temporalio/common';
import { readTraceContext } from '../../api/core/trace-context.js';
import type { TraceContext } from '../../api/core/trace-context.js';

const HEADER = '_tracer-data';

/** The place in a trace that headers carry; undefined where they carry none. Never throws: anybody may send a header. */
export function traceOf(headers: Headers): TraceContext | undefined {
  const payload = headers[HEADER];
  if (payload === undefined) return undefined;
  try {
    const sent: unknown = defaultPayloadConverter.fromPayload(payload);
    return typeof sent === 'object' && sent !== null ? readTraceContext(sent) : undefined;
  } catch {
    return undefined;
  }
}

/** Headers that carry a place in a trace. */
export const traceHeaders = (context: TraceContext): Headers => ({
  [HEADER]: defaultPayloadConverter.toPayload({ ...context }),
});

/** A workflow of a trace has ended: what its span is made of outside of the sandbox. */
export interface EndedWorkflow {
  /** What has started it. */
  parent: TraceContext;
  /** Of its own span, by which what it has started knows it. */
  spanId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt: number;
  /** It ended by an error: a run of ours ends so only by a bug. */
  failed: boolean;
}

/** What workflow code tells the worker of traces. */
export type TraceSinks = {
  trace: { ended(workflow: EndedWorkflow): void };
};
