import type { Scenario } from '../lib/bench.js';
import { latencies } from '../lib/load.js';
import { measureRuns, statusKiB } from '../lib/measure-runs.js';
import { median } from '../lib/statistics.js';

export const wide: Scenario = {
  name: 'wide',
  summary: 'one stage of 500 parallel workflows',
  sizes: { workflows: { value: 500, meaning: 'workflows of the stage, each one call' } },
  fresh: true,
  async run(bench) {
    const workflows = bench.size('workflows');
    const { ended, costs } = await measureRuns(bench, {
      shape: { stages: 1, workflows, actions: 1 },
      prefix: '',
      count: 1,
      parallel: 1,
      limitMs: 120_000 + workflows * 1000,
      text: `${workflows} workflows at once`,
      memory: true,
    });
    return [
      { name: 'ended after', value: median(latencies(ended)) / 1000, unit: 's', better: 'lower' },
      { name: 'status size', value: statusKiB(ended[0]?.object), unit: 'KiB', better: 'lower' },
      ...costs,
    ];
  },
};
