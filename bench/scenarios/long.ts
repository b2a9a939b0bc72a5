import type { Scenario } from '../lib/bench.js';
import { latencies } from '../lib/load.js';
import { BODY_BYTES } from '../lib/measure.js';
import { measureRuns, statusKiB } from '../lib/measure-runs.js';
import { median, sum } from '../lib/statistics.js';

export const long: Scenario = {
  name: 'long',
  summary: '2,000 actions in 200 stages, one after another',
  sizes: {
    stages: { value: 200, meaning: 'stages' },
    actions: { value: 10, meaning: 'actions of a stage' },
  },
  fresh: true,
  once: true,
  async run(bench) {
    const [stages, actions] = [bench.size('stages'), bench.size('actions')];
    const { ended, costs } = await measureRuns(bench, {
      shape: { stages, actions },
      prefix: '',
      count: 1,
      parallel: 1,
      limitMs: 300_000 + stages * actions * 2000,
      text: `${stages * actions} actions`,
      memory: true,
    });
    const status = statusKiB(ended[0]?.object);
    const seconds = median(latencies(ended)) / 1000;
    const bodies = costs.filter(({ name }) => name.startsWith(BODY_BYTES) && !name.endsWith(' events'));
    const written = sum(bodies.map(({ value }) => value));
    return [
      { name: 'ended after', value: seconds, unit: 's', better: 'lower' },
      {
        name: 'time of an action',
        value: (seconds * 1000) / (stages * actions),
        unit: 'ms',
        better: 'lower',
      },
      { name: 'status size', value: status, unit: 'KiB', better: 'lower' },
      ...(bodies.length === 0
        ? []
        : [
            { name: 'written to the API', value: written, unit: 'KiB' as const, better: 'lower' as const },
            {
              name: 'written, of the final status',
              value: written / status,
              unit: 'times' as const,
              better: 'lower' as const,
            },
          ]),
      ...costs,
    ];
  },
};
