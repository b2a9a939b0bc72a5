import type { TraceContext, Tracing } from './tracing.js';

/** What a line of the log says of the trace that it was written in, by the names that OpenTelemetry gives them. */
export function traceFields(place: TraceContext | undefined): { trace_id?: string; span_id?: string } {
  const [, trace, span] = place?.traceparent.split('-') ?? [];
  return trace === undefined || span === undefined ? {} : { trace_id: trace, span_id: span };
}

/**
 * Names the trace of an observation where exemplars are asked for and there are traces to name; undefined where not.
 */
export const exemplarsOf = (
  wanted: boolean,
  tracing: Tracing,
): (() => Record<string, string> | undefined) | undefined =>
  wanted && tracing.isOn ? () => exemplarOf(tracing.current()) : undefined;

/** A trace that is not recorded cannot be looked at. */
const exemplarOf = (place: TraceContext | undefined): Record<string, string> | undefined =>
  place === undefined || !/[13579bdf]$/.test(place.traceparent) ? undefined : { ...traceFields(place) };
