import type { SpanAttributes, Tracing } from './tracing.js';

/** A request as a trace shows it: never its path, query, headers or body, which may hold anything. */
interface TracedRequest {
  name?: string;
  method: string;
  server: string;
}

/** Sends a request as a step of the trace that the caller is in; outside of any, it is just sent. */
type TraceRequest = <T>(
  request: TracedRequest,
  send: (headers: Record<string, string>, answered: (status: number) => void) => Promise<T>,
) => Promise<T>;

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** Shows requests over HTTP in traces, with the names that OpenTelemetry's conventions give to what is told of them. */
export const traceRequests =
  (tracing: Tracing): TraceRequest =>
  (request, send) => {
    if (tracing.current() === undefined) return send({}, () => undefined);
    const { name, method } = request;
    const url = new URL(request.server);
    const attributes: SpanAttributes = {
      'http.request.method': method,
      'server.address': url.hostname,
      'server.port': url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? 0) : Number(url.port),
      'url.scheme': url.protocol.replace(':', ''),
    };
    return tracing.inSpan({ name: name ?? method, kind: 'client', attributes }, (span) =>
      send({ ...span.context }, (status) => {
        span.set({ 'http.response.status_code': status });
        if (status >= 400) span.fail(String(status));
      }),
    );
  };
