/**
 * A small traffic manager for the examples and the tests: sites with weights, a maintenance switch, and a ledger of
 * every effect by its `Idempotency-Key`. All state is in memory; it listens on loopback only.
 *
 * It stands for the global load balancer or DNS service of a real installation and keeps their one useful promise: a
 * request that is sent again with the same key has its effect once and gets the first answer.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

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

/** What requests have made of it. */
export interface TrafficState {
  sites: Record<string, { weight: number; sessions: number }>;
  maintenance: boolean;
}

/** One effect: all requests that carried its key. */
export interface Effect {
  key: string;
  method: string;
  path: string;
  body: unknown;
  /** How many requests carried the key. */
  requests: number;
  /** How often the effect was made: 1. */
  applied: number;
  /** When the effect was made, RFC 3339. */
  time: string;
}

/** The ledger. */
export interface Effects {
  /** In the order they were made. */
  effects: Effect[];
  /** Keys that came more than once. */
  duplicates: string[];
  /** Effects of requests without a key: nobody can tell whether two of them are one. */
  unkeyed: number;
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

interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

interface Site {
  weight: number;
  drainedAt: number;
}

const BODY_LIMIT = 64 * 1024;
const SESSIONS_PER_WEIGHT = 12;

/** Starts a traffic manager. @throws Error when the port is taken. */
export async function startTrafficManager(options: TrafficManagerOptions = {}): Promise<TrafficManager> {
  const { drainMs = 1500, log = () => undefined } = options;
  const sites = new Map<string, Site>(
    Object.entries(options.sites ?? { 'site-a': 100, 'site-b': 0 }).map(([name, weight]) => [
      name,
      { weight, drainedAt: 0 },
    ]),
  );
  let maintenance = false;
  let unkeyed = 0;
  const ledger = new Map<string, { effect: Effect; fingerprint: string; answer: Answer }>();
  const failures = new Map<string, number>();

  const sessionsOf = (site: Site): number => {
    if (site.weight > 0) return site.weight * SESSIONS_PER_WEIGHT;
    const left = Math.max(0, site.drainedAt - Date.now());
    return drainMs === 0 ? 0 : Math.ceil((left / drainMs) * 100);
  };
  const state = (): TrafficState => ({
    sites: Object.fromEntries(
      [...sites].map(([name, site]) => [name, { weight: site.weight, sessions: sessionsOf(site) }]),
    ),
    maintenance,
  });
  const effects = (): Effects => {
    const all = [...ledger.values()].map(({ effect }) => effect);
    return {
      effects: all,
      duplicates: all.filter((effect) => effect.requests > 1).map((effect) => effect.key),
      unkeyed,
    };
  };

  function read(path: string): Answer {
    if (path === '/healthz') return { status: 200, body: { ok: true } };
    if (path === '/state') return { status: 200, body: state() };
    if (path === '/effects') return { status: 200, body: effects() };
    const [, name = '', drained] = /^\/sites\/([^/]+)(\/drained)?$/.exec(path) ?? [];
    const site = sites.get(name);
    if (site === undefined) return notFound(path);
    const sessions = sessionsOf(site);
    if (drained === undefined) return { status: 200, body: { name, weight: site.weight, sessions } };
    return sessions === 0
      ? { status: 200, body: { name, drained: true } }
      : { status: 503, body: { name, drained: false, error: `${sessions} sessions are still open` } };
  }

  function write(path: string, body: unknown): Answer {
    if (path === '/maintenance') {
      const enabled = field(body, 'enabled');
      if (typeof enabled !== 'boolean') return badRequest('"enabled" must be true or false');
      maintenance = enabled;
      return { status: 200, body: { maintenance } };
    }
    const name = /^\/sites\/([^/]+)\/weight$/.exec(path)?.[1] ?? '';
    const site = sites.get(name);
    if (site === undefined) return notFound(path);
    const weight = field(body, 'weight');
    if (typeof weight !== 'number' || !Number.isInteger(weight) || weight < 0 || weight > 100) {
      return badRequest('"weight" must be a whole number from 0 to 100');
    }
    if (weight === 0 && site.weight > 0) site.drainedAt = Date.now() + drainMs;
    site.weight = weight;
    return { status: 200, body: { name, weight } };
  }

  /** Makes the effect of a key once; whoever comes later with it gets the first answer. */
  function once(request: { key: string; method: string; path: string; body: unknown }): Answer {
    const { key, method, path, body } = request;
    const fingerprint = createHash('sha256')
      .update(JSON.stringify([method, path, body]))
      .digest('hex');
    const known = ledger.get(key);
    if (known !== undefined) {
      known.effect.requests += 1;
      if (known.fingerprint !== fingerprint) {
        return { status: 422, body: { error: `key ${key} was used for another request` } };
      }
      return { ...known.answer, headers: { 'idempotency-replayed': 'true' } };
    }
    const answer = write(path, body);
    // A refused request had no effect: it may be sent again, corrected, under its key.
    if (answer.status >= 300) return answer;
    const time = new Date().toISOString();
    const effect = { key, method, path, body, requests: 1, applied: 1, time };
    ledger.set(key, { effect, fingerprint, answer });
    return answer;
  }

  /** Failures that the URL asks for: `?fail=503` always, `?fail=503&times=2` for the first two such requests. */
  function injected(url: URL, method: string): string | undefined {
    const fail = url.searchParams.get('fail');
    if (fail === null) return undefined;
    const id = `${method} ${url.pathname}${url.search}`;
    const seen = failures.get(id) ?? 0;
    failures.set(id, seen + 1);
    const times = url.searchParams.get('times');
    return times === null || seen < Number(times) ? fail : undefined;
  }

  async function answer(request: IncomingMessage, url: URL, gone: AbortSignal): Promise<Answer | 'drop'> {
    const method = request.method ?? 'GET';
    const text = await readBody(request);
    if (text === undefined) return { status: 413, body: { error: `a body may have ${BODY_LIMIT} bytes` } };
    const fail = injected(url, method);
    const failAfter = url.searchParams.get('when') === 'after';
    await sleep(milliseconds(url.searchParams.get('delay')), undefined, { signal: gone });
    if (fail !== undefined && !failAfter) return failure(fail);
    let result: Answer;
    if (method === 'GET' || method === 'HEAD') {
      result = read(url.pathname);
    } else if (method === 'PUT' || method === 'POST') {
      const body = parseJson(text);
      if (body === undefined) return badRequest('the body must be JSON');
      const key = request.headers['idempotency-key'];
      if (typeof key === 'string' && key !== '') {
        result = once({ key, method, path: url.pathname, body });
      } else {
        result = write(url.pathname, body);
        if (result.status < 300) unkeyed += 1;
      }
    } else {
      return { status: 405, body: { error: `${method} is not allowed; use GET, PUT or POST` } };
    }
    await sleep(milliseconds(url.searchParams.get('hold')), undefined, { signal: gone });
    return fail !== undefined ? failure(fail) : result;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const key = request.headers['idempotency-key'];
    const line = (outcome: string): void =>
      log(
        `${request.method} ${url.pathname}${url.search} ${outcome}${typeof key === 'string' ? ` key=${key}` : ''}`,
      );
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

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      log(`${request.method} ${request.url}: ${String(error)}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    state,
    effects,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

const notFound = (path: string): Answer => ({ status: 404, body: { error: `there is no ${path}` } });
const badRequest = (error: string): Answer => ({ status: 400, body: { error } });
const failure = (fail: string): Answer | 'drop' =>
  fail === 'drop' ? 'drop' : { status: Number(fail) || 500, body: { error: 'failure asked for by the URL' } };

function field(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > BODY_LIMIT) return undefined;
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

/** `2s`, `150ms` or a number of milliseconds; nothing is 0. */
function milliseconds(text: string | null): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(text ?? '') ?? [];
  return number === undefined ? 0 : Number(number) * (unit === 's' ? 1000 : 1);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
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
