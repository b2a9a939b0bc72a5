/**
 * A small traffic manager for the examples and the tests: sites with weights, a maintenance switch, and a ledger of
 * every effect by its `Idempotency-Key`. All state is in memory; it listens on loopback only.
 *
 * It stands for the global load balancer or DNS service of a real installation and keeps their one useful promise: a
 * request that is sent again with the same key has its effect once and gets the first answer.
 */
import { realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { badRequest, ok } from './answer.js';
import type { Answer } from './answer.js';
import { createLedger } from './ledger.js';
import type { Effects, Ledger } from './ledger.js';
import { createTraffic } from './traffic.js';
import type { Traffic, TrafficState } from './traffic.js';
import { createTroubles, milliseconds } from './trouble.js';

export type { Effect, Effects } from './ledger.js';
export type { TrafficState } from './traffic.js';

/** How to run it. */
export interface TrafficManagerOptions {
  /** Port on 127.0.0.1; 0 (default) chooses a free one. */
  port?: number;
  /** Sites and their weights, 0 to 100. Default: site-a 100, site-b 0. */
  sites?: Record<string, number>;
  /** How long the sessions of a site stay open after its weight went to 0, in milliseconds (default 1500). */
  drainMs?: number;
  /** Gets a line for each request. */
  log?: (line: string) => void;
}

/** A traffic manager that runs. */
export interface TrafficManager {
  url: string;
  port: number;
  state(): TrafficState;
  effects(): Effects;
  /** Stops listening and breaks off open requests. */
  close(): Promise<void>;
}

/** Answers a request; `drop` breaks the connection. Rejects when the client goes away. */
type Answerer = (request: IncomingMessage, url: URL, gone: AbortSignal) => Promise<Answer | 'drop'>;

const MAX_BODY_BYTES = 64 * 1024;

/** Starts a traffic manager. @throws Error when the port is taken. */
export async function startTrafficManager(options: TrafficManagerOptions = {}): Promise<TrafficManager> {
  const { sites = { 'site-a': 100, 'site-b': 0 }, drainMs = 1500, log = () => undefined } = options;
  const traffic = createTraffic(sites, drainMs);
  const ledger = createLedger();
  const answer = createAnswerer(traffic, ledger);
  const server = createServer((request, response) => {
    handle(request, response, { answer, log }).catch((error: unknown) => {
      log(`${request.method} ${request.url}: ${String(error)}`);
      response.destroy();
    });
  });
  const port = await listen(server, options.port ?? 0);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    state: () => traffic.state(),
    effects: () => ledger.effects(),
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

function createAnswerer(traffic: Traffic, ledger: Ledger): Answerer {
  const troubleOf = createTroubles();

  function read(path: string): Answer {
    switch (path) {
      case '/healthz':
        return ok({ ok: true });
      case '/state':
        return ok(traffic.state());
      case '/effects':
        return ok(ledger.effects());
      default:
        return traffic.read(path);
    }
  }

  /** What a request does; or the answer to one that cannot be read. */
  function workOf(request: IncomingMessage, path: string, text: string): (() => Answer) | Answer {
    const { method = 'GET' } = request;
    if (method === 'GET' || method === 'HEAD') return () => read(path);
    if (method !== 'PUT' && method !== 'POST') {
      return { status: 405, body: { error: `${method} is not allowed; use GET, PUT or POST` } };
    }
    const body = parseJson(text);
    if (body === undefined) return badRequest('the body must be JSON');
    const change = { key: keyOf(request), method, path, body };
    return () => ledger.once(change, () => traffic.write(path, body));
  }

  return async (request, url, gone) => {
    const text = await readBody(request);
    if (text === undefined)
      return { status: 413, body: { error: `a body may have ${MAX_BODY_BYTES} bytes` } };
    const trouble = troubleOf(request.method ?? 'GET', url);
    await trouble.delay(gone);
    if (trouble.before !== undefined) return trouble.before;
    const work = workOf(request, url.pathname, text);
    if (typeof work !== 'function') return work;
    const answer = work();
    await trouble.hold(gone);
    return trouble.after ?? answer;
  };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  { answer, log }: { answer: Answerer; log: (line: string) => void },
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const key = keyOf(request);
  const line = (outcome: string): void =>
    log(`${request.method} ${url.pathname}${url.search} ${outcome}${key === undefined ? '' : ` key=${key}`}`);
  try {
    const result = await answer(request, url, gone.signal);
    if (result === 'drop') {
      line('dropped');
      request.socket.destroy();
      return;
    }
    line(String(result.status));
    response.writeHead(result.status, { 'content-type': 'application/json', ...result.headers });
    response.end(`${JSON.stringify(result.body)}\n`);
  } catch (error) {
    if (gone.signal.aborted) return line('client went away');
    throw error;
  }
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Undefined where a request has none, or an empty one. */
function keyOf(request: IncomingMessage): string | undefined {
  const key = request.headers['idempotency-key'];
  return typeof key === 'string' && key !== '' ? key : undefined;
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

// By its real place: it may be started through a link.
if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '8088' }, drain: { type: 'string', default: '1500ms' } },
  });
  const manager = await startTrafficManager({
    port: Number(values.port),
    drainMs: milliseconds(values.drain),
    log: (line) => console.log(`${new Date().toISOString()} ${line}`),
  });
  console.log(`traffic manager on ${manager.url} (GET /state, GET /effects)`);
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => void manager.close());
}
