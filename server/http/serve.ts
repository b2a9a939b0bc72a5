/** The listener: finds the route of a request, and writes its answer. */
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { DIGEST_HEADER } from '../../api/terraform/operation.js';
import type { Caller } from '../auth/callers.js';
import type { ServerMetrics } from '../metrics.js';
import { answerOf } from './refusal.js';
import type { Answer, Route } from './route.js';

/** What is served, and how. */
export interface ServeOptions {
  routes: readonly Route[];
  callerOf: (request: IncomingMessage) => Promise<Caller>;
  /** Absent: in the clear. */
  tls?: { cert: string; key: string };
  metrics: ServerMetrics;
  log: Logger;
}

/** A state of 256 MiB over a slow line. */
const REQUEST_MS = 30 * 60_000;
const HEADERS_MS = 10_000;
/** Longer than any wait for an operation. */
const IDLE_MS = 120_000;
/** A body that nobody reads is let in for this long, so that the client can read why. */
const DRAIN_MS = 5000;

/** A server that does not listen yet. */
export function createRouteServer(options: ServeOptions): Server {
  const listener: RequestListener = (request, response) => {
    void serve(request, response, options);
  };
  const times = { requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS };
  const { tls } = options;
  const server =
    tls === undefined
      ? createHttpServer(times, listener)
      : createTlsServer({ ...times, ...tls, minVersion: 'TLSv1.2' }, listener);
  server.timeout = IDLE_MS;
  return server;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { routes, callerOf, metrics, log }: ServeOptions,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const began = performance.now();
  const url = new URL(request.url ?? '/', 'http://localhost');
  const route = routes.find(({ method, pattern }) => method === request.method && pattern.test(url.pathname));
  const name = route?.name ?? 'unknown';
  try {
    if (route === undefined) {
      sendError(request, response, {
        status: 404,
        reason: 'UnknownRequest',
        message: 'there is nothing here',
      });
      return;
    }
    const caller = await callerOf(request);
    const parts = route.pattern.exec(url.pathname)!.slice(1).map(decodeURIComponent);
    const answer = await route.handle({
      request,
      parts,
      query: url.searchParams,
      caller,
      signal: gone.signal,
    });
    await send(response, answer);
  } catch (error) {
    const answer = answerOf(error);
    if (answer.isFault && !gone.signal.aborted)
      log.error({ err: error, route: name }, 'a request cannot be carried out');
    // What has begun to be sent cannot be taken back: the client sees that it breaks off.
    if (response.headersSent) response.destroy();
    else sendError(request, response, answer);
  } finally {
    metrics.answered(name, response.statusCode, (performance.now() - began) / 1000);
  }
}

async function send(response: ServerResponse, answer: Answer): Promise<void> {
  switch (answer.kind) {
    case 'nothing':
      response.writeHead(204).end();
      return;
    case 'json':
      sendJson(response, answer.status ?? 200, answer.body);
      return;
    case 'bytes': {
      const { source, digest, bytes, type = 'application/octet-stream' } = answer;
      // The first bytes are read before the head is sent: what is not there or damaged is an error, not a body.
      const chunks = source[Symbol.asyncIterator]();
      const first = await chunks.next();
      response.writeHead(200, {
        'content-type': type,
        'cache-control': 'no-store',
        ...(digest !== undefined && { [DIGEST_HEADER]: digest }),
        ...(bytes !== undefined && { 'content-length': bytes }),
      });
      await pipeline(Readable.from(resumed(first, chunks)), response);
    }
  }
}

async function* resumed(
  first: IteratorResult<Uint8Array>,
  chunks: AsyncIterator<Uint8Array>,
): AsyncIterable<Uint8Array> {
  try {
    for (let next = first; next.done !== true; next = await chunks.next()) yield next.value;
  } finally {
    await chunks.return?.();
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text);
}

function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  { status, reason, message }: { status: number; reason: string; message: string },
): void {
  if (response.destroyed) return;
  if (!request.complete) {
    response.setHeader('connection', 'close');
    request.resume();
    setTimeout(() => request.destroy(), DRAIN_MS).unref();
  }
  sendJson(response, status, { error: { reason, message } });
}
