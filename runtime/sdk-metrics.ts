import type { MetricsExporterConfig } from '@temporalio/worker';
import { request } from 'undici';
import { freePort } from './free-port.js';

/** Temporal's SDK counts by itself, and serves that on a port of its own. */
export interface SdkMetrics {
  /** What the SDK's runtime is installed with. */
  exporter: MetricsExporterConfig;
  /** Port on the loopback interface that it serves on. */
  port: number;
  /** What it has counted, as Prometheus text; a comment with the reason where it cannot be read. */
  text: () => Promise<string>;
}

const READ_TIMEOUT_MS = 5_000;

/** Chooses the port. Names and units are those that Prometheus recommends. */
export async function openSdkMetrics(): Promise<SdkMetrics> {
  // The SDK takes no 0 for "any port".
  const port = await freePort();
  return {
    port,
    exporter: {
      prometheus: {
        bindAddress: `127.0.0.1:${port}`,
        useSecondsForDurations: true,
        countersTotalSuffix: true,
        unitSuffix: true,
      },
    },
    async text() {
      try {
        const { body } = await request(`http://127.0.0.1:${port}/metrics`, {
          headersTimeout: READ_TIMEOUT_MS,
          bodyTimeout: READ_TIMEOUT_MS,
        });
        return await body.text();
      } catch (error) {
        return `# metrics of Temporal's SDK cannot be read: ${String(error).replaceAll('\n', ' ')}\n`;
      }
    },
  };
}
