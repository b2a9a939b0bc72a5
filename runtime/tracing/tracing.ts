/** Traces, as the programs use them: without a word of the library that makes them, which is loaded only where they are on. */

/** A place in a trace as it travels: W3C Trace Context. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** What a span says: names of objects, and what they were asked; never contents. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Spans name what they are about as lines of the log do, under a prefix. */
export const droverAttributes = (fields: Readonly<Record<string, string>>): SpanAttributes =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [`drover.${name}`, value]));

/** `server`: something was asked of this program; `client`: it has asked another one. */
export type SpanKind = 'internal' | 'server' | 'client';

/** A span that is to begin. */
export interface SpanOptions {
  name: string;
  /** Default `internal`. */
  kind?: SpanKind;
  attributes?: SpanAttributes;
  /** What it goes on from (default: the span that the caller is in; outside of any, a new trace begins). */
  parent?: TraceContext | undefined;
  /** When it began, in milliseconds since the epoch (default now). */
  startedAt?: number;
}

/** A span under way. */
export interface OpenSpan {
  /** What is to go on from it; undefined where traces are off. */
  readonly context: TraceContext | undefined;
  set(attributes: SpanAttributes): void;
  /**
   * It did not reach its end.
   *
   * @param type a word such as a reason or the name of an error: never a message
   */
  fail(type: string): void;
  /** It came to nothing, and is told to nobody. */
  drop(): void;
}

/** A span of which everything is known. */
export interface WholeSpan {
  name: string;
  kind: SpanKind;
  attributes: SpanAttributes;
  parent: TraceContext;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt: number;
  /** As of {@link OpenSpan.fail}. */
  failed?: string;
}

/** Makes spans. */
export interface Tracing {
  readonly isOn: boolean;
  /** The place in a trace that the caller is in; undefined outside of any, and where traces are off. */
  current(): TraceContext | undefined;
  /** Works inside a span; where the work throws, the span has failed. */
  inSpan<T>(options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** Tells of a span that is over. */
  record(span: WholeSpan): void;
  /** Sends what is left, for at most five seconds. */
  close(): Promise<void>;
}

const NO_SPAN: OpenSpan = {
  context: undefined,
  set: () => undefined,
  fail: () => undefined,
  drop: () => undefined,
};

/** Traces are off: nothing but the work is done. */
export const NO_TRACING: Tracing = {
  isOn: false,
  current: () => undefined,
  inSpan: (_, work) => work(NO_SPAN),
  record: () => undefined,
  close: () => Promise.resolve(),
};
