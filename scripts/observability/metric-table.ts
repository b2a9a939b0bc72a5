/** All metrics that the programs export and that people may build on, for the manual and for checks of what is built on them. */
import { Registry } from 'prom-client';
import { createMetrics } from '../../crd-bridge/core/metrics.js';
import { createPlanMetrics } from '../../crd-bridge/plan/metrics/plan-metrics.js';
import { createProgramMetrics } from '../../runtime/program-metrics.js';
import type { ProgramName } from '../../runtime/program-metrics.js';
import { createServerMetrics } from '../../server/metrics.js';
import { PROCESS_METRICS, SDK_METRICS } from './foreign-metrics.js';
import type { MetricRow } from './metric-row.js';

/** Metrics by who makes them. */
export interface MetricTable {
  /** Of Drover itself. */
  own: MetricRow[];
  /** Of Temporal's SDK in the worker. */
  sdk: MetricRow[];
  /** Of Node and the process, as far as dashboards and alerts use them. */
  process: MetricRow[];
}

/** What prom-client keeps of a metric beside what it types. */
interface Registered {
  name: string;
  help: string;
  type?: MetricRow['type'];
  labelNames: readonly string[];
}

/** Reads the table from the code that makes the metrics. */
export function metricTable(): MetricTable {
  const all = new Set(
    registryOf('server')
      .getMetricsAsArray()
      .map(({ name }) => name),
  );
  const shared = rowsOf(registryOf('bridge'), ['bridge', 'worker']).map((row) =>
    all.has(row.name) ? { ...row, programs: [...row.programs, 'server' as const] } : row,
  );
  const bridge = new Registry();
  createMetrics(bridge);
  createPlanMetrics(bridge);
  const server = new Registry();
  createServerMetrics(server);
  return {
    own: [...shared, ...rowsOf(bridge, ['bridge']), ...rowsOf(server, ['server'])],
    sdk: SDK_METRICS,
    process: PROCESS_METRICS,
  };
}

const registryOf = (program: ProgramName): Registry =>
  createProgramMetrics({ program, isReady: () => true }).registry;

function rowsOf(registry: Registry, programs: readonly ProgramName[]): MetricRow[] {
  const metrics = registry.getMetricsAsArray() as unknown as Registered[];
  return metrics
    .filter(({ name }) => name.startsWith('drover_'))
    .map((metric) => {
      const { name, help, labelNames } = metric;
      return { name, type: typeOf(metric), labels: labelNames, help, programs };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function typeOf({ name, type }: Registered): MetricRow['type'] {
  if (type === undefined) throw new Error(`metric ${name} has no type`);
  return type;
}
