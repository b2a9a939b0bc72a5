import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createHistogram, ExemplarRegistry } from './histogram.js';
import { joinOpenMetrics } from './open-metrics.js';

const config = { name: 'time_seconds', help: 'Time.', labelNames: ['kind'] as const, buckets: [1, 10] };

it('a histogram names a trace beside the bucket, where its registry has exemplars', async () => {
  let trace: Record<string, string> | undefined = { trace_id: 'a1' };
  const registry = new ExemplarRegistry(() => trace);
  const histogram = createHistogram(registry, config);
  histogram.observe({ kind: 'x' }, 5);
  const stop = histogram.startTimer({ kind: 'y' });
  stop();
  trace = undefined;
  histogram.observe({ kind: 'x' }, 0.5);
  const page = await registry.metrics();
  expect(page).toMatch(/^time_seconds_bucket\{le="10",kind="x"\} 2 # \{trace_id="a1"\} 5 \d/m);
  expect(page).toMatch(/^time_seconds_bucket\{le="1",kind="x"\} 1$/m);
  expect(page).toMatch(/^time_seconds_bucket\{le="1",kind="y"\} 1 # \{trace_id="a1"\}/m);
  expect(registry.contentType).toMatch(/^application\/openmetrics-text/);
});

it('a histogram of any other registry has none', async () => {
  const registry = new Registry();
  createHistogram(registry, config).observe({ kind: 'x' }, 5);
  expect(await registry.metrics()).toMatch(/^time_seconds_bucket\{le="10",kind="x"\} 1$/m);
});

it('a page of the older format goes behind one of OpenMetrics', () => {
  const page = '# HELP a Help.\n# TYPE a gauge\na 1\n# EOF\n';
  const text = `# HELP b_total Help of b_total.
# TYPE b_total counter
b_total{x="1"} 2

# a comment
# HELP c_total A gauge.
# TYPE c_total gauge
c_total 3
`;
  expect(joinOpenMetrics(page, text)).toBe(`# HELP a Help.
# TYPE a gauge
a 1
# HELP b Help of b_total.
# TYPE b counter
b_total{x="1"} 2
# HELP c_total A gauge.
# TYPE c_total gauge
c_total 3
# EOF
`);
  expect(joinOpenMetrics(page, '')).toBe(page);
});
