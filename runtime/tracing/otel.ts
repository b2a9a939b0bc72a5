/** Traces by OpenTelemetry's SDK. Loaded only where traces are on. */
import { hostname } from 'node:os';
import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Context, Span } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, RandomIdGenerator } from '@opentelemetry/sdk-trace-base';
import type { IdGenerator, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { packageVersion } from '../package-version.js';
import type { TraceProtocol } from './trace-settings.js';
import type { OpenSpan, SpanAttributes, SpanKind as Kind, TraceContext, Tracing } from './tracing.js';

/** What a program that has been told to stop may still take to send its last spans, in milliseconds. */
const CLOSE_MS = 5_000;
/** Time between two messages that spans cannot be sent. */
const TROUBLE_MS = 60_000;
const MAX_TROUBLE_CHARACTERS = 300;
/** Longest value of an attribute: a name is shorter, and whoever reaches a port may send longer ones. */
const MAX_VALUE_CHARACTERS = 300;

const KINDS: Record<Kind, SpanKind> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
};

/**
 * Sets traces up. Endpoint, headers, certificates, sampler, limits and batches are as the standard variables say, which the
 * SDK reads itself.
 *
 * @param options.program name of the service, unless the variables say another
 * @param options.onTrouble called, at most once a minute, with why spans cannot be sent
 */
export async function createTracing(options: {
  program: string;
  protocol: TraceProtocol;
  onTrouble: (message: string) => void;
}): Promise<Tracing> {
  tellTrouble(options.onTrouble);
  const ids = createIds();
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': options.program,
          'service.version': packageVersion(),
          'service.instance.id': hostname(),
        }),
      )
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(await exporterOf(options.protocol))],
    idGenerator: ids,
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_CHARACTERS },
  });
  const tracer = provider.getTracer('drover', packageVersion());
  // Of our own rather than the global one: nothing else in the process is to be traced.
  const contexts = new AsyncLocalStorageContextManager().enable();

  return {
    isOn: true,
    current: () => placeOf(trace.getSpan(contexts.active())),
    async inSpan({ name, kind = 'internal', attributes, parent, startedAt }, work) {
      const above = parent === undefined ? contexts.active() : contextOf(parent);
      const span = tracer.startSpan(
        name,
        {
          kind: KINDS[kind],
          ...(attributes !== undefined && { attributes }),
          ...(startedAt !== undefined && { startTime: startedAt }),
        },
        above,
      );
      const { open, end } = openSpan(span);
      try {
        return await contexts.with(trace.setSpan(above, span), () => work(open));
      } catch (error) {
        open.fail(typeOf(error));
        throw error;
      } finally {
        end();
      }
    },
    record({ name, kind, attributes, parent, spanId, startedAt, endedAt, failed }) {
      ids.next(spanId);
      const span = tracer.startSpan(
        name,
        { kind: KINDS[kind], attributes, startTime: startedAt },
        contextOf(parent),
      );
      if (failed !== undefined) fail(span, failed);
      span.end(endedAt);
    },
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSE_MS);
      });
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
      contexts.disable();
    },
  };
}

async function exporterOf(protocol: TraceProtocol): Promise<SpanExporter> {
  switch (protocol) {
    case 'http/protobuf':
      return new (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter();
    case 'http/json':
      return new (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter();
  }
}

/** Random ids, but for spans that were known before they are told of. */
function createIds(): IdGenerator & { next: (spanId: string) => void } {
  const random = new RandomIdGenerator();
  let known: string | undefined;
  return {
    next: (spanId) => {
      known = spanId;
    },
    generateTraceId: () => random.generateTraceId(),
    generateSpanId() {
      const id = known ?? random.generateSpanId();
      known = undefined;
      return id;
    },
  };
}

function openSpan(span: Span): { open: OpenSpan; end: () => void } {
  let isTold = true;
  const open: OpenSpan = {
    context: placeOf(span),
    set: (attributes: SpanAttributes) => {
      span.setAttributes(attributes);
    },
    fail: (type) => {
      fail(span, type);
    },
    drop: () => {
      isTold = false;
    },
  };
  return {
    open,
    // A span that never ends is told to nobody.
    end: () => {
      if (isTold) span.end();
    },
  };
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** A word for an error; its message may hold anything. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  const { type, reason } = error as { type?: unknown; reason?: unknown };
  return typeof type === 'string' ? type : typeof reason === 'string' ? reason : error.name;
}

const propagator = new W3CTraceContextPropagator();

function placeOf(span: Span | undefined): TraceContext | undefined {
  if (span === undefined) return undefined;
  const carrier: Record<string, string> = {};
  propagator.inject(trace.setSpan(ROOT_CONTEXT, span), carrier, defaultTextMapSetter);
  const { traceparent, tracestate } = carrier;
  if (traceparent === undefined) return undefined;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}

const contextOf = (place: TraceContext): Context =>
  propagator.extract(ROOT_CONTEXT, place, defaultTextMapGetter);

/** What the SDK has to say is that spans cannot be sent: that must be known, and must not fill the log. */
function tellTrouble(onTrouble: (message: string) => void): void {
  let quietUntil = 0;
  const tell = (message: string): void => {
    if (Date.now() < quietUntil) return;
    quietUntil = Date.now() + TROUBLE_MS;
    onTrouble(message.slice(0, MAX_TROUBLE_CHARACTERS));
  };
  const silent = (): void => undefined;
  diag.setLogger(
    { error: tell, warn: tell, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
