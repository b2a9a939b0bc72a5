import { Runtime } from '@temporalio/worker';
import type { MetricsExporterConfig } from '@temporalio/worker';
import type { Logger } from 'pino';
import { sdkLog } from './sdk-log.js';

/**
 * Sets up Temporal's SDK for this process, once: its lines go to the program's log, and signals are the program's own
 * business, which has more to stop than workers.
 *
 * @param options.about what a line of the SDK is about, by the id of the workflow that it names
 * @param options.metrics how the SDK exports what it counts; absent: not at all
 */
export function installSdk(
  log: Logger,
  options: { about?: (workflowId: string) => object; metrics?: MetricsExporterConfig } = {},
): void {
  const { about, metrics } = options;
  Runtime.install({
    logger: sdkLog(log, about),
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } },
      ...(metrics !== undefined && { metrics }),
    },
  });
}
