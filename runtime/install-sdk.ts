import { Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { sdkLog } from './sdk-log.js';

/**
 * Sets up Temporal's SDK for this process, once: its lines go to the program's log, and signals are the program's own
 * business, which has more to stop than workers.
 *
 * @param options.metricsAddress where the SDK serves its metrics; absent: nowhere
 */
export function installSdk(log: Logger, options: { metricsAddress?: string } = {}): void {
  const { metricsAddress } = options;
  Runtime.install({
    logger: sdkLog(log),
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } },
      ...(metricsAddress !== undefined && {
        metrics: {
          prometheus: {
            bindAddress: metricsAddress,
            useSecondsForDurations: true,
            countersTotalSuffix: true,
            unitSuffix: true,
          },
        },
      }),
    },
  });
}
