/**
 * The endpoint outside of everything under test. It does what a careful server does: an effect once for each
 * idempotency key; and it remembers every request, so that an effect that was asked for twice is seen. What stands in
 * front of it answers 503 once after each request that got no answer, or has none yet: that must not be taken for the
 * endpoint's own word.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { journeyOf } from './boundaries.js';
import type { Referee } from './boundaries.js';

/** A header whose value stands in every answer. */
export const ECHOED_HEADER = 'x-token';

export interface Endpoint {
  url: string;
  /** Keys that reached a path, each once, in the order of their coming. */
  keys(path: string): string[];
  /** Requests that reached a path. */
  hits(path: string): number;
  /** Paths of a journey that were reached. */
  paths(journey: string): string[];
  close(): Promise<void>;
}

/** Starts it. `?delay=500` answers later, `?status=400` otherwise. */
export async function startEndpoint(referee: Referee): Promise<Endpoint> {
  const requests: { path: string; key: string }[] = [];
  /** Paths whose last request has reached the endpoint and has no answer. */
  const unanswered = new Set<string>();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://endpoint');
    for await (const chunk of request) void chunk;
    const key = String(request.headers['idempotency-key'] ?? 'none');
    const journey = journeyOf(url.pathname);
    const pass = async (side: 'before' | 'after'): Promise<boolean> => {
      if (journey === undefined) return true;
      const ruling = await referee({
        boundary: 'effect-http',
        side,
        journey,
        source: 'worker',
        what: `${request.method ?? ''} ${url.pathname}`,
      });
      switch (ruling.kind) {
        case 'pass':
          return !response.destroyed;
        case 'cut':
          response.destroy();
          return false;
        case 'half-close':
          response.socket?.end();
          return false;
        case 'answer':
          response.writeHead(ruling.status).end();
          return false;
      }
    };
    if (!(await pass('before'))) return;
    if (unanswered.delete(url.pathname)) {
      response.writeHead(503).end('no backend');
      return;
    }
    requests.push({ path: url.pathname, key });
    unanswered.add(url.pathname);
    response.once('finish', () => unanswered.delete(url.pathname));
    await new Promise((resolve) => setTimeout(resolve, Number(url.searchParams.get('delay') ?? 0)));
    if (!(await pass('after'))) return;
    response.writeHead(Number(url.searchParams.get('status') ?? 200), { 'content-type': 'text/plain' });
    response.end(`ok ${String(request.headers[ECHOED_HEADER] ?? '')}`);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const of = (path: string) => requests.filter((request) => request.path === path);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys: (path) => [...new Set(of(path).map(({ key }) => key))],
    hits: (path) => of(path).length,
    paths: (journey) => [
      ...new Set(requests.map(({ path }) => path).filter((path) => journeyOf(path) === journey)),
    ],
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}
