/** What the server counts. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { createHistogram } from '../runtime/histogram.js';

/** What is told of requests and of the store. */
export interface ServerMetrics {
  /** A request was answered. */
  answered(route: string, status: number, seconds: number): void;
  /** Whether the store can be reached. */
  storeAnswered(isThere: boolean): void;
}

/** Metrics of the server in a registry. */
export function createServerMetrics(registry: Registry): ServerMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'drover_server_requests_total',
    help: 'Requests to drover-server, by what was asked and by the HTTP status.',
    labelNames: ['operation', 'code'] as const,
    registers,
  });
  const latency = createHistogram(registry, {
    name: 'drover_server_request_seconds',
    help: 'Time from a request to drover-server to the end of its answer. Waits for an operation count too.',
    labelNames: ['operation'] as const,
    buckets: [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
  });
  const store = new Gauge({
    name: 'drover_server_store_available',
    help: 'Whether the store of states could be reached when it was last looked at: 1 or 0.',
    registers,
  });
  return {
    answered(operation, status, seconds) {
      requests.inc({ operation, code: String(status) });
      latency.observe({ operation }, seconds);
    },
    storeAnswered: (isThere) => store.set(isThere ? 1 : 0),
  };
}
