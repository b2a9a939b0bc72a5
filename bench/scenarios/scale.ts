import type { Bench, Scenario } from '../lib/bench.js';
import type { Figure } from '../lib/figures.js';
import { wallSeconds } from '../lib/load.js';
import { measureRuns } from '../lib/measure-runs.js';

/** Bridges and workers, of each as many. */
const REPLICAS = [1, 2, 4];
const WARM_UP = 10;

export const scale: Scenario = {
  name: 'scale',
  summary: 'many runs of 3x3 at once with 1, 2 and 4 bridges and workers',
  sizes: { runs: { value: 100, meaning: 'runs of each measurement' } },
  needs: 'embedded',
  fresh: true,
  async run(bench) {
    const figures: Figure[] = [];
    const costs = new Map<number, number>();
    for (const replicas of REPLICAS) {
      const measured = await measureWith(bench, replicas);
      costs.set(replicas, measured.cpu);
      figures.push(...measured.figures);
    }
    const one = costs.get(1) ?? 0;
    for (const replicas of REPLICAS.slice(1)) {
      figures.push({
        name: `CPU per run, ${replicas} of each against 1`,
        value: (costs.get(replicas) ?? 0) / one,
        unit: '',
        better: 'lower',
      });
    }
    return figures;
  },
};

/** Runs with so many bridges and workers. */
async function measureWith(bench: Bench, replicas: number): Promise<{ figures: Figure[]; cpu: number }> {
  const { embedded } = bench.system;
  if (embedded === undefined) throw new Error('bridges and workers cannot be added here');
  const count = bench.size('runs');
  const prefix = `${replicas} of each`;
  const end = await embedded.addReplicas(replicas - 1);
  try {
    const { ended, begun, costs } = await measureRuns(bench, {
      shape: { stages: 3, actions: 3 },
      prefix,
      count,
      warmUp: WARM_UP * replicas,
      parallel: 24,
      limitMs: 120_000 + count * 5000,
      text: `${prefix} ${count} at once`,
      memory: true,
    });
    const throughput: Figure = {
      name: `${prefix} throughput`,
      value: (count / wallSeconds(ended, begun)) * 60,
      unit: 'runs/min',
      better: 'higher',
    };
    const cpu = costs.find(({ name }) => name === `${prefix} CPU per run`)?.value ?? 0;
    return { figures: [throughput, ...costs], cpu };
  } finally {
    await end();
  }
}
