import { Runtime } from '@temporalio/worker';
import type { MetricsExporterConfig } from '@temporalio/worker';
import type { Logger } from 'pino';
import { sdkLog } from './sdk-log.js';

/**
 * Sets up Temporal's SDK for this process, once: its lines go to the program's log, and signals are the program's own
 * business, which has more to stop than workers.
 *
 * @param options.metrics how the SDK exports what it counts; absent: not at all
 */
export function installSdk(log: Logger, options: { metrics?: MetricsExporterConfig } = {}): void {
  const { metrics } = options;
  Runtime.install({
    logger: sdkLog(log),
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } },
      ...(metrics !== undefined && { metrics }),
    },
  });
}
