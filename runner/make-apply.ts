/** Applies a plan, and finds what state it leaves (T8.3, T8.4). */
import { join } from 'node:path';
import type { KnownInstances } from '../api/terraform/apply-progress.js';
import type { EngineEnd, FoundState, InDoubt } from '../api/terraform/operation-result.js';
import { endSession } from '../runtime/session.js';
import { processStart } from '../runtime/process-identity.js';
import type { Context, ReadyEngine } from './context.js';
import { stepsOf } from './engine-setup.js';
import { writeDurably } from '../runtime/durable-files.js';
import { lastWhole, readStateInstances, type StateFile } from './state-file.js';
import { mirrorState } from './state-mirror.js';

/** The file that an engine keeps its state in. */
export const STATE_FILE = 'terraform.tfstate';

/** That file in the folder where it works, and the one for what it could not write there. */
export const statePaths = (folder: string): { file: string; erroredFile: string } => ({
  file: join(folder, STATE_FILE),
  erroredFile: join(folder, 'errored.tfstate'),
});

/** A state as it was before an operation. */
export interface StateBefore {
  file: Exclude<StateFile, { kind: 'torn' }>;
  known: KnownInstances;
}

/** What an apply has left. */
export interface MadeApply {
  end: EngineEnd;
  state: FoundState;
  /** Where its last whole content is. */
  statePath: string;
  serialGrew: boolean;
  inDoubt: InDoubt[];
  engineEndedAt: string;
  leftProcesses: number;
}

/**
 * Runs the engine's main step. What tells that it may have begun is on the disk before it is started.
 *
 * @param leader of the session in which it runs; undefined where there is none of its own
 */
export async function makeApply(
  context: Context,
  engine: ReadyEngine,
  before: StateBefore,
  leader: number | undefined,
): Promise<MadeApply> {
  const { order, paths, client, times, pulse, log, progress } = context;
  const first = before.file.kind === 'whole' ? before.file : undefined;
  pulse.step = 'applying';
  await writeDurably(paths.spawning, '');
  const mirror = mirrorState({
    ...statePaths(engine.folder),
    kept: paths.state,
    before: first,
    store: (path, digest) => client.storeState(path, digest),
    lookMs: times.mirror,
    onProblem: (problem) => log.warn({ problem }, 'a new content of the state is not stored yet'),
  });
  const end = await stepsOf(context, engine)(['apply', '-json', '-input=false', paths.plan], {
    timeoutMs: order.operation.timeoutMs,
    isKilledBySelf: false,
    started: async (pid) => {
      const startTime = await processStart(pid);
      await writeDurably(paths.engine, JSON.stringify({ pid, startTime: startTime ?? '' }));
    },
  });
  // What it has left may still write, so it goes first.
  const leftProcesses = leader === undefined ? 0 : await endSession(leader, times.endSession);
  const engineEndedAt = new Date().toISOString();
  pulse.step = 'saving_state';
  const { state, path } = await mirror.finish();
  await pulse.readOutput();
  const last = lastWhole(state);
  const isAsBefore = last === undefined || last.digest === first?.digest;
  const after = isAsBefore ? before.known : (await readStateInstances(path)).known;
  return {
    end,
    state,
    statePath: path,
    serialGrew: last !== undefined && last.facts.serial > (first?.facts.serial ?? 0),
    inDoubt: progress.inDoubt(before.known, after),
    engineEndedAt,
    leftProcesses,
  };
}
