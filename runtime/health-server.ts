import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listen } from './listen.js';

/** A server for probes and metrics. */
export interface HealthServer {
  /** Ports that are served, in the order they were asked for. */
  ports: number[];
  close(): Promise<void>;
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics`.
 *
 * @param options.metrics Prometheus text, and its content type
 * @param options.notReady says what is missing; an empty list means ready
 * @throws Error in one sentence when a port cannot be had
 */
export async function serveHealth(options: {
  host: string;
  ports: readonly number[];
  metrics: () => Promise<{ text: string; contentType: string }>;
  notReady: () => string[];
}): Promise<HealthServer> {
  const answer: RequestListener = (request, response) => {
    const send = (code: number, type: string, body: string): void => {
      response.writeHead(code, { 'content-type': type }).end(body);
    };
    switch (new URL(request.url ?? '/', 'http://localhost').pathname) {
      case '/healthz':
        send(200, 'text/plain', 'ok\n');
        return;
      case '/readyz': {
        const missing = options.notReady();
        send(
          missing.length === 0 ? 200 : 503,
          'text/plain',
          missing.length === 0 ? 'ok\n' : `${missing.join('\n')}\n`,
        );
        return;
      }
      case '/metrics':
        options.metrics().then(
          ({ text, contentType }) => {
            send(200, contentType, text);
          },
          (error: unknown) => {
            send(500, 'text/plain', String(error));
          },
        );
        return;
      default:
        send(404, 'text/plain', 'serves /healthz, /readyz and /metrics\n');
    }
  };
  const { host } = options;
  const servers = await Promise.all(
    [...new Set(options.ports)].map(async (port): Promise<Server> => {
      const server = createServer(answer);
      await listen(server, { host, port, setting: '--health-port or --metrics-port' });
      return server;
    }),
  );
  return {
    ports: servers.map((server) => (server.address() as AddressInfo).port),
    async close() {
      await Promise.all(
        servers.map(
          (server) =>
            new Promise<void>((resolve) => {
              server.close(() => {
                resolve();
              });
              server.closeAllConnections();
            }),
        ),
      );
    },
  };
}
