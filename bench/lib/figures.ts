import { median, percentile } from './statistics.js';

/** What a figure is counted in. */
export type Unit =
  | 'ms'
  | 's'
  | 'runs/min'
  | 'CPU s'
  | 'CPU %'
  | 'MiB'
  | 'KiB'
  | 'requests'
  | 'events'
  | 'runs'
  | 'calls'
  | 'times'
  | '';

/** One measured value of one repetition. */
export interface Figure {
  /** Unique in its scenario; begins with the case it belongs to, such as `3x3 p50`. */
  name: string;
  value: number;
  unit: Unit;
  /** Which way is an improvement; absent: neither, it only describes. */
  better?: 'lower' | 'higher';
  /** Kept in the JSON, and shown in the table only when all is asked for. */
  detail?: true;
}

/** Median, 90th and 99th percentile of times in milliseconds. */
export function timesOf(prefix: string, values: readonly number[]): Figure[] {
  return [
    { name: `${prefix} p50`, value: median(values), unit: 'ms', better: 'lower' },
    { name: `${prefix} p90`, value: percentile(values, 90), unit: 'ms', better: 'lower' },
    { name: `${prefix} p99`, value: percentile(values, 99), unit: 'ms', better: 'lower' },
  ];
}
