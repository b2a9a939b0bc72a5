import type { Scenario } from '../lib/bench.js';
import { historyFigures } from '../lib/history.js';
import { execute, expectSuccess, latencies, prepareRuns } from '../lib/load.js';
import { BODY_BYTES, measured } from '../lib/measure.js';
import { median, sum } from '../lib/statistics.js';
import { statusKiB } from './wide.js';

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
    const planned = await prepareRuns(bench, { shape: { stages, actions }, count: 1 });
    const { value: ended, figures } = await measured(
      bench,
      { prefix: '', runs: 1, ownWrites: 1, memory: true },
      () =>
        execute(bench, planned, {
          parallel: 1,
          limitMs: 300_000 + stages * actions * 2000,
          text: `${stages * actions} actions`,
        }),
    );
    expectSuccess(bench, ended);
    const objects = ended.map(({ object }) => object);
    const status = statusKiB(objects[0]);
    const seconds = median(latencies(ended)) / 1000;
    const bodies = figures.filter(({ name }) => name.startsWith(BODY_BYTES) && !name.endsWith(' events'));
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
      ...figures,
      ...(await historyFigures(bench, '', objects)),
    ];
  },
};
