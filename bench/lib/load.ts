/** Generates load: plans in advance, then runs, and one watch that sees them end. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../kube/object.js';
import type { Acceptance, PlannedRun, RunPhase, RunShape } from '../peers/peer.js';
import type { Bench } from './bench.js';
import { watchObjects } from './object-watch.js';
import type { ObjectWatch, Seen } from './object-watch.js';
import { during } from './progress.js';

/** Requests that the load generator has open at once. */
const PARALLEL = 24;
/** A controller that has just read the last plan is given this long to become quiet. */
const QUIET_MS = 1000;
const MINUTE = 60_000;

/** Runs `work` for every item, up to `parallel` at once, in order. @throws the first failure, once the others are done */
export async function forAll<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
  parallel = PARALLEL,
): Promise<void> {
  const left = items.values();
  const failures: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (const item of left) {
      if (failures.length > 0) return;
      await work(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
}

/** Fails with `message` when the work takes longer. */
export async function within<T>(ms: number, message: () => string, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = sleep(ms, undefined, { signal: over.signal }).then(() => {
    throw new Error(`${message()} within ${Math.round(ms / 1000)} s`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

/** Creates objects, and waits until the controller has accepted those that it says so of. */
async function createAccepted(
  { peer, system, progress }: Bench,
  options: { objects: KubeObject[]; acceptance: Acceptance | undefined; namespace: string; text: string },
): Promise<void> {
  const { objects, acceptance, namespace, text } = options;
  if (objects.length === 0) return;
  const watch =
    acceptance === undefined
      ? undefined
      : await watchObjects<KubeObject>(system.kube, acceptance.type, namespace);
  const awaited = objects.filter(({ kind }) => kind === acceptance?.type.kind);
  const counter = { accepted: 0 };
  const all = Promise.all(
    awaited.map(async ({ metadata: { name } }) => {
      await watch?.until(name, (object) => acceptance?.isAccepted(object) ?? true);
      counter.accepted += 1;
    }),
  );
  all.catch(() => undefined);
  try {
    await during(
      progress,
      text,
      async () => {
        await forAll(objects, (object) => system.kube.create(object));
        await within(
          MINUTE + objects.length * 500,
          () =>
            `only ${counter.accepted} of ${awaited.length} ${acceptance?.type.kind} were accepted by ${peer.title}`,
          all,
        );
      },
      () => `${counter.accepted}/${awaited.length}`,
    );
  } finally {
    await watch?.close();
  }
}

/** Makes the plans of runs, and waits until the controller has accepted them. Not part of what is measured. */
export async function prepareRuns(
  bench: Bench,
  options: { shape: RunShape; count: number; prefix?: string; namespace?: string; variants?: number },
): Promise<PlannedRun[]> {
  const { peer, recorder } = bench;
  const namespace = options.namespace ?? (await bench.namespace());
  const variants = options.variants ?? 1;
  const runs = Array.from({ length: options.count }, (_, index): PlannedRun => ({
    name: `${options.prefix ?? 'run'}-${index}`,
    namespace,
    shape: options.shape,
    variant: index % variants,
    url: recorder.url,
  }));
  // Some controllers judge a plan once only: what it refers to has to be accepted before it.
  await createAccepted(bench, {
    objects: runs.slice(0, variants).flatMap((run) => peer.shared(run)),
    acceptance: peer.sharedAccepted,
    namespace,
    text: 'preparing what the runs share',
  });
  await createAccepted(bench, {
    objects: runs.flatMap((run) => peer.plan(run)),
    acceptance: peer.accepted,
    namespace,
    text: `preparing ${options.count} runs`,
  });
  await sleep(QUIET_MS);
  return runs;
}

/** A run that has ended. Times are of `performance.now()`. */
export interface EndedRun {
  run: PlannedRun;
  phase: RunPhase;
  object: KubeObject;
  createdAt: number;
  endedAt: number;
}

/** The watch that runs are seen by. */
export const watchRuns = (bench: Bench, namespace: string): Promise<ObjectWatch<KubeObject>> =>
  watchObjects<KubeObject>(bench.system.kube, bench.peer.runType, namespace);

/** Creates a run; the moment is that of the API server's answer. */
export async function createRun(bench: Bench, run: PlannedRun): Promise<number> {
  await bench.system.kube.create(bench.peer.run(run));
  return performance.now();
}

/** Resolves when the watch has seen the run end. */
export const whenEnded = (
  bench: Bench,
  watch: ObjectWatch<KubeObject>,
  run: PlannedRun,
): Promise<Seen<KubeObject>> => watch.until(run.name, (object) => isTerminal(bench.peer.phase(object)));

export const isTerminal = (phase: RunPhase): boolean => phase !== 'running';

/**
 * Creates runs and waits until all have ended, one at a time or all at once.
 *
 * @param options.tolerant gives those that have ended in time, instead of an error when some have not
 * @throws Error that tells how many have not ended in time
 */
export async function execute(
  bench: Bench,
  runs: readonly PlannedRun[],
  options: { parallel: number; limitMs: number; text: string; tolerant?: boolean },
): Promise<EndedRun[]> {
  const { peer, progress } = bench;
  const watch = await watchRuns(bench, runs[0]?.namespace ?? '');
  const ended: EndedRun[] = [];
  const one = async (run: PlannedRun): Promise<void> => {
    const end = whenEnded(bench, watch, run);
    end.catch(() => undefined);
    const createdAt = await createRun(bench, run);
    const follow = end.then(({ object, at }) => {
      ended.push({ run, phase: peer.phase(object), object, createdAt, endedAt: Math.max(at, createdAt) });
    });
    if (options.parallel === 1) await follow;
    else all.push(follow);
  };
  const all: Promise<void>[] = [];
  try {
    await during(
      progress,
      options.text,
      () =>
        within(
          options.limitMs,
          () => `${runs.length - ended.length} of ${runs.length} runs have not ended`,
          (async () => {
            await forAll(runs, one, options.parallel);
            await Promise.all(all);
          })(),
        ),
      () => `${ended.length}/${runs.length}`,
    );
  } catch (error) {
    if (options.tolerant !== true) throw error;
    bench.note((error as Error).message);
  } finally {
    await watch.close();
  }
  if (watch.gaps > 0) bench.note(`the watch had ${watch.gaps} gaps: some ends were seen late`);
  return ended;
}

/** @throws Error when a run did not succeed: what it took then says nothing */
export function expectSuccess(bench: Bench, ended: readonly EndedRun[]): void {
  const bad = ended.filter(({ phase }) => phase !== 'succeeded');
  const [first] = bad;
  if (first === undefined) return;
  throw new Error(
    `${bad.length} of ${ended.length} runs did not succeed; ${first.run.name} ended ${first.phase}: ` +
      `${bench.peer.explain(first.object)}`,
  );
}

/** Milliseconds from the answer to `create` to the terminal phase. */
export const latencies = (ended: readonly EndedRun[]): number[] =>
  ended.map(({ createdAt, endedAt }) => endedAt - createdAt);

/** Seconds from the first creation to the last end. */
export const wallSeconds = (ended: readonly EndedRun[], begun: number): number =>
  (Math.max(...ended.map(({ endedAt }) => endedAt)) - begun) / 1000;
