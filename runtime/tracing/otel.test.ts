import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openTracing } from './open-tracing.js';
import { traceRequests } from './requests.js';
import { traceFields } from './trace-fields.js';
import type { Tracing } from './tracing.js';

interface Sent {
  type: string | undefined;
  body: string;
}
interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  status: { code?: number };
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

let server: Server;
let answers = 200;
const sent: Sent[] = [];
const troubles: string[] = [];

beforeEach(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      sent.push({ type: request.headers['content-type'], body });
      response.writeHead(answers).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  vi.unstubAllEnvs();
  server.close();
  sent.splice(0);
  troubles.splice(0);
  answers = 200;
});

async function open(env: Record<string, string> = {}): Promise<Tracing> {
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const all = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '10', ...env };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  const opened = await openTracing({
    program: 'drover-test',
    env: all,
    onTrouble: (message) => troubles.push(message),
  });
  if (opened.kind === 'invalid') throw new Error(opened.problems.join());
  return opened.tracing;
}

const JSON_PROTOCOL = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
const spans = (): Map<string, Span> =>
  new Map(
    sent
      .flatMap(
        ({ body }) =>
          (JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }).resourceSpans,
      )
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
      .map((span) => [span.name, span]),
  );
const valueOf = (span: Span | undefined, key: string): unknown => {
  const value = span?.attributes.find((attribute) => attribute.key === key)?.value;
  return value?.stringValue ?? value?.intValue;
};

it('sends spans, each below the one that it was made in, as protobuf unless told otherwise', async () => {
  const tracing = await open();
  await tracing.inSpan({ name: 'span-of-the-test' }, () => Promise.resolve());
  await tracing.close();
  expect(sent.map(({ type }) => type)).toEqual(['application/x-protobuf']);
  expect(sent[0]?.body).toContain('span-of-the-test');
  expect(sent[0]?.body).toContain('drover-test');
});

it('knows where it is, across whatever is awaited, and goes on from what it is told', async () => {
  const tracing = await open(JSON_PROTOCOL);
  const parent = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
  expect(tracing.current()).toBeUndefined();
  await tracing.inSpan({ name: 'outer', parent, attributes: { 'drover.plan': 'p' } }, async (outer) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(tracing.current()).toEqual(outer.context);
    await tracing.inSpan({ name: 'inner', kind: 'client' }, (inner) => {
      expect(traceFields(inner.context).trace_id).toBe('0af7651916cd43dd8448eb211c80319c');
      return Promise.resolve();
    });
  });
  await tracing.inSpan({ name: 'other' }, () => Promise.resolve());
  await tracing.close();
  const found = spans();
  expect(found.get('outer')).toMatchObject({ parentSpanId: 'b7ad6b7169203331' });
  expect(found.get('inner')).toMatchObject({ parentSpanId: found.get('outer')?.spanId });
  expect(valueOf(found.get('outer'), 'drover.plan')).toBe('p');
  expect(found.get('other')?.traceId).not.toBe(found.get('outer')?.traceId);
});

it('tells a failure by a word, cuts what is long, and leaves out what came to nothing', async () => {
  const tracing = await open(JSON_PROTOCOL);
  const failing = tracing.inSpan({ name: 'thrown' }, () =>
    Promise.reject(Object.assign(new Error('a secret'), { type: 'Unreachable' })),
  );
  await expect(failing).rejects.toThrow('a secret');
  await tracing.inSpan({ name: 'dropped' }, (span) => {
    span.drop();
    return Promise.resolve();
  });
  await tracing.inSpan({ name: 'long', attributes: { text: 'x'.repeat(5000) } }, () => Promise.resolve());
  await tracing.close();
  expect([...spans().keys()].sort()).toEqual(['long', 'thrown']);
  expect(spans().get('thrown')?.status.code).toBe(2);
  expect(valueOf(spans().get('thrown'), 'error.type')).toBe('Unreachable');
  expect(String(valueOf(spans().get('long'), 'text'))).toHaveLength(300);
  expect(sent.map(({ body }) => body).join()).not.toContain('a secret');
});

it('makes spans of what was known by its id before, where the trace is recorded', async () => {
  const tracing = await open(JSON_PROTOCOL);
  const whole = { kind: 'server', attributes: {}, startedAt: 1000, endedAt: 2000 } as const;
  const trace = '0af7651916cd43dd8448eb211c80319c';
  for (const [name, flags, spanId] of [
    ['recorded', '01', 'aaaaaaaaaaaaaaaa'],
    ['unsampled', '00', 'bbbbbbbbbbbbbbbb'],
  ] as const) {
    const parent = { traceparent: `00-${trace}-b7ad6b7169203331-${flags}` };
    tracing.record({ ...whole, name, spanId, parent });
  }
  await tracing.close();
  expect([...spans().values()]).toMatchObject([
    { name: 'recorded', traceId: trace, spanId: 'aaaaaaaaaaaaaaaa', parentSpanId: 'b7ad6b7169203331' },
  ]);
});

it('shows requests by method, host and status, and lets them carry the trace', async () => {
  const tracing = await open(JSON_PROTOCOL);
  const trace = traceRequests(tracing);
  const request = { method: 'POST', server: 'https://example.com' };
  const outside = await trace(request, (headers) => Promise.resolve(headers));
  expect(outside).toEqual({});
  const inside = await tracing.inSpan({ name: 'outer' }, () =>
    trace(request, (headers, answered) => {
      answered(503);
      return Promise.resolve(headers);
    }),
  );
  await tracing.close();
  const span = spans().get('POST');
  expect(inside.traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
  expect(
    ['http.request.method', 'server.address', 'server.port', 'http.response.status_code', 'error.type'].map(
      (key) => valueOf(span, key),
    ),
  ).toEqual(['POST', 'example.com', 443, 503, '503']);
});

it('says, once, when spans cannot be sent', async () => {
  answers = 400;
  const tracing = await open(JSON_PROTOCOL);
  for (const name of ['a', 'b']) {
    await tracing.inSpan({ name }, () => Promise.resolve());
    await vi.waitFor(() => {
      expect(sent.some(({ body }) => body.includes(`"name":"${name}"`))).toBe(true);
    });
  }
  await tracing.close();
  expect(troubles).toHaveLength(1);
});
