import { Gauge } from 'prom-client';
import type { LabelValues, Registry } from 'prom-client';

/** Values of a gauge, each with its labels. */
export type Readings<L extends string> = Iterable<readonly [labels: LabelValues<L>, value: number]>;

/** A gauge that is read at each scrape, from wherever there is something to read. */
export interface ReadGauge<L extends string> {
  /** Readings of the same labels are added up. */
  add(read: () => Readings<L>): void;
}

/** Makes such a gauge. Labels that are not read any more are gone. */
export function readGauge<L extends string>(
  registry: Registry,
  { name, help, labelNames }: { name: string; help: string; labelNames: readonly L[] },
): ReadGauge<L> {
  const readers: (() => Readings<L>)[] = [];
  registry.registerMetric(
    new Gauge<L>({
      name,
      help,
      labelNames,
      registers: [],
      collect() {
        this.reset();
        for (const read of readers) for (const [labels, value] of read()) this.inc(labels, value);
      },
    }),
  );
  return { add: (read) => void readers.push(read) };
}
