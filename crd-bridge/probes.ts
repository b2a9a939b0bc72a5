import { serveHealth } from '../runtime/health-server.js';
import type { HealthServer } from '../runtime/health-server.js';
import type { Bridge } from './bridge.js';
import type { BridgeConfig } from './config.js';
import type { BridgeMetrics } from './core/metrics.js';

/** Where probes are answered when no port is given. */
const DEFAULT_PORT = 8081;

/** What probes are told. */
export interface Health {
  /** Once there is one. */
  bridge?: Bridge;
  /** What the start waits for. */
  problem?: string;
  /** Why Temporal does not answer. */
  temporalError?: string;
}

/** Serves probes and metrics. What `health` says may change. */
export async function serveProbes(
  config: BridgeConfig,
  { health, metrics: { registry } }: { health: Health; metrics: Pick<BridgeMetrics, 'registry'> },
): Promise<HealthServer> {
  const ports = [config['health-port'], config['metrics-port']].filter((port) => port !== undefined);
  return serveHealth({
    host: config['health-host'],
    ports: ports.length === 0 ? [DEFAULT_PORT] : ports,
    metrics: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
    notReady: () => [
      ...(health.bridge?.notReady() ?? [health.problem ?? 'starting']),
      ...(health.temporalError === undefined ? [] : [`Temporal: ${health.temporalError}`]),
    ],
  });
}
