import { serveHealth } from '../runtime/health-server.js';
import type { HealthServer } from '../runtime/health-server.js';
import type { ProgramMetrics } from '../runtime/program-metrics.js';
import type { Bridge } from './bridge.js';
import type { BridgeConfig } from './config.js';

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

/** What is missing before the bridge is ready; empty when nothing is. */
export const notReady = ({ bridge, problem, temporalError }: Health): string[] => [
  ...(bridge?.notReady() ?? [problem ?? 'starting']),
  ...(temporalError === undefined ? [] : [`Temporal: ${temporalError}`]),
];

/** Serves probes and metrics. What `health` says may change. */
export async function serveProbes(
  config: BridgeConfig,
  { health, metrics }: { health: Health; metrics: Pick<ProgramMetrics, 'page'> },
): Promise<HealthServer> {
  const ports = [config['health-port'], config['metrics-port']].filter((port) => port !== undefined);
  return serveHealth({
    host: config['health-host'],
    ports: ports.length === 0 ? [DEFAULT_PORT] : ports,
    metrics: metrics.page,
    notReady: () => notReady(health),
  });
}
