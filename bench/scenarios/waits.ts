import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../kube/object.js';
import type { Bench, Scenario } from '../lib/bench.js';
import { execute, expectSuccess, forAll, latencies, prepareRuns, within } from '../lib/load.js';
import { measured } from '../lib/measure.js';
import { watchObjects } from '../lib/object-watch.js';
import { during } from '../lib/progress.js';
import { median } from '../lib/statistics.js';

const API_VERSION = 'dr.bkbcs.tencent.com/v1alpha1';
/** Waits of one run. */
const WIDTH = 100;
const AWAITED = 'comes-late';
const CALM_MS = 5000;

export const waits: Scenario = {
  name: 'waits',
  summary: 'one run at a time while 1,000 actions wait for an object',
  sizes: {
    waits: { value: 1000, meaning: 'actions that wait, 100 a run' },
    runs: { value: 30, meaning: 'runs, one at a time, without and beside them' },
    seconds: { value: 20, meaning: 'seconds that are measured while nothing else happens' },
  },
  async run(bench) {
    const alone = await latencyOf(bench, 'alone');
    const namespace = await bench.namespace();
    await during(bench.progress, 'beginning to wait', () => beginWaiting(bench, namespace));
    const beside = await latencyOf(bench, 'beside');
    const seconds = bench.size('seconds');
    const { figures } = await during(bench.progress, 'watching it wait', async () => {
      await sleep(CALM_MS);
      return measured(bench, { prefix: 'waiting,', runs: seconds, per: 'a second', ownWrites: 0 }, () =>
        sleep(seconds * 1000),
      );
    });
    const released = await during(bench.progress, 'ending all waits', () => endWaiting(bench, namespace));
    return [
      { name: '1x1 p50 alone', value: alone, unit: 'ms', better: 'lower' },
      { name: '1x1 p50 beside waits', value: beside, unit: 'ms', better: 'lower' },
      { name: 'all ended after the object came', value: released, unit: 's', better: 'lower' },
      ...figures,
    ];
  },
};

async function latencyOf(bench: Bench, prefix: string): Promise<number> {
  const count = bench.size('runs');
  const planned = await prepareRuns(bench, { shape: { stages: 1, actions: 1 }, count, prefix });
  const ended = await execute(bench, planned, {
    parallel: 1,
    limitMs: 60_000 + count * 10_000,
    text: `${count} runs, one at a time, ${prefix}`,
  });
  expectSuccess(bench, ended);
  return median(latencies(ended));
}

const names = (bench: Bench): string[] =>
  Array.from({ length: Math.ceil(bench.size('waits') / WIDTH) }, (_, index) => `waits-${index}`);

async function beginWaiting(bench: Bench, namespace: string): Promise<void> {
  const { kube } = bench.system;
  const object = (kind: string, name: string, spec: object): KubeObject => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name, namespace },
    spec,
  });
  const start = { name: 'start', type: 'Wait', wait: { duration: '1s' } };
  const waiting = Array.from({ length: WIDTH }, (_, index) => ({
    name: `wait-${index}`,
    type: 'Wait',
    timeout: '1h',
    dependsOn: ['start'],
    wait: { for: { apiVersion: 'v1', kind: 'ConfigMap', name: AWAITED }, condition: 'object != null' },
  }));
  await kube.create(object('DRWorkflow', 'waits', { actions: [start, ...waiting] }));
  const stages = [{ name: 's', workflows: [{ workflowRef: { name: 'waits' } }] }];
  await forAll(names(bench), (name) => kube.create(object('DRPlan', name, { stages })));
  await sleep(CALM_MS);
  await forAll(names(bench), (name) =>
    kube.create(object('DRPlanExecution', name, { planRef: name, operationType: 'Execute' })),
  );
  const watch = await watchObjects<KubeObject>(kube, bench.peer.runType, namespace);
  const runningOf = (found: KubeObject): number =>
    JSON.stringify((found as { status?: unknown }).status ?? {}).split('"phase":"Running"').length - 1;
  try {
    await within(
      300_000,
      () => 'not all actions waited',
      // The run, its stage and its workflow say Running too.
      Promise.all(names(bench).map((name) => watch.until(name, (found) => runningOf(found) >= WIDTH))),
    );
  } finally {
    await watch.close();
  }
}

/** @returns seconds until the last run has ended */
async function endWaiting(bench: Bench, namespace: string): Promise<number> {
  const { kube } = bench.system;
  const watch = await watchObjects<KubeObject>(kube, bench.peer.runType, namespace);
  try {
    const begun = performance.now();
    await kube.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: AWAITED, namespace } });
    const isOver = (found: KubeObject): boolean =>
      (found as { status?: { phase?: string } }).status?.phase === 'Succeeded';
    await within(
      300_000,
      () => 'not all waits ended',
      Promise.all(names(bench).map((name) => watch.until(name, isOver))),
    );
    return (performance.now() - begun) / 1000;
  } finally {
    await watch.close();
  }
}
