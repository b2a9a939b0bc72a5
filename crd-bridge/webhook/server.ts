import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Histogram } from 'prom-client';
import type { Log } from '../core/log.js';
import { answer, readReview } from '../core/review.js';
import type { Rules } from '../core/review.js';
import { createSlots } from './slots.js';

/** What a server is made of. */
export interface ServerOptions {
  host: string;
  port: number;
  certificate: { cert: string; key: string };
  rules: Rules;
  /** Kinds that metrics name. */
  kinds: ReadonlySet<string>;
  log: Log;
  reviews: Histogram<'kind' | 'operation' | 'result'>;
  /** Reviews that are read and answered at once (default 32): what bounds the memory they may take. */
  concurrency?: number;
}

/** A server for reviews. */
export interface WebhookServer {
  port: number;
  /** Serves new connections with another certificate. */
  setCertificate(certificate: { cert: string; key: string }): void;
  close(): Promise<void>;
}

/** An update carries the old object too, and the API server admits requests of 3 MiB. */
const LONGEST_BODY = 16 * 1024 * 1024;
const CONCURRENCY = 32;
/** More than that wait in the API servers' clients already. */
const MOST_WAITING = 512;
/** Below the 5 s that the API server waits. */
const ANSWER_MS = 4500;
/** The API server keeps idle connections for 90 s; if this side closed first, that server would meet a dead one. */
const KEEP_ALIVE_MS = 300_000;

/** An answer with another status than 200 makes the failure policy of the webhook apply. */
class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Serves reviews over TLS. */
export async function serveReviews(options: ServerOptions): Promise<WebhookServer> {
  const { log, rules, reviews } = options;
  const slots = createSlots({
    atOnce: options.concurrency ?? CONCURRENCY,
    waiting: MOST_WAITING,
    timeoutMs: ANSWER_MS,
  });

  async function handle(request: IncomingMessage): Promise<object> {
    if (request.method !== 'POST') throw new HttpError(405, 'expects POST');
    const end = await slots.take();
    if (end === undefined) throw new HttpError(503, 'too many reviews at once; try again');
    try {
      return await withDeadline(review(request));
    } finally {
      end();
    }
  }

  async function review(request: IncomingMessage): Promise<object> {
    const path = new URL(request.url ?? '/', 'https://localhost').pathname;
    const asked = readReview(parse(await readBody(request)));
    if (typeof asked === 'string') throw new HttpError(400, asked);
    const started = process.hrtime.bigint();
    let result: 'allowed' | 'refused' | 'error' = 'error';
    try {
      const pending = rules(path, asked);
      if (pending === undefined) throw new HttpError(404, `nothing is served at ${path}`);
      const verdict = await pending;
      result = verdict.allowed ? 'allowed' : 'refused';
      if (!verdict.allowed) {
        const { operation, kind, namespace, user } = asked;
        const reason = verdict.causes[0]?.reason ?? verdict.reason;
        const name = (asked.object ?? asked.oldObject)?.metadata.name;
        log.info({ operation, kind, namespace, name, user, reason }, `refused: ${verdict.message}`);
      }
      return answer(asked, verdict);
    } finally {
      const labels = {
        // Anybody who reaches the port may send anything: labels must not grow without end.
        kind: options.kinds.has(asked.kind) ? asked.kind : 'other',
        operation: ['CREATE', 'UPDATE', 'DELETE'].includes(asked.operation) ? asked.operation : 'other',
        result,
      };
      reviews.observe(labels, Number(process.hrtime.bigint() - started) / 1e9);
    }
  }

  function listener(request: IncomingMessage, response: ServerResponse): void {
    const send = (status: number, type: string, body: string): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    handle(request).then(
      (body) => {
        send(200, 'application/json', JSON.stringify(body));
      },
      (error: unknown) => {
        const status = error instanceof HttpError ? error.status : 500;
        if (status >= 500) log.error({ err: error }, 'could not answer an admission review');
        // The rest of a request that is too large or too slow is not read, so nothing can follow it.
        if (status === 413 || status === 503) response.setHeader('connection', 'close');
        send(status, 'text/plain', `${error instanceof Error ? error.message : String(error)}\n`);
      },
    );
  }

  const server = createServer(
    {
      ...options.certificate,
      minVersion: 'TLSv1.2',
      keepAlive: true,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
    },
    listener,
  );
  server.on('tlsClientError', (error) => {
    log.debug({ err: error }, 'a TLS handshake failed');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    setCertificate(certificate) {
      server.setSecureContext({ ...certificate, minVersion: 'TLSv1.2' });
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeIdleConnections();
        setTimeout(() => {
          server.closeAllConnections();
        }, ANSWER_MS).unref();
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > LONGEST_BODY) throw new HttpError(413, `a review has at most ${LONGEST_BODY} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new HttpError(400, `not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function withDeadline<T>(pending: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new HttpError(503, `no verdict within ${ANSWER_MS} ms`));
    }, ANSWER_MS);
  });
  try {
    return await Promise.race([pending, late]);
  } finally {
    clearTimeout(timer);
  }
}
