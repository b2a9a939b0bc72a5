/** A collector of traces outside of everything under test: takes OTLP over HTTP in JSON and keeps the spans. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** A span as it came. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, string | number | boolean>;
  /** 2: failed. */
  status: number;
  events: unknown[];
  /** `service.name` of the program that has sent it. */
  service: string;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** All that came, as text. */
  raw: () => string;
  close(): Promise<void>;
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string; boolValue?: boolean; doubleValue?: number };
}

/** The JSON of OTLP, as far as it is read here. */
interface Exported {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: (Omit<CollectedSpan, 'attributes' | 'status' | 'service'> & {
        attributes?: Attribute[];
        status?: { code?: number };
      })[];
    }[];
  }[];
}

/** Starts one on loopback. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const body = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
      bodies.push(body);
      spans.push(...spansOf(JSON.parse(body) as Exported));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    raw: () => bodies.join('\n'),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

const spansOf = ({ resourceSpans }: Exported): CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        events: span.events ?? [],
        attributes: valuesOf(span.attributes ?? []),
        status: span.status?.code ?? 0,
        service: String(valuesOf(resource.attributes)['service.name']),
      })),
    ),
  );

const valuesOf = (attributes: readonly Attribute[]): CollectedSpan['attributes'] =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  );
