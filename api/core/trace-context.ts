/**
 * A place in a trace as it travels between programs: W3C Trace Context. It decides nothing; whoever makes one up is shown
 * in a trace, and no more.
 */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`. */
  readonly traceparent: string;
  /** What vendors of tracing add. */
  readonly tracestate?: string;
}

/** The parts of a `traceparent`, in lower-case hexadecimal digits. */
export interface TraceParts {
  readonly traceId: string;
  readonly spanId: string;
  /** Two digits; the last bit says that the trace is recorded. */
  readonly flags: string;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
/** What receivers must be able to pass on, in characters. */
const MAX_TRACESTATE = 512;
const TRACESTATE = /^[\x20-\x7e]+$/;

/** The parts of a `traceparent`; undefined for anything that is none. */
export function readTraceparent(text: unknown): TraceParts | undefined {
  if (typeof text !== 'string') return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, flags };
}

/** The `traceparent` of its parts. */
export const writeTraceparent = ({ traceId, spanId, flags }: TraceParts): string =>
  `00-${traceId}-${spanId}-${flags}`;

/** Reads what somebody has sent as the place in a trace; undefined where that is none. A bad `tracestate` is left out. */
export function readTraceContext(sent: {
  traceparent?: unknown;
  tracestate?: unknown;
}): TraceContext | undefined {
  const { traceparent, tracestate } = sent;
  if (typeof traceparent !== 'string' || readTraceparent(traceparent) === undefined) return undefined;
  const isState =
    typeof tracestate === 'string' && tracestate.length <= MAX_TRACESTATE && TRACESTATE.test(tracestate);
  return { traceparent, ...(isState && { tracestate }) };
}

/** A request over HTTP as a trace shows it: never its path, query, headers or body, which may hold anything. */
export interface TracedRequest {
  /** Default: the method. */
  readonly name?: string;
  readonly method: string;
  /** Base URL of the server. */
  readonly server: string;
}

/**
 * Sends a request as a step of the trace that the caller is in.
 *
 * @param send is given the headers that carry the trace on, none where there is no trace, and says what was answered
 */
export type TraceRequest = <T>(
  request: TracedRequest,
  send: (headers: Readonly<Record<string, string>>, answered: (status: number) => void) => Promise<T>,
) => Promise<T>;

/** Sends requests outside of any trace. */
export const untraced: TraceRequest = (_, send) => send({}, () => undefined);
