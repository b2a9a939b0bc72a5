import { createServer } from 'node:http';
import type { Server } from 'node:http';

/** What the health server answers with. */
export interface Probes {
  ready: () => boolean;
  /** Prometheus text. */
  metrics: () => Promise<string>;
}

/** Serves `/healthz`, `/readyz` and `/metrics` on each of the ports. */
export async function serveHealth(
  options: { host: string; ports: readonly number[] },
  probes: Probes,
): Promise<{ close(): void }> {
  const servers = await Promise.all(
    [...new Set(options.ports)].map((port) => listen(options.host, port, probes)),
  );
  return {
    close: () => {
      for (const server of servers) server.close();
    },
  };
}

function listen(host: string, port: number, probes: Probes): Promise<Server> {
  const server = createServer((request, response) => {
    const reply = (status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    switch (request.url?.split('?')[0]) {
      case '/healthz':
        reply(200, 'ok\n');
        return;
      case '/readyz':
        if (probes.ready()) reply(200, 'ok\n');
        else reply(503, 'not ready\n');
        return;
      case '/metrics':
        probes.metrics().then(
          (text) => {
            reply(200, text, 'text/plain; version=0.0.4; charset=utf-8');
          },
          (error: unknown) => {
            reply(500, `${String(error)}\n`);
          },
        );
        return;
      default:
        reply(404, 'not found; try /healthz, /readyz or /metrics\n');
    }
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      resolve(server);
    });
  });
}
