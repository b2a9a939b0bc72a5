import type { Scenario } from '../lib/bench.js';
import { timesOf } from '../lib/figures.js';
import type { Figure } from '../lib/figures.js';
import { latencies } from '../lib/load.js';
import { measureRuns } from '../lib/measure-runs.js';

const SHAPES = [
  { name: '1x1', stages: 1, actions: 1, share: 1 },
  { name: '3x3', stages: 3, actions: 3, share: 0.4 },
  { name: '10x10', stages: 10, actions: 10, share: 0.2 },
];
/** The first ones warm caches and compilers. */
const WARM_UP = 3;

export const latency: Scenario = {
  name: 'latency',
  summary: 'one run at a time: 1x1, 3x3 and 10x10 (stages x actions)',
  sizes: { runs: { value: 50, meaning: 'runs of 1x1; of 3x3 two fifths and of 10x10 a fifth of it' } },
  peers: true,
  async run(bench) {
    const figures: Figure[] = [];
    for (const shape of SHAPES) {
      const count = Math.max(3, Math.round(bench.size('runs') * shape.share));
      const { ended, costs } = await measureRuns(bench, {
        shape,
        prefix: shape.name,
        count,
        warmUp: WARM_UP,
        parallel: 1,
        limitMs: 60_000 + count * 30_000,
        text: `${shape.name}, one at a time`,
      });
      figures.push(...timesOf(shape.name, latencies(ended)), ...costs);
    }
    return figures;
  },
};
