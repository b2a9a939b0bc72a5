import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listen } from '../../runtime/listen.js';
import { ANSWER_MS, createReviewHandler, HttpError } from './review-handler.js';
import type { ReviewFailure, ReviewHandlerOptions } from './review-handler.js';

/** What a server is made of. */
export interface ServerOptions extends ReviewHandlerOptions {
  host: string;
  port: number;
  certificate: { cert: string; key: string };
  /** Called for each request that got no response. */
  onFailure?: (reason: ReviewFailure) => void;
}

/** A server for reviews. */
export interface WebhookServer {
  port: number;
  /** Serves new connections with another certificate. */
  setCertificate(certificate: { cert: string; key: string }): void;
  close(): Promise<void>;
}

/** The API server keeps idle connections for 90 s; if this side closed first, that server would meet a dead one. */
const KEEP_ALIVE_MS = 300_000;

/** Serves reviews over TLS. */
export async function serveReviews(options: ServerOptions): Promise<WebhookServer> {
  const { log } = options;
  const handle = createReviewHandler(options);

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
        options.onFailure?.(error instanceof HttpError ? error.failure : 'error');
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
  await listen(server, { host: options.host, port: options.port, setting: '--webhook-port' });
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
