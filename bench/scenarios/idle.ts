import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../lib/bench.js';
import { execute, expectSuccess, prepareRuns } from '../lib/load.js';
import { measured } from '../lib/measure.js';
import { during } from '../lib/progress.js';

/** After the last run everything may finish what it put off. */
const CALM_MS = 15_000;

export const idle: Scenario = {
  name: 'idle',
  summary: 'at rest, with 5,000 finished executions kept',
  sizes: {
    executions: { value: 5000, meaning: 'executions that have ended' },
    seconds: { value: 60, meaning: 'seconds that are measured' },
  },
  fresh: true,
  once: true,
  async run(bench) {
    const count = bench.size('executions');
    const seconds = bench.size('seconds');
    const planned = await prepareRuns(bench, {
      shape: { stages: 1, actions: 1 },
      count,
      variants: Math.min(count, 500),
    });
    expectSuccess(
      bench,
      await execute(bench, planned, {
        parallel: 24,
        limitMs: 120_000 + count * 1000,
        text: `running ${count} executions first`,
      }),
    );
    const { figures } = await during(bench.progress, 'watching it rest', async () => {
      await sleep(CALM_MS);
      return measured(
        bench,
        { prefix: 'at rest,', runs: seconds / 60, per: 'a minute', ownWrites: 0, memory: true },
        () => sleep(seconds * 1000),
      );
    });
    return figures;
  },
};
