import type { Bench } from './bench.js';
import type { Figure } from './figures.js';
import { historyFigures } from './history.js';
import { execute, expectSuccess, prepareRuns } from './load.js';
import type { EndedRun } from './load.js';
import { measured } from './measure.js';

/** Runs of one shape, and how they are made. */
export interface RunsOptions {
  /** Stages, workflows and actions of a run. */
  shape: Parameters<typeof prepareRuns>[1]['shape'];
  /** Case that the names of the figures begin with, such as `3x3`; empty for none. */
  prefix: string;
  /** Runs that are measured. */
  count: number;
  /** Runs before them, which warm caches and compilers. Default none. */
  warmUp?: number;
  /** Creations at once; 1: each run when the one before has ended. */
  parallel: number;
  /** For the measured runs together, in milliseconds, and for the first ones too. */
  limitMs: number;
  /** What is shown while they run. */
  text: string;
  /** Whether memory is worth a row in the table. Default false. */
  memory?: boolean;
}

/** What came of measured runs. */
export interface MeasuredRuns {
  ended: EndedRun[];
  /** When the first one was created, of `performance.now()`. */
  begun: number;
  /** CPU, memory and API requests, and what the runs have left in Temporal. */
  costs: Figure[];
}

/**
 * Makes runs of one shape, and measures what they cost.
 *
 * @throws Error when one does not succeed, or not in time
 */
export async function measureRuns(bench: Bench, options: RunsOptions): Promise<MeasuredRuns> {
  const { shape, prefix, count, warmUp = 0, parallel, limitMs, memory = false } = options;
  const planned = await prepareRuns(bench, { shape, count: count + warmUp });
  const go = async (runs: typeof planned, text: string): Promise<EndedRun[]> => {
    const ended = await execute(bench, runs, { parallel, limitMs, text });
    expectSuccess(bench, ended);
    return ended;
  };
  if (warmUp > 0) await go(planned.slice(0, warmUp), `${prefix}, warming up`);
  let begun = 0;
  const { value: ended, figures } = await measured(
    bench,
    { prefix, runs: count, ownWrites: count, memory },
    () => {
      begun = performance.now();
      return go(planned.slice(warmUp), options.text);
    },
  );
  const objects = ended.map(({ object }) => object);
  return { ended, begun, costs: [...figures, ...(await historyFigures(bench, prefix, objects))] };
}

/** Size of an object's status as JSON, in KiB. */
export const statusKiB = (object: unknown): number =>
  Buffer.byteLength(JSON.stringify((object as { status?: unknown })?.status ?? {})) / 1024;
