import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { Bench, Scenario } from '../lib/bench.js';
import type { Figure } from '../lib/figures.js';
import { execute, expectSuccess, prepareRuns, within } from '../lib/load.js';
import { measured } from '../lib/measure.js';
import { processAgeSeconds } from '../lib/processes.js';
import { during } from '../lib/progress.js';
import type { PlannedRun } from '../peers/peer.js';

/** What a bridge does about what it finds it does at once; what it puts off comes within this time. */
const SETTLE_MS = 15_000;
const READY_MS = 120_000;

export const readmission: Scenario = {
  name: 'readmission',
  summary: 'the bridge starts beside 500 plans and 1,400 finished executions',
  sizes: {
    plans: { value: 500, meaning: 'plans' },
    executions: { value: 1400, meaning: 'finished executions of them' },
  },
  needs: 'embedded',
  fresh: true,
  once: true,
  async run(bench) {
    const { embedded } = bench.system;
    if (embedded === undefined) throw new Error('the bridge cannot be restarted here');
    await makeExecutions(bench);
    await embedded.stop('bridge');
    const { value: seconds, figures } = await during(bench.progress, 'starting the bridge', () =>
      measured(bench, { prefix: '', runs: 1, per: '', ownWrites: 0, memory: true }, async () => {
        const readyAt = whenReady(await embedded.readyUrl('bridge'));
        await embedded.restore();
        const at = await within(READY_MS, () => 'the bridge is not ready', readyAt);
        const { bridge = 0 } = await bench.system.pids();
        const age = (await processAgeSeconds(bridge)) ?? 0;
        const ready = age - (performance.now() - at) / 1000;
        await sleep(SETTLE_MS);
        return ready;
      }),
    );
    return [
      { name: 'bridge ready after', value: seconds, unit: 's', better: 'lower' },
      { name: 'writes of objects', value: objectWrites(figures), unit: 'requests', better: 'lower' },
      ...figures,
    ];
  },
};

/**
 * Writes of what the bridge keeps: whoever starts it applies definitions and rights again, and it applies its webhooks,
 * however much is there.
 */
function objectWrites(figures: readonly Figure[]): number {
  return figures
    .filter(({ name }) =>
      /^API (POST|PUT|PATCH|APPLY|DELETE) (dr\w+|controllerrevisions|events)\b/.test(name),
    )
    .reduce((sum, { value }) => sum + value, 0);
}

/** Runs the plans in turn until there are enough executions. */
async function makeExecutions(bench: Bench): Promise<void> {
  const plans = bench.size('plans');
  const planned = await prepareRuns(bench, { shape: { stages: 1, actions: 1 }, count: plans });
  let left = bench.size('executions');
  for (let round = 0; left > 0; round += 1) {
    const inTurn = planned
      .slice(0, left)
      .map((run): PlannedRun => ({ ...run, name: `${run.name}-r${round}`, plan: run.name }));
    const ended = await execute(bench, inTurn, {
      parallel: 24,
      limitMs: 120_000 + plans * 2000,
      text: `round ${round + 1}, ${left} executions to come`,
    });
    expectSuccess(bench, ended);
    left -= ended.length;
  }
}

async function whenReady(url: string): Promise<number> {
  for (const end = Date.now() + READY_MS; Date.now() < end;) {
    const status = await request(url).then(
      async ({ statusCode, body }) => {
        await body.dump();
        return statusCode;
      },
      () => 0,
    );
    if (status === 200) return performance.now();
    await sleep(20);
  }
  throw new Error('the bridge is not ready');
}
