import type { Scenario } from '../lib/bench.js';
import { execute, expectSuccess, prepareRuns, wallSeconds } from '../lib/load.js';

/** The first ones warm caches and compilers. */
const WARM_UP = 5;

export const concurrency: Scenario = {
  name: 'concurrency',
  summary: '20 runs at once, each one call that takes 2 s',
  sizes: {
    runs: { value: 20, meaning: 'runs at once' },
    'call-ms': { value: 2000, meaning: 'milliseconds of a call' },
  },
  peers: true,
  async run(bench) {
    const delay = bench.size('call-ms');
    const count = bench.size('runs');
    const shape = { stages: 1, actions: 1 };
    const first = await prepareRuns(bench, { shape, count: WARM_UP, prefix: 'first' });
    expectSuccess(bench, await execute(bench, first, { parallel: 1, limitMs: 120_000, text: 'warming up' }));
    const planned = await prepareRuns(bench, { shape: { ...shape, delay }, count });
    bench.recorder.clear();
    const begun = performance.now();
    const ended = await execute(bench, planned, {
      parallel: 24,
      limitMs: 120_000 + count * (delay + 1000),
      text: `${count} at once`,
    });
    expectSuccess(bench, ended);
    const firstEnd = Math.min(...ended.map(({ endedAt }) => endedAt));
    return [
      { name: 'all ended after', value: wallSeconds(ended, begun), unit: 's', better: 'lower' },
      { name: 'first ended after', value: (firstEnd - begun) / 1000, unit: 's', better: 'lower' },
      {
        name: 'calls per run',
        value: bench.recorder.under('/').length / count,
        unit: 'calls',
        better: 'lower',
      },
    ];
  },
};
