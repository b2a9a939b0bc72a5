import type { Scenario } from '../lib/bench.js';
import { historyFigures } from '../lib/history.js';
import { execute, expectSuccess, latencies, prepareRuns } from '../lib/load.js';
import { measured } from '../lib/measure.js';
import { median } from '../lib/statistics.js';

export const wide: Scenario = {
  name: 'wide',
  summary: 'one stage of 500 parallel workflows',
  sizes: { workflows: { value: 500, meaning: 'workflows of the stage, each one call' } },
  fresh: true,
  async run(bench) {
    const workflows = bench.size('workflows');
    const planned = await prepareRuns(bench, { shape: { stages: 1, workflows, actions: 1 }, count: 1 });
    const { value: ended, figures } = await measured(
      bench,
      { prefix: '', runs: 1, ownWrites: 1, memory: true },
      () =>
        execute(bench, planned, {
          parallel: 1,
          limitMs: 120_000 + workflows * 1000,
          text: `${workflows} workflows at once`,
        }),
    );
    expectSuccess(bench, ended);
    const objects = ended.map(({ object }) => object);
    return [
      { name: 'ended after', value: median(latencies(ended)) / 1000, unit: 's', better: 'lower' },
      { name: 'status size', value: statusKiB(objects[0]), unit: 'KiB', better: 'lower' },
      ...figures,
      ...(await historyFigures(bench, '', objects)),
    ];
  },
};

/** Size of an object's status as JSON, in KiB. */
export const statusKiB = (object: unknown): number =>
  Buffer.byteLength(JSON.stringify((object as { status?: unknown })?.status ?? {})) / 1024;
