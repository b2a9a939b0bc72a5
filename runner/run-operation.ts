/**
 * Carries out one operation, from its order to its result. What each crash leaves:
 *
 * | The runner dies                   | In the folder                 | Mended by                                              |
 * | --------------------------------- | ----------------------------- | ------------------------------------------------------ |
 * | before `begin`                    | no `spawning`                 | the record is revoked; run elsewhere (T16.2)           |
 * | between `begin` and the engine    | `nonce`, no `spawning`        | `NotStarted`: nothing was done (T8.7)                  |
 * | while the engine works            | `spawning`, no `result.json`  | `salvage`, once the engine is dead too; `RunnerLost`   |
 * | before the state is final         | the same                      | `salvage` makes the last whole content final (T8.6)    |
 * | before the result is stored       | `result.json`                 | `salvage` stores it                                    |
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_RESOURCE_ROWS } from '../api/terraform/bounds.js';
import type { EngineIdentity } from '../api/terraform/engine.js';
import type { EngineEnd, OperationEnd, OperationResult } from '../api/terraform/operation-result.js';
import { endSession, isSessionLeader } from '../runtime/session.js';
import type { Context, ReadyEngine } from './context.js';
import { deliver } from './deliver.js';
import { checkStateVersion, findEngine, initialize } from './engine-setup.js';
import { engineEnvironment, makeEngineHome } from './environment.js';
import { begin, refuseInterrupted } from './fence.js';
import { exists, writeDurably } from '../runtime/durable-files.js';
import { fetchArtefact, fetchState, fetchVariables } from './inputs.js';
import { makeApply, STATE_FILE, type MadeApply, type StateBefore } from './make-apply.js';
import { makePlan, type MadePlan } from './make-plan.js';
import { Refused } from './refused.js';
import { readStateInstances } from './state-file.js';
import { LOCK_FILE, makeWorkFolder, noteSource, takeOverFolder, writeVariables } from './work-folder.js';

/** What is known of an operation so far. */
interface Found {
  /** Of the session that the engine runs in; undefined where the runner leads none. */
  leader?: number;
  engine?: EngineIdentity;
  begunAt?: string;
  /** Whether the engine's main step may have been started. */
  isSpawning: boolean;
  plan?: MadePlan;
  apply?: MadeApply;
  before?: StateBefore;
}

/**
 * Carries an operation out, and brings its result to the server.
 *
 * @throws ServerAway where the server was away for too long; all that there is stays in the folder
 */
export async function runOperation(context: Context): Promise<OperationResult> {
  const { paths, pulse, runner, client, log, times } = context;
  const found: Found = { isSpawning: false };
  if (await isSessionLeader(runner.pid)) found.leader = runner.pid;
  let end: OperationEnd;
  try {
    end = { kind: 'engine', end: await carryOut(context, found) };
  } catch (error) {
    end = endOfError(error, found);
    log.error({ err: error }, 'the operation has ended early');
  }
  const left = found.leader === undefined ? 0 : await endSession(found.leader, times.endSession);
  await pulse.readOutput();
  const result = resultOf(context, found, end, left + (found.apply?.leftProcesses ?? 0));
  await writeDurably(paths.result, JSON.stringify(result)).catch((error: unknown) =>
    log.error({ err: error }, 'the result is not in the folder; it is sent all the same'),
  );
  const statePath = found.apply?.statePath ?? paths.state;
  await deliver(context, { state: result.state, statePath, say: () => client.result(result) });
  return result;
}

/** What an error means: before the main step nothing was done, and after its start nobody knows. */
function endOfError(error: unknown, { isSpawning }: Found): OperationEnd {
  if (error instanceof Refused) return { kind: 'refused', reason: error.reason, message: error.message };
  if (isSpawning) return { kind: 'runnerLost', spawning: true };
  return {
    kind: 'refused',
    reason: 'NotStarted',
    message: error instanceof Error ? error.message : String(error),
  };
}

async function carryOut(context: Context, found: Found): Promise<EngineEnd> {
  const { order, paths } = context;
  const isApply = order.operation.kind === 'apply';
  const variables = await fetchVariables(context);
  const { identity, program } = await findEngine(context);
  found.engine = identity;
  await makeEngineHome(paths, order);
  refuseInterrupted(context);
  const reused = isApply ? await takeOverFolder(context, identity.digest) : undefined;
  const folder = reused ?? (await makeWorkFolder(context));
  const env = engineEnvironment({ paths, passed: order.passEnvironment, variables, own: context.env });
  const engine: ReadyEngine = { identity, program, env, folder };
  const before = await bringState(context, folder);
  found.before = before;
  const facts = before.file.kind === 'whole' ? before.file.facts : { lineage: '', serial: 0 };
  checkStateVersion(identity, before.file.kind === 'whole' ? before.file.facts : undefined);
  if (isApply) refuseStale(context, facts);
  if (reused === undefined) {
    await bringLockFile(context, folder);
    await initialize(context, engine, { isLocked: isApply });
  }
  refuseInterrupted(context);
  if (isApply) await restorePlan(context);
  found.begunAt = await begin(context, { engine: identity, lineage: facts.lineage, serial: facts.serial });
  found.isSpawning = isApply;
  if (isApply) {
    found.apply = await makeApply(context, engine, before, found.leader);
    return found.apply.end;
  }
  found.plan = await makePlan(context, engine, await writeVariables(context, variables));
  const lockDigest = found.plan.written?.planLockFile;
  if (found.plan.facts !== undefined)
    await noteSource(context, { lockDigest, engineDigest: identity.digest });
  return found.plan.end;
}

/** Puts the newest final state where the engine looks for it. @throws Refused `FetchFailed` */
async function bringState(context: Context, folder: string): Promise<StateBefore> {
  const path = join(folder, STATE_FILE);
  await rm(path, { force: true });
  const digest = await fetchState(context, path);
  const { file, known } = await readStateInstances(path);
  if (file.kind === 'torn') {
    throw new Refused({ reason: 'FetchFailed', message: `the stored state is not whole: ${file.problem}` });
  }
  if (file.kind === 'whole' && file.digest !== digest) {
    throw new Refused({ reason: 'FetchFailed', message: 'the state has changed while it was read' });
  }
  return { file, known };
}

/** @throws Refused `StaleState` where the state is not the one that the plan was made from */
function refuseStale({ order }: Context, found: { lineage: string; serial: number }): void {
  const { lineage, serial } = order.operation;
  if (found.lineage === lineage && found.serial === serial) return;
  const name = (each: { lineage: string; serial: number }): string =>
    each.lineage === '' ? 'no state' : `lineage ${each.lineage}, serial ${each.serial}`;
  throw new Refused({
    reason: 'StaleState',
    message: `the plan was made from ${name({ lineage, serial })}; now there is ${name(found)}`,
  });
}

/** The providers of the plan, or those of the last apply where the configuration does not choose any. */
async function bringLockFile(context: Context, folder: string): Promise<void> {
  const path = join(folder, LOCK_FILE);
  if (context.order.operation.kind === 'apply') {
    // What the plan had none of, the apply has none of.
    if (!(await fetchArtefact(context, 'planLockFile', path))) await rm(path, { force: true });
    return;
  }
  if (!(await exists(path))) await fetchArtefact(context, 'lockFile', path);
}

/** Brings the plan file. @throws Refused `FetchFailed` */
async function restorePlan(context: Context): Promise<void> {
  context.pulse.step = 'restoring_plan';
  if (await fetchArtefact(context, 'planFile', context.paths.plan)) return;
  throw new Refused({ reason: 'FetchFailed', message: 'the operation has no plan' });
}

function resultOf(context: Context, found: Found, end: OperationEnd, leftProcesses: number): OperationResult {
  const { order, runner, interruption, pulse, progress, secrets } = context;
  const { engine, begunAt, plan, apply } = found;
  const interrupted = interruption.cause();
  const clean = <T>(value: T): T => JSON.parse(secrets.redact(JSON.stringify(value))) as T;
  return {
    operation: order.operation.id,
    kind: order.operation.kind,
    runner,
    ...(engine !== undefined && { engine }),
    end: clean(end),
    step: pulse.step,
    ...(interrupted !== undefined && { interrupted }),
    diagnostics: clean(progress.diagnostics()),
    ...(apply !== undefined && {
      state: apply.state,
      serialGrew: apply.serialGrew,
      engineEndedAt: apply.engineEndedAt,
    }),
    ...(plan?.facts !== undefined && { plan: plan.facts }),
    ...(plan?.written !== undefined && { written: plan.written }),
    moves: clean(progress.moves().slice(0, MAX_RESOURCE_ROWS)),
    inDoubt: clean((apply?.inDoubt ?? []).slice(0, MAX_RESOURCE_ROWS)),
    inDoubtCount: apply?.inDoubt.length ?? 0,
    leftProcesses,
    ...(begunAt !== undefined && { begunAt }),
  };
}
