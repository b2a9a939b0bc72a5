/**
 * Brings home what a runner has left that is dead (T7.4, T8.6): waits for its engine, which may well be alive, mirrors the
 * state meanwhile, and ends the operation as one whose outcome nobody saw. For the host's worker. May be repeated after
 * its own death at any point: what it does the server does once, or it is in the folder.
 */
import type { Logger } from 'pino';
import { parseJson } from '../api/core/json.js';
import { secretsOf } from '../api/core/redact.js';
import { followEngine } from '../api/terraform/apply-progress.js';
import { MAX_RESOURCE_ROWS } from '../api/terraform/bounds.js';
import type { DeathProof, OperationRecord } from '../api/terraform/operation.js';
import type { FoundState, OperationResult } from '../api/terraform/operation-result.js';
import type { Digest, RunnerIdentity, Variable } from '../api/terraform/operation-terms.js';
import { RUNNER_TIMES, type RunnerOrder, type RunnerTimes } from '../api/terraform/runner-order.js';
import { secretTexts } from '../api/terraform/variables.js';
import { endSession } from '../runtime/session.js';
import { deliver, insist, type Ending } from './deliver.js';
import { folderPaths, readOrder, readText, type FolderContent, type FolderPaths } from './folder.js';
import { writeOnce } from '../runtime/durable-files.js';
import { createInterruption, type Interruption } from './interruption.js';
import { lookAtRunner } from './look.js';
import { statePaths } from './make-apply.js';
import { orphanedEngine } from './orphaned-engine.js';
import { startPulse, type Pulse } from './pulse.js';
import { ServerRefused, type ServerClient } from './server-client.js';
import { readStateFile, readStateInstances, type StateFile } from './state-file.js';
import { mirrorState } from './state-mirror.js';
import { workdirOf } from './work-folder.js';

/** What a salvage works with. */
export interface SalvageOptions {
  folder: string;
  client: ServerClient;
  log: Logger;
}

/** What came of it. */
export type SalvageEnd =
  /** No runner has taken the folder yet, or one is alive: there is nothing to bring home. */
  | { kind: 'free' }
  | { kind: 'running' }
  /** It had not begun, and never will: it may be run elsewhere. */
  | { kind: 'revoked' }
  | { kind: 'over'; record: OperationRecord };

/** An operation without its runner. */
interface Orphan {
  paths: FolderPaths;
  order: RunnerOrder;
  times: RunnerTimes;
  client: ServerClient;
  log: Logger;
  runner: RunnerIdentity;
  content: FolderContent;
  pulse: Pulse;
  interruption: Interruption;
  progress: ReturnType<typeof followEngine>;
  redact: (text: string) => string;
}

/**
 * Ends an operation whose runner is dead.
 *
 * @throws ServerAway; Error where the folder cannot be read
 */
export async function salvage({ folder, client, log }: SalvageOptions): Promise<SalvageEnd> {
  const paths = folderPaths(folder);
  const order = await readOrder(paths);
  const look = await lookAtRunner(paths);
  if (look.kind === 'free' || look.kind === 'running') return { kind: look.kind };
  const { runner, content } = look;
  const proof: DeathProof = look.kind === 'dead' ? look.proof : { kind: 'noProcess', bootId: runner.bootId };
  const times = { ...RUNNER_TIMES, ...order.times };
  const interruption = createInterruption();
  const progress = followEngine();
  const redact = await redactorOf(paths);
  const pulse = startPulse({
    ...{ client, runner, paths, progress, redact, interruption },
    everyMs: times.sync,
    onFailure: (error, inARow) => {
      if (inARow === 1) log.warn({ err: error }, 'the server does not answer; it is tried again each second');
    },
  });
  const orphan: Orphan = {
    ...{ paths, order, times, client, log, runner, content },
    ...{ pulse, interruption, progress, redact },
  };
  try {
    const record = await endOrphan(orphan, proof);
    return record === undefined ? { kind: 'revoked' } : { kind: 'over', record };
  } finally {
    await pulse.stop();
  }
}

/** What was secret to the runner is so here. */
async function redactorOf(paths: FolderPaths): Promise<(text: string) => string> {
  const secrets = secretsOf();
  const variables = parseJson((await readText(paths.variablesJson)) ?? '[]');
  for (const text of secretTexts(Array.isArray(variables) ? (variables as Variable[]) : []))
    secrets.add(text);
  return secrets.redact;
}

/** @returns undefined where the operation had not begun */
async function endOrphan(orphan: Orphan, proof: DeathProof): Promise<OperationRecord | undefined> {
  const { content, client, paths, runner, times } = orphan;
  if (content.result !== undefined) {
    const { result } = content;
    await endSession(runner.pid, times.endSession);
    const statePath = await contentPath(orphan, result.state);
    return conclude(orphan, { state: result.state, statePath }, () => client.result(result));
  }
  if (!content.isSpawning) {
    await endSession(runner.pid, times.endSession);
    const isRevoked = await insist(orphan, 'the operation is not revoked yet', () => revoke(orphan));
    if (isRevoked) return undefined;
    const found = await resultOf(orphan, { isSpawning: false });
    return conclude(orphan, { state: undefined, statePath: paths.state }, () =>
      client.revoke({ kind: 'lost', proof, found }),
    );
  }
  const { state, statePath, result } = await followApply(orphan);
  return conclude(orphan, { state, statePath }, () => client.revoke({ kind: 'lost', proof, found: result }));
}

async function conclude(
  orphan: Orphan,
  ending: Omit<Ending, 'say'>,
  say: () => Promise<{ record: OperationRecord }>,
): Promise<OperationRecord> {
  let record: OperationRecord | undefined;
  await deliver(orphan, {
    ...ending,
    say: async () => {
      ({ record } = await say());
    },
  });
  // Another has said how it ended: then that is what counts.
  return (
    record ?? {
      state: 'ended',
      at: new Date().toISOString(),
      result: await resultOf(orphan, { isSpawning: true }),
    }
  );
}

/** @returns false where it has begun */
async function revoke({ client }: Orphan): Promise<boolean> {
  try {
    await client.revoke({ kind: 'revoke', reason: 'its runner died before it began' });
    return true;
  } catch (error) {
    if (error instanceof ServerRefused && error.reason === 'Begun') return false;
    throw error;
  }
}

/** Does what the runner would have done, but for the exit code, which nobody sees. */
async function followApply(
  orphan: Orphan,
): Promise<{ state: FoundState; statePath: string; result: OperationResult }> {
  const { paths, order, times, client, log, runner, content, interruption, pulse, progress } = orphan;
  const folder = await workdirOf(paths.work, order.operation.workdir);
  const before = await stateBefore(orphan);
  const files = statePaths(folder);
  pulse.step = 'applying';
  const mirror = mirrorState({
    ...files,
    kept: paths.state,
    before: before.file.kind === 'whole' ? before.file : undefined,
    store: (path, digest) => client.storeState(path, digest),
    lookMs: times.mirror,
    onProblem: (problem) => log.warn({ problem }, 'a new content of the state is not stored yet'),
  });
  await orphanedEngine({
    engine: content.engine,
    leader: runner.pid,
    interruption,
    wasInterrupted: content.interrupted !== undefined,
    noteInterrupt: async () => writeOnce(paths.interrupted, JSON.stringify(interruption.cause())),
    killAfterMs: times.kill,
  });
  await endSession(runner.pid, times.endSession);
  pulse.step = 'saving_state';
  const { state, path } = await mirror.finish();
  await pulse.readOutput();
  const after = (await readStateInstances(path)).known;
  const inDoubt = progress.inDoubt(before.known, after);
  const serial = before.file.kind === 'whole' ? before.file.facts.serial : 0;
  const result: OperationResult = {
    ...(await resultOf(orphan, { isSpawning: true })),
    state,
    serialGrew: state.kind === 'whole' && state.facts.serial > serial,
    inDoubt: inDoubt.slice(0, MAX_RESOURCE_ROWS),
    inDoubtCount: inDoubt.length,
  };
  return { state, statePath: path, result };
}

/** The state before the apply: still the newest final one, unless the runner got as far as to store what came after it. */
async function stateBefore(orphan: Orphan): Promise<Awaited<ReturnType<typeof readStateInstances>>> {
  const path = `${orphan.paths.root}/before.json`;
  await insist(orphan, 'the state before the apply is not here yet', () => orphan.client.fetchState(path));
  return readStateInstances(path);
}

/** Where the content is that a result speaks of. */
async function contentPath({ paths, order }: Orphan, state: FoundState | undefined): Promise<string> {
  const digest = digestOf(state);
  if (digest === undefined) return paths.state;
  const { file, erroredFile } = statePaths(await workdirOf(paths.work, order.operation.workdir));
  for (const path of [file, erroredFile]) {
    const found: StateFile = await readStateFile(path);
    if (found.kind === 'whole' && found.digest === digest) return path;
  }
  return paths.state;
}

function digestOf(state: FoundState | undefined): Digest | undefined {
  switch (state?.kind) {
    case 'whole':
      return state.digest;
    case 'torn':
      return state.last?.digest;
    case 'none':
    case undefined:
      return undefined;
  }
}

async function resultOf(orphan: Orphan, { isSpawning }: { isSpawning: boolean }): Promise<OperationResult> {
  const { order, runner, content, interruption, progress, pulse, redact } = orphan;
  await pulse.readOutput();
  const interrupted = content.interrupted ?? interruption.cause();
  const clean = <T>(value: T): T => JSON.parse(redact(JSON.stringify(value))) as T;
  return {
    operation: order.operation.id,
    kind: order.operation.kind,
    runner,
    end: { kind: 'runnerLost', spawning: isSpawning },
    step: pulse.step,
    ...(interrupted !== undefined && { interrupted }),
    diagnostics: clean(progress.diagnostics()),
    moves: clean(progress.moves().slice(0, MAX_RESOURCE_ROWS)),
    inDoubt: [],
    inDoubtCount: 0,
    leftProcesses: 0,
  };
}
