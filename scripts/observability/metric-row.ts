import type { ProgramName } from '../../runtime/program-metrics.js';

/** One metric. */
export interface MetricRow {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  labels: readonly string[];
  help: string;
  /** Who exports it. */
  programs: readonly ProgramName[];
  /** It is there only after something of its kind has happened. */
  isRare?: true;
}

/** Names under which the series of a metric are found. */
export const seriesOf = ({ name, type }: Pick<MetricRow, 'name' | 'type'>): string[] =>
  type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
