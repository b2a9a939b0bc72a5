import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { OnWrite } from './status-writer.js';

/** What the bridge counts. */
export interface BridgeMetrics {
  registry: Registry;
  starts: Counter;
  updates: Counter<'kind'>;
  errors: Counter<'kind'>;
  reconcile: Histogram<'kind'>;
  reviews: Histogram<'kind' | 'operation' | 'result'>;
  certificateExpiry: Gauge;
  onWrite: OnWrite;
  /** Reports how many executions wait to be started, read at each scrape. */
  watchWaiting(read: () => number): void;
  /** Reports the depth of a queue, read at each scrape. */
  watchDepth(kind: string, depth: () => number): void;
}

/** Metrics in a registry of their own. */
export function createMetrics(): BridgeMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const writes = new Counter({
    name: 'drover_bridge_api_writes_total',
    help: 'Writes to the Kubernetes API, by kind of object, verb and result (ok, conflict, error).',
    labelNames: ['kind', 'verb', 'result'] as const,
    registers,
  });
  return {
    registry,
    starts: new Counter({
      name: 'drover_bridge_runs_started_total',
      help: 'Runs that were started.',
      registers,
    }),
    updates: new Counter({
      name: 'drover_bridge_updates_total',
      help: 'Updates that runs have sent, by kind (mirror, finish).',
      labelNames: ['kind'] as const,
      registers,
    }),
    errors: new Counter({
      name: 'drover_bridge_reconcile_errors_total',
      help: 'Looks at an object that failed and were put off.',
      labelNames: ['kind'] as const,
      registers,
    }),
    reconcile: new Histogram({
      name: 'drover_bridge_reconcile_seconds',
      help: 'Time of one look at an object.',
      labelNames: ['kind'] as const,
      buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
      registers,
    }),
    reviews: new Histogram({
      name: 'drover_bridge_admission_seconds',
      help: 'Time of one admission review, by kind of object, operation and result (allowed, refused, error).',
      labelNames: ['kind', 'operation', 'result'] as const,
      buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3],
      registers,
    }),
    certificateExpiry: new Gauge({
      name: 'drover_bridge_webhook_certificate_expiry_timestamp_seconds',
      help: 'When the certificate that admission is served with runs out; 0 while none is served.',
      registers,
    }),
    onWrite: (write) => {
      writes.inc(write);
    },
    ...gaugesIn(registry),
  };
}

/** Gauges that are read when they are scraped. */
function gaugesIn(registry: Registry): Pick<BridgeMetrics, 'watchDepth' | 'watchWaiting'> {
  const waits: (() => number)[] = [];
  registry.registerMetric(
    new Gauge({
      name: 'drover_bridge_starts_waiting',
      help: 'Objects that wait until workers have taken up what was started before them.',
      registers: [],
      collect() {
        this.set(waits.reduce((sum, read) => sum + read(), 0));
      },
    }),
  );
  const depths = new Map<string, () => number>();
  registry.registerMetric(
    new Gauge({
      name: 'drover_bridge_queue_depth',
      help: 'Objects that wait to be looked at or are being looked at.',
      labelNames: ['kind'] as const,
      registers: [],
      collect() {
        for (const [kind, read] of depths) this.set({ kind }, read());
      },
    }),
  );
  return {
    watchWaiting: (read) => {
      waits.push(read);
    },
    watchDepth: (kind, read) => {
      depths.set(kind, read);
    },
  };
}
