import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { FLOOR } from '../floor/contract.js';
import type { FloorInput } from '../floor/contract.js';
import type { Bench, Scenario } from '../lib/bench.js';
import { timesOf } from '../lib/figures.js';
import type { Figure } from '../lib/figures.js';
import { forAll, within } from '../lib/load.js';
import { during } from '../lib/progress.js';
import { usageOf } from '../lib/processes.js';

const SHAPES = [
  { name: '1x1', stages: 1, actions: 1, share: 1 },
  { name: '3x3', stages: 3, actions: 3, share: 1 / 3 },
];
/** Processes that an empty run uses, by the names that they are given. */
const ENGINE: ReadonlySet<string> = new Set(['temporal', 'postgres']);
const WARM_UP = 5;
const READY_MS = 120_000;

export const floor: Scenario = {
  name: 'floor',
  summary: 'empty runs: the same workflows and activities in Temporal, no work and no Kubernetes',
  sizes: {
    runs: { value: 300, meaning: 'runs of 1x1 at once; of 3x3 a third of it; a sixth of each one at a time' },
    waiting: { value: 20, meaning: 'runs of 1x1 at once whose activity waits' },
    'wait-ms': { value: 2000, meaning: 'milliseconds that it waits' },
  },
  needs: 'temporal',
  async run(bench) {
    const workers = await startWorkers(bench);
    try {
      const figures: Figure[] = [];
      for (const shape of SHAPES) figures.push(...(await measureShape(bench, workers, shape)));
      figures.push(await measureWaiting(bench));
      return figures;
    } finally {
      await workers.close();
    }
  },
};

interface Workers {
  pids: Record<string, number>;
  close(): Promise<void>;
}

async function startWorkers(bench: Bench): Promise<Workers> {
  const { temporal } = bench.system;
  if (temporal === undefined) throw new Error('no Temporal is named');
  const folder = await mkdtemp(join(tmpdir(), 'drover-floor-'));
  const bundle = join(folder, 'bundle.js');
  const children: Record<string, ChildProcess> = {};
  const close = async (): Promise<void> => {
    for (const child of Object.values(children)) {
      if (child.exitCode !== null) continue;
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await during(bench.progress, 'starting workers for empty runs', async () => {
      const { code } = await bundleWorkflowCode({
        workflowsPath: fileURLToPath(new URL('../floor/workflows.js', import.meta.url)),
        logger: new DefaultLogger('ERROR'),
      });
      await writeFile(bundle, code);
      const program = fileURLToPath(new URL('../floor/worker.js', import.meta.url));
      for (const role of ['work', 'status']) {
        const child = fork(program, [role, temporal.address, temporal.namespace, bundle], {
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        });
        children[role] = child;
        const ended = once(child, 'exit').then(([code]) => {
          throw new Error(`the worker of empty runs ended with ${String(code)}`);
        });
        ended.catch(() => undefined);
        await within(
          READY_MS,
          () => 'the worker of empty runs is not ready',
          Promise.race([once(child, 'message'), ended]),
        );
      }
    });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    pids: { worker: children['work']?.pid ?? 0, bridge: children['status']?.pid ?? 0 },
    close,
  };
}

async function measureShape(
  bench: Bench,
  workers: Workers,
  shape: (typeof SHAPES)[number],
): Promise<Figure[]> {
  const { name } = shape;
  const many = Math.max(3, Math.round(bench.size('runs') * shape.share));
  const few = Math.max(3, Math.round(many / 6));
  await startEmpty(bench, shape, { count: WARM_UP, parallel: 1, text: `${name}, warming up` });
  const single = await startEmpty(bench, shape, { count: few, parallel: 1, text: `${name}, one at a time` });
  const engine = Object.entries(await bench.system.pids()).filter(([name]) => ENGINE.has(name));
  const pids = { ...workers.pids, ...Object.fromEntries(engine) };
  const before = await cpuOf(pids);
  const own = process.cpuUsage();
  const begun = performance.now();
  await startEmpty(bench, shape, { count: many, parallel: many, text: `${name}, ${many} at once` });
  const seconds = (performance.now() - begun) / 1000;
  const used = process.cpuUsage(own);
  const after = await cpuOf(pids);
  // The bridge holds the client in a real run.
  const client = (used.user + used.system) / 1e6;
  const cpu = Object.keys(after).map((process): [string, number] => [
    process,
    (after[process] ?? 0) - (before[process] ?? 0) + (process === 'bridge' ? client : 0),
  ]);
  return [
    ...timesOf(name, single),
    { name: `${name} throughput`, value: (many / seconds) * 60, unit: 'runs/min', better: 'higher' },
    ...(cpu.length === 0
      ? []
      : [
          {
            name: `${name} CPU per run`,
            value: cpu.reduce((total, [, value]) => total + value, 0) / many,
            unit: 'CPU s' as const,
            better: 'lower' as const,
          },
          ...cpu.map(([process, value]): Figure => ({
            name: `${name} CPU per run, ${process}`,
            value: value / many,
            unit: 'CPU s',
            better: 'lower',
          })),
        ]),
  ];
}

/** What scenario `concurrency` does, beneath. */
async function measureWaiting(bench: Bench): Promise<Figure> {
  const count = bench.size('waiting');
  const begun = performance.now();
  await startEmpty(
    bench,
    { stages: 1, actions: 1, waitMs: bench.size('wait-ms') },
    { count, parallel: count, text: `${count} at once that wait` },
  );
  return {
    name: 'waiting, all ended after',
    value: (performance.now() - begun) / 1000,
    unit: 's',
    better: 'lower',
  };
}

async function cpuOf(pids: Record<string, number>): Promise<Record<string, number>> {
  const read = await Promise.all(
    Object.entries(pids).map(async ([name, pid]) => [name, (await usageOf(pid))?.cpuSeconds] as const),
  );
  return Object.fromEntries(read.filter((entry): entry is [string, number] => entry[1] !== undefined));
}

/** Milliseconds of each run from its start to its result. */
async function startEmpty(
  bench: Bench,
  { stages, actions, waitMs = 0 }: Omit<FloorInput, 'waitMs'> & { waitMs?: number },
  options: { count: number; parallel: number; text: string },
): Promise<number[]> {
  const client = bench.system.temporal?.client;
  if (client === undefined) throw new Error('no Temporal is named');
  const times: number[] = [];
  const stamp = `floor-${Date.now()}`;
  const input: FloorInput = { stages, actions, waitMs };
  await during(
    bench.progress,
    options.text,
    () =>
      within(
        120_000 + options.count * 5000,
        () => `only ${times.length} of ${options.count} empty runs have ended`,
        forAll(
          Array.from({ length: options.count }, (_, index) => index),
          async (index) => {
            const begun = performance.now();
            await client.workflow.execute(FLOOR.parent, {
              workflowId: `${stamp}-${index}`,
              taskQueue: FLOOR.workQueue,
              args: [input],
            });
            times.push(performance.now() - begun);
          },
          options.parallel,
        ),
      ),
    () => `${times.length}/${options.count}`,
  );
  return times;
}
