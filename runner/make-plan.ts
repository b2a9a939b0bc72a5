/** Makes a plan and brings it to the server (T6.1, T6.2). */
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_PLAN_BYTES } from '../api/terraform/bounds.js';
import type { EngineEnd } from '../api/terraform/operation-result.js';
import type { ArtefactName, Digest } from '../api/terraform/operation-terms.js';
import type { PlanOptions } from '../api/terraform/operation.js';
import type { PlanFacts } from '../api/terraform/plan-facts.js';
import { createPlanReader } from '../api/terraform/plan-json.js';
import { fileDigest } from '../runtime/engines.js';
import type { Context, ReadyEngine } from './context.js';
import { stepsOf } from './engine-setup.js';
import { exists } from '../runtime/durable-files.js';
import { Refused, orRefused } from './refused.js';
import { untilAnswered } from './retry.js';
import { LOCK_FILE } from './work-folder.js';

/** A plan as it was made. */
export interface MadePlan {
  end: EngineEnd;
  facts?: PlanFacts;
  written?: Partial<Record<'planFile' | 'planJson' | 'planLockFile', Digest>>;
}

/** Exit codes of `plan -detailed-exitcode`. */
const NO_CHANGES = 0;
const CHANGES = 2;

/**
 * Makes a plan.
 *
 * @param varArgs arguments that name the variables
 * @throws Refused `UnknownPlanFormat`, `PlanNotSaved`
 */
export async function makePlan(
  context: Context,
  engine: ReadyEngine,
  varArgs: readonly string[],
): Promise<MadePlan> {
  const { order, paths, interruption } = context;
  const run = stepsOf(context, engine);
  context.pulse.step = 'planning';
  const end = await run(
    [
      ...['plan', '-json', '-input=false', '-detailed-exitcode', `-out=${paths.plan}`],
      ...modeArguments(order.operation.plan),
      ...varArgs,
    ],
    { timeoutMs: order.operation.timeoutMs },
  );
  const hasEnded = end.kind === 'exited' && (end.code === NO_CHANGES || end.code === CHANGES);
  if (!hasEnded || interruption.cause() !== undefined) {
    // An interrupted plan leaves a file too, with half of what is to be done.
    await rm(paths.plan, { force: true });
    return { end };
  }
  context.pulse.step = 'saving_plan';
  const shown = await run(['show', '-json', paths.plan], { out: paths.planJson });
  if (shown.kind !== 'exited' || shown.code !== 0) {
    throw new Refused({ reason: 'UnknownPlanFormat', message: 'the engine could not show its own plan' });
  }
  const { plan } = orRefused(await readPlan(paths.planJson));
  const written = await storePlan(context, engine.folder);
  return { end, facts: { ...plan, hasChanges: end.code === CHANGES }, written };
}

function modeArguments({ mode, targets, replace }: PlanOptions): string[] {
  const flags = { normal: [], destroy: ['-destroy'], refreshOnly: ['-refresh-only'] }[mode];
  return [
    ...flags,
    ...targets.map((address) => `-target=${address}`),
    ...replace.map((address) => `-replace=${address}`),
  ];
}

async function readPlan(path: string): Promise<ReturnType<ReturnType<typeof createPlanReader>['end']>> {
  const reader = createPlanReader();
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 18 })) {
    if (!reader.push(chunk as Buffer)) break;
  }
  return reader.end();
}

/** Stores what a plan has left, and reads it back. @throws Refused `PlanNotSaved` */
async function storePlan(context: Context, folder: string): Promise<NonNullable<MadePlan['written']>> {
  const { paths } = context;
  const lockFile = join(folder, LOCK_FILE);
  const hasLock = await exists(lockFile);
  return {
    planFile: await storeArtefact(context, 'planFile', paths.plan),
    planJson: await storeArtefact(context, 'planJson', paths.planJson),
    ...(hasLock && { planLockFile: await storeArtefact(context, 'planLockFile', lockFile) }),
  };
}

async function storeArtefact(context: Context, name: ArtefactName, path: string): Promise<Digest> {
  const { client, times, interruption } = context;
  const refuse = (message: string): Refused =>
    new Refused({ reason: 'PlanNotSaved', message: `${name}: ${message}` });
  const { size } = await stat(path);
  if (size > MAX_PLAN_BYTES) throw refuse(`it has ${size} bytes; allowed are ${MAX_PLAN_BYTES}`);
  const digest = await fileDigest(path);
  const limits = { forMs: times.transfer, isOver: () => interruption.cause() !== undefined };
  try {
    await untilAnswered(() => client.storeArtefact(name, path, digest), limits);
    const stored = await untilAnswered(() => client.artefactDigest(name), limits);
    if (stored === digest) return digest;
    throw refuse(`digest ${stored} was read back; stored was ${digest}`);
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw refuse(error instanceof Error ? error.message : String(error));
  }
}
