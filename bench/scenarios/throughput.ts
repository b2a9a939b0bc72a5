import type { Scenario } from '../lib/bench.js';
import { timesOf } from '../lib/figures.js';
import type { Figure } from '../lib/figures.js';
import { latencies, wallSeconds } from '../lib/load.js';
import { measureRuns } from '../lib/measure-runs.js';

const SHAPES = [
  { name: '1x1', stages: 1, actions: 1, share: 1 },
  { name: '3x3', stages: 3, actions: 3, share: 1 / 3 },
];
const WARM_UP = 10;

export const throughput: Scenario = {
  name: 'throughput',
  summary: 'many runs created at once: 300 of 1x1, 100 of 3x3',
  sizes: { runs: { value: 300, meaning: 'runs of 1x1; of 3x3 a third of it' } },
  peers: true,
  async run(bench) {
    const figures: Figure[] = [];
    for (const shape of SHAPES) {
      const count = Math.max(3, Math.round(bench.size('runs') * shape.share));
      const { ended, begun, costs } = await measureRuns(bench, {
        shape,
        prefix: shape.name,
        count,
        warmUp: WARM_UP,
        parallel: 24,
        limitMs: 120_000 + count * 5000,
        text: `${shape.name}, ${count} at once`,
        memory: true,
      });
      const seconds = wallSeconds(ended, begun);
      figures.push(
        {
          name: `${shape.name} throughput`,
          value: (count / seconds) * 60,
          unit: 'runs/min',
          better: 'higher',
        },
        { name: `${shape.name} all ended after`, value: seconds, unit: 's', better: 'lower' },
        ...timesOf(shape.name, latencies(ended)).map((figure) => ({ ...figure, detail: true as const })),
        ...costs,
      );
    }
    return figures;
  },
};
