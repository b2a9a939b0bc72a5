import type { Scenario } from '../lib/bench.js';
import { timesOf } from '../lib/figures.js';
import { execute, latencies, prepareRuns, wallSeconds } from '../lib/load.js';
import { measured } from '../lib/measure.js';

export const burst: Scenario = {
  name: 'burst',
  summary: '5,000 executions of 5,000 plans that share 500 workflows, created at once',
  sizes: {
    executions: { value: 5000, meaning: 'executions, each of a plan of its own' },
    workflows: { value: 500, meaning: 'workflows that the plans share' },
  },
  fresh: true,
  once: true,
  async run(bench) {
    const count = bench.size('executions');
    const planned = await prepareRuns(bench, {
      shape: { stages: 1, actions: 1 },
      count,
      variants: Math.min(count, bench.size('workflows')),
    });
    let begun = 0;
    const { value: ended, figures } = await measured(
      bench,
      { prefix: '', runs: count, ownWrites: count, memory: true },
      () => {
        begun = performance.now();
        return execute(bench, planned, {
          parallel: 24,
          limitMs: 120_000 + count * 500,
          text: `draining ${count}`,
          tolerant: true,
        });
      },
    );
    const succeeded = ended.filter(({ phase }) => phase === 'succeeded').length;
    const seconds = wallSeconds(ended, begun);
    const calls = bench.recorder.under('/');
    return [
      { name: 'drained after', value: seconds, unit: 's', better: 'lower' },
      { name: 'throughput', value: (ended.length / seconds) * 60, unit: 'runs/min', better: 'higher' },
      { name: 'lost', value: count - ended.length, unit: 'runs', better: 'lower' },
      {
        name: 'ended otherwise than succeeded',
        value: ended.length - succeeded,
        unit: 'runs',
        better: 'lower',
      },
      { name: 'calls per run', value: calls.length / count, unit: 'calls', better: 'lower' },
      ...timesOf('create to terminal', latencies(ended)),
      ...figures,
    ];
  },
};
