import { exec } from 'node:child_process';
import { promisify } from 'node:util';
import type { Bench, Scenario } from '../lib/bench.js';
import type { Figure } from '../lib/figures.js';
import { createRun, prepareRuns, watchRuns, whenEnded, within } from '../lib/load.js';
import { during } from '../lib/progress.js';
import type { Call } from '../lib/recorder.js';
import type { PlannedRun } from '../peers/peer.js';

const SHAPE = { stages: 3, actions: 3 };
/** Calls that have begun when the process is killed: in the middle of the run, in the middle of a call. */
const KILL_AT = 5;

export const resume: Scenario = {
  name: 'resume',
  summary: 'kill -9 in the middle of a 3x3 run whose calls take 1 s',
  sizes: { 'call-ms': { value: 1000, meaning: 'milliseconds of a call' } },
  peers: true,
  needs: 'processes',
  async run(bench) {
    const delay = bench.size('call-ms');
    const victims = victimsOf(bench);
    const planned = await prepareRuns(bench, { shape: { ...SHAPE, delay }, count: victims.length });
    const figures: Figure[] = [];
    for (const [index, victim] of victims.entries()) {
      const run = planned[index];
      if (run === undefined) throw new Error('no run was planned');
      figures.push(
        ...(await during(bench.progress, `killing the ${victim.name}`, () =>
          killOnce(bench, victim, run, delay),
        )),
      );
    }
    return figures;
  },
};

interface Victim {
  name: string;
  kill(): Promise<unknown>;
  restart(): Promise<unknown>;
}

function victimsOf({ system, commands }: Bench): Victim[] {
  const { embedded } = system;
  const { kill, restart } = commands;
  if (kill !== undefined && restart !== undefined) {
    const shell = (command: string) => () => promisify(exec)(command);
    return [{ name: 'controller', kill: shell(kill), restart: shell(restart) }];
  }
  if (embedded === undefined) throw new Error('nothing can be killed here');
  return (['worker', 'bridge'] as const).map((name) => ({
    name,
    kill: () => embedded.kill(name),
    restart: () => embedded.restore(),
  }));
}

async function killOnce(bench: Bench, victim: Victim, run: PlannedRun, delay: number): Promise<Figure[]> {
  const { recorder, peer } = bench;
  const path = `/${run.name}/`;
  const watch = await watchRuns(bench, run.namespace);
  try {
    const ended = whenEnded(bench, watch, run);
    ended.catch(() => undefined);
    const reached = new Promise<void>((resolve) => {
      const stop = recorder.onCall(() => {
        if (recorder.under(path).length < KILL_AT) return;
        stop();
        setTimeout(resolve, delay * 0.3);
      });
    });
    await createRun(bench, run);
    await within(120_000, () => `${KILL_AT} calls of ${run.name} have not come`, reached);
    await victim.kill();
    const killedAt = performance.now();
    const before = recorder.under(path).filter(({ at }) => at <= killedAt);
    const known = new Set(before.map((call) => call.path));
    const answered = new Set(
      before.filter(({ answeredAt }) => answeredAt !== undefined).map((call) => call.path),
    );
    const next = new Promise<number>((resolve) => {
      const stop = recorder.onCall((call) => {
        if (!call.path.startsWith(path) || known.has(call.path)) return;
        stop();
        resolve(call.at);
      });
    });
    const restartedAt = performance.now();
    await victim.restart();
    const seen = await within(180_000, () => `${run.name} has not ended after the restart`, ended);
    const after = recorder.under(path).filter(({ at }) => at > killedAt);
    const total = SHAPE.stages * SHAPE.actions;
    const left = ((total - answered.size) * delay) / 1000;
    const name = (text: string): string => `${victim.name} killed: ${text}`;
    return [
      {
        name: name('next new action after'),
        value: ((await next) - killedAt) / 1000,
        unit: 's',
        better: 'lower',
      },
      {
        name: name('restart to end'),
        value: (seen.at - restartedAt) / 1000,
        unit: 's',
        better: 'lower',
      },
      {
        name: name('restart to end beyond the work left'),
        value: (seen.at - restartedAt) / 1000 - left,
        unit: 's',
        better: 'lower',
      },
      {
        name: name('finished actions repeated'),
        value: repeated(after, answered),
        unit: 'calls',
        better: 'lower',
      },
      {
        name: name('calls under way sent again'),
        value: repeated(after, new Set([...known].filter((call) => !answered.has(call)))),
        unit: 'calls',
        better: 'lower',
      },
      {
        name: name('succeeded'),
        value: peer.phase(seen.object) === 'succeeded' ? 1 : 0,
        unit: '',
        better: 'higher',
      },
    ];
  } finally {
    await watch.close();
  }
}

const repeated = (calls: readonly Call[], paths: ReadonlySet<string>): number =>
  calls.filter(({ path }) => paths.has(path)).length;
