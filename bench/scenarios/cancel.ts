import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Scenario } from '../lib/bench.js';
import { timesOf } from '../lib/figures.js';
import { createRun, prepareRuns, watchRuns, whenEnded, within } from '../lib/load.js';
import { during } from '../lib/progress.js';
import type { PlannedRun } from '../peers/peer.js';

/** From the call's arrival to the cancel. */
const UNDER_WAY_MS = 1000;

export const cancel: Scenario = {
  name: 'cancel',
  summary: 'a run is cancelled 1 s into a call that takes 10 s',
  sizes: {
    runs: { value: 5, meaning: 'runs, one at a time' },
    'call-ms': { value: 10_000, meaning: 'milliseconds of the call' },
  },
  peers: true,
  async run(bench) {
    const delay = bench.size('call-ms');
    const planned = await prepareRuns(bench, {
      shape: { stages: 1, actions: 1, delay },
      count: bench.size('runs'),
    });
    const watch = await watchRuns(bench, planned[0]?.namespace ?? '');
    const results: Cancelled[] = [];
    try {
      await during(
        bench.progress,
        'cancelling',
        async () => {
          for (const run of planned) results.push(await cancelOne(bench, watch, run, delay));
        },
        () => `${results.length}/${planned.length}`,
      );
    } finally {
      await watch.close();
    }
    const count = (what: (result: Cancelled) => boolean): number => results.filter(what).length;
    return [
      ...timesOf(
        'request to terminal phase',
        results.map(({ ms }) => ms),
      ),
      {
        name: 'calls aborted',
        value: count(({ aborted }) => aborted) / results.length,
        unit: '',
        better: 'higher',
      },
      {
        name: 'status right',
        value: count(({ right }) => right) / results.length,
        unit: '',
        better: 'higher',
      },
      {
        name: 'calls per run',
        value: results.reduce((total, { calls }) => total + calls, 0) / results.length,
        unit: 'calls',
        better: 'lower',
      },
    ];
  },
};

interface Cancelled {
  ms: number;
  aborted: boolean;
  /** Cancelled, and no step of it is shown as going on. */
  right: boolean;
  calls: number;
}

async function cancelOne(
  bench: Bench,
  watch: Awaited<ReturnType<typeof watchRuns>>,
  run: PlannedRun,
  delay: number,
): Promise<Cancelled> {
  const { peer, recorder, system } = bench;
  const path = `/${run.name}/`;
  const came = new Promise<void>((resolve) => {
    const stop = recorder.onCall((call) => {
      if (!call.path.startsWith(path)) return;
      stop();
      resolve();
    });
  });
  const ended = whenEnded(bench, watch, run);
  ended.catch(() => undefined);
  await createRun(bench, run);
  await within(60_000, () => `no call of ${run.name} came`, came);
  await sleep(UNDER_WAY_MS);
  const asked = performance.now();
  const object = watch.objects.get(run.name)?.object;
  if (object === undefined) throw new Error(`${run.name} was never seen by the watch`);
  const { patch, kind, subresource } = peer.cancel(object);
  await system.kube.patch({ ...peer.runType, namespace: run.namespace, name: run.name }, patch, {
    kind,
    ...(subresource !== undefined && { subresource }),
  });
  const seen = await within(60_000 + 3 * delay, () => `${run.name} has not ended`, ended);
  // The caller's connection is closed a moment before or after the status is written.
  await sleep(200);
  const calls = recorder.under(path);
  return {
    ms: seen.at - asked,
    aborted: calls.length > 0 && calls.every(({ abortedAt }) => abortedAt !== undefined),
    right: peer.phase(seen.object) === 'cancelled' && (peer.openSteps(seen.object) ?? 0) === 0,
    calls: calls.length,
  };
}
