import type { Logger } from 'pino';
import { aboutWorkflow } from '../api/plan/naming.js';
import { serveHealth } from '../runtime/health-server.js';
import { installSdk } from '../runtime/install-sdk.js';
import { createProgramMetrics } from '../runtime/program-metrics.js';
import type { ProgramMetrics } from '../runtime/program-metrics.js';
import { openSdkMetrics } from '../runtime/sdk-metrics.js';
import { exemplarsOf } from '../runtime/tracing/trace-fields.js';
import type { Tracing } from '../runtime/tracing/tracing.js';
import type { WorkerConfig } from './config.js';

/** The worker as probes see it. */
export interface Probes {
  /** Why the worker is not ready; empty when it is. */
  notReady: (reasons: string[]) => void;
  /** What this process counts of itself. */
  metrics: ProgramMetrics;
  /** All ports that this process listens on. */
  ports: number[];
  close(): Promise<void>;
}

/** Serves probes and metrics, and sets up the SDK, whose metrics are among these. */
export async function serveProbes(
  config: WorkerConfig,
  { log, tracing }: { log: Logger; tracing: Tracing },
): Promise<Probes> {
  const sdk = await openSdkMetrics();
  installSdk(log, { about: aboutWorkflow, metrics: sdk.exporter });
  let missing = ['starting'];
  const metrics = createProgramMetrics({
    program: 'worker',
    isReady: () => missing.length === 0,
    sdk,
    exemplar: exemplarsOf(config['metrics-exemplars'], tracing),
  });
  const health = await serveHealth({
    host: config['health-host'],
    ports: [config['health-port'], config['metrics-port']].filter((port) => port !== undefined),
    notReady: () => missing,
    metrics: metrics.page,
  });
  return {
    notReady(reasons) {
      missing = reasons;
    },
    metrics,
    ports: [...health.ports, sdk.port],
    close: () => health.close(),
  };
}
