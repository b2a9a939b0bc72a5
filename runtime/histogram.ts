import { Histogram, Registry } from 'prom-client';
import type { HistogramConfiguration, LabelValues } from 'prom-client';

/** Names the trace of an observation; undefined outside of any. */
export type Exemplar = () => Record<string, string> | undefined;

/** A registry whose histograms name a trace beside each bucket. That can be told in the format of OpenMetrics alone. */
export class ExemplarRegistry extends Registry {
  readonly exemplar: Exemplar;
  constructor(exemplar: Exemplar) {
    super();
    this.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
    this.exemplar = exemplar;
  }
}

/** How the library is told of an observation with an exemplar. */
interface Observation<L extends string> {
  labels: LabelValues<L>;
  value: number;
  exemplarLabels?: Record<string, string>;
}

/** A histogram in a registry, with exemplars where the registry has them. */
export function createHistogram<L extends string>(
  registry: Registry,
  config: Omit<HistogramConfiguration<L>, 'registers' | 'enableExemplars'>,
): Histogram<L> {
  if (!(registry instanceof ExemplarRegistry)) return new Histogram({ ...config, registers: [registry] });
  const { exemplar } = registry;
  const histogram = new Histogram<L>({ ...config, registers: [registry], enableExemplars: true });
  const observe = histogram.observe.bind(histogram) as unknown as (observation: Observation<L>) => void;
  // With exemplars, the library observes by an object; whoever observes here need not know.
  const observeAny = (...[labels, value]: [LabelValues<L>, number] | [Observation<L>, undefined?]): void => {
    const observation = value === undefined ? labels : { labels, value };
    observe({ ...observation, exemplarLabels: exemplar() ?? {} });
  };
  histogram.observe = observeAny as typeof histogram.observe;
  return histogram;
}
