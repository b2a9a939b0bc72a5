/** Finds the engine of an operation and makes it ready (T2.4, T6.1). */
import { readFile } from 'node:fs/promises';
import { findEngines, fileDigest } from '../runtime/engines.js';
import {
  chooseEngine,
  compareEngineVersions,
  type EngineIdentity,
  type FoundEngine,
} from '../api/terraform/engine.js';
import type { StateFacts } from '../api/terraform/state.js';
import type { Context, ReadyEngine, RunStep } from './context.js';
import { runEngine } from './engine-process.js';
import { writeDurably } from '../runtime/durable-files.js';
import { Refused, orRefused } from './refused.js';

/** From these versions on `init` writes JSON too. */
const INIT_JSON: Record<FoundEngine['name'], string> = { terraform: '1.9.0', opentofu: '1.8.0' };

/** Finds the engine that was asked for; of an apply, the very program that made the plan. @throws Refused `EngineNotFound` */
export async function findEngine(context: Context): Promise<{ identity: EngineIdentity; program: string }> {
  const { order, env } = context;
  const wanted = order.operation.engine;
  const found = order.engine === undefined ? (await findEngines(env)).engines : [order.engine];
  const { engine } = orRefused(chooseEngine(found, wanted));
  const digest = await fileDigest(engine.path).catch((error: unknown) => {
    throw new Refused({ reason: 'EngineNotFound', message: `${engine.path}: ${String(error)}` });
  });
  if (wanted.digest !== undefined && wanted.digest !== digest) {
    throw new Refused({
      reason: 'EngineNotFound',
      message:
        `${engine.path} is ${engine.name} ${engine.version} with digest ${digest}; ` +
        `the plan was made by one with digest ${wanted.digest}, and only that may apply it`,
    });
  }
  return { identity: { name: engine.name, version: engine.version, digest }, program: engine.path };
}

/** @throws Refused `EngineTooOld` where a newer engine has written the state */
export function checkStateVersion({ name, version }: EngineIdentity, facts: StateFacts | undefined): void {
  if (facts === undefined || !/^\d+\.\d+\.\d+/.test(facts.engineVersion)) return;
  if (compareEngineVersions(facts.engineVersion, version) <= 0) return;
  throw new Refused({
    reason: 'EngineTooOld',
    message: `the state was written by version ${facts.engineVersion}; ${name} here is ${version}`,
  });
}

/** Runs one command of an engine after the other, each under the operation's interrupt. */
export function stepsOf(context: Context, engine: ReadyEngine): RunStep {
  const { paths, interruption, times } = context;
  return (args, options = {}) =>
    runEngine({
      program: engine.program,
      args,
      folder: engine.folder,
      env: engine.env,
      out: options.out ?? paths.out,
      err: paths.err,
      interruption,
      timeoutMs: options.timeoutMs,
      killAfterMs: times.kill,
      isKilledBySelf: options.isKilledBySelf ?? true,
      beforeInterrupt: () => writeDurably(paths.interrupted, JSON.stringify(interruption.cause())),
      ...(options.started !== undefined && { started: options.started }),
    });
}

/**
 * Makes the engine ready to plan or apply. Its own state is a local file: a backend that slipped through the scan of the
 * configuration is not made ready, and a plan then fails.
 *
 * @throws Refused `InitFailed`
 */
export async function initialize(
  context: Context,
  engine: ReadyEngine,
  options: { isLocked: boolean },
): Promise<void> {
  const { name, version } = engine.identity;
  const hasJson = compareEngineVersions(version, INIT_JSON[name]) >= 0;
  context.pulse.step = 'init';
  const end = await stepsOf(
    context,
    engine,
  )([
    ...['init', '-input=false', '-backend=false', hasJson ? '-json' : '-no-color'],
    ...(options.isLocked ? ['-lockfile=readonly'] : []),
  ]);
  if (end.kind === 'exited' && end.code === 0) return;
  const [error] = context.progress.diagnostics();
  const how = end.kind === 'exited' ? `exit code ${end.code}` : `it was ended by ${end.signal}`;
  const told = error ?? (await plainError(context));
  throw new Refused({ reason: 'InitFailed', message: `init: ${told === undefined ? how : told.summary}` });
}

/** The first error in the text of an engine that writes no JSON at its init. */
async function plainError({ paths, secrets }: Context): Promise<{ summary: string } | undefined> {
  const text = await readFile(paths.out, 'utf8').catch(() => '');
  const err = await readFile(paths.err, 'utf8').catch(() => '');
  const [, summary] = /^[│|\s]*Error: (.+)$/m.exec(`${text}\n${err}`) ?? [];
  return summary === undefined ? undefined : { summary: secrets.redact(summary) };
}
