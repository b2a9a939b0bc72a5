/**
 * Bridges and workers, two of each, that are killed at random under load: no run waits longer for it than it takes to notice
 * (a Wait 30 s), none is lost, none acts twice. Behind a Service the API server reaches the other bridge; here admission is off.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { table } from '../../../client/cli/core/render/table.js';
import { startRecorder } from '../../support/recorder.js';
import type { Recorder } from '../../support/recorder.js';
import { openStack } from '../../support/stack.js';
import type { Stack } from '../../support/stack.js';
import { tell } from '../sizes.js';
import { checkOnce, drive, prepareLane, SHAPES } from './lanes.js';
import type { Shape, Timed } from './lanes.js';
import { ROLES, startReplicas } from './replicas.js';
import type { Replicas, Role } from './replicas.js';

const seconds = (name: string, fallback: number): number => Number(process.env[name] ?? fallback) * 1000;
/** Without a kill: what runs take by themselves. */
const CALM_MS = seconds('DROVER_BIG_CALM_SECONDS', 40);
const KILLING_MS = seconds('DROVER_BIG_KILLING_SECONDS', 240);
/** Lanes of each shape. */
const LANES = 2;
/**
 * Longest that a run may wait for a kill, by shape: 8 s until an attempt without a sign of life is lost, half a second until
 * the next one, 3 s until another worker may take a run that the dead one had in its cache, and the rest for a busy
 * machine. A Wait gives fewer signs.
 */
const BOUND_MS: Record<Shape, number> = { calls: 15_000, object: 15_000, job: 15_000, wait: 37_000 };
/** A killed program stays away for so long, so that another one has to take over. */
const AWAY_MS = { least: 6_000, most: 14_000 };
/** After it is back: a run meets one kill at most. */
const REST_MS = { least: 10_000, most: 16_000 };

interface Kill {
  role: Role;
  name: string;
  at: number;
}

let replicas: Replicas;
let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  recorder = await startRecorder();
  const dataDir = await mkdtemp(join(tmpdir(), 'drover-availability-'));
  replicas = await startReplicas({ dataDir, count: 2, log: tell });
  stack = await openStack('availability', { at: replicas });
});
afterAll(async () => {
  await stack?.close();
  await replicas?.close();
  await recorder?.close();
});

const between = ({ least, most }: { least: number; most: number }): number =>
  least + Math.random() * (most - least);
const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;

/** Kills one after the other until the time is up. */
async function killAtRandom(until: number): Promise<Kill[]> {
  const kills: Kill[] = [];
  while (Date.now() < until) {
    const role = pick(ROLES);
    const victim = pick(replicas.of(role));
    victim.hold();
    kills.push({ role, name: victim.name, at: Date.now() });
    await victim.kill('SIGKILL');
    await sleep(between(AWAY_MS));
    victim.release();
    await victim.whenReady();
    await sleep(between(REST_MS));
  }
  return kills;
}

const took = ({ from, to }: Timed): number => to - from;
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const inSeconds = (ms: number): string => (ms / 1000).toFixed(1);

/** How much longer than usual a run took. */
const waited = (run: Timed, usual: ReadonlyMap<Shape, number>): number =>
  Math.max(0, took(run) - (usual.get(run.shape) ?? 0));

describe('two bridges and two workers', () => {
  it('carry every run on while they are killed at random: none waits long, none is lost, none acts twice [S5.53]', async () => {
    const runs: Timed[] = [];
    let isOver = false;
    const lanes = SHAPES.flatMap((shape) =>
      Array.from({ length: LANES }, (_, index) => ({ shape, plan: `${shape}-${index}` })),
    );
    await Promise.all(lanes.map(({ shape, plan }) => prepareLane(stack, recorder, shape, plan)));
    const driving = Promise.all(
      lanes.map((lane) =>
        drive(stack, { ...lane, isOver: () => isOver, onEnd: (run) => void runs.push(run) }),
      ),
    );
    await Promise.race([driving, sleep(CALM_MS)]);
    const calm = runs.splice(0);
    const usual = new Map(
      SHAPES.map((shape) => [shape, median(calm.filter((run) => run.shape === shape).map(took))]),
    );
    const kills = await killAtRandom(Date.now() + KILLING_MS);
    isOver = true;
    await driving;

    for (const line of tableOf(runs, usual, kills)) tell(line);
    expect(kills.length).toBeGreaterThanOrEqual(Math.floor(KILLING_MS / 40_000));
    for (const run of [...calm, ...runs]) await checkOnce(stack, recorder, run);
    const late = runs
      .filter((run) => waited(run, usual) > BOUND_MS[run.shape])
      .map((run) => `${run.execution.metadata.name} (${run.shape}): ${inSeconds(waited(run, usual))} s`);
    expect(late).toEqual([]);
  });
});

/** The kill that a run has met first: one that waits may find out late that nobody waits for it any more. */
const metBy = ({ shape, from, to }: Timed, kills: readonly Kill[]): Kill | undefined =>
  kills.find(({ at }) => from - (shape === 'wait' ? BOUND_MS.wait : 0) <= at && at <= to);

/** What each kill cost whom. */
function tableOf(
  runs: readonly Timed[],
  usual: ReadonlyMap<Shape, number>,
  kills: readonly Kill[],
): string[] {
  const rows = ROLES.flatMap((role) =>
    SHAPES.map((shape) => {
      const met = runs.filter((run) => run.shape === shape && metBy(run, kills)?.role === role);
      const waits = met.map((run) => waited(run, usual));
      const of = kills.filter((kill) => kill.role === role).length;
      return [
        role,
        String(of),
        shape,
        inSeconds(usual.get(shape) ?? 0),
        String(met.length),
        inSeconds(median(waits)),
        inSeconds(Math.max(0, ...waits)),
        String(BOUND_MS[shape] / 1000),
      ];
    }),
  );
  const header = ['KILLED', 'TIMES', 'RUNS OF', 'USUALLY s', 'MET IT', 'WAITED s', 'LONGEST s', 'BOUND s'];
  return table(header, rows);
}
