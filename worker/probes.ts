import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { request } from 'undici';
import { serveHealth } from '../runtime/health-server.js';
import { installSdk } from '../runtime/install-sdk.js';
import type { WorkerConfig } from './config.js';

/** The worker as probes see it. */
export interface Probes {
  /** Why the worker is not ready; empty when it is. */
  notReady: (reasons: string[]) => void;
  /** All ports that this process listens on. */
  ports: number[];
  close(): Promise<void>;
}

/** Serves probes and metrics, and sets up the SDK, whose metrics these are. */
export async function serveProbes(config: WorkerConfig, log: Logger): Promise<Probes> {
  const sdkPort = await freePort();
  const sdkAddress = `127.0.0.1:${sdkPort}`;
  installSdk(log, { metricsAddress: sdkAddress });
  let missing = ['starting'];
  const health = await serveHealth({
    host: config['health-host'],
    ports: [config['health-port'], config['metrics-port']].filter((port) => port !== undefined),
    notReady: () => missing,
    metrics: async () => ({
      text: await (await request(`http://${sdkAddress}/metrics`)).body.text(),
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
    }),
  });
  return {
    notReady(reasons) {
      missing = reasons;
    },
    ports: [...health.ports, sdkPort],
    close: () => health.close(),
  };
}

/** The SDK's own exporter serves nothing but metrics; it gets a port of its own behind ours. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}
