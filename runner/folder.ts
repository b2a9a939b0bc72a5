/** The folder of an operation: all that is known of it on its host, written so that a crash leaves nothing half (T7.2). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '../api/core/json.js';
import type { InterruptCause, OperationResult } from '../api/terraform/operation-result.js';
import type { RunnerIdentity } from '../api/terraform/operation-terms.js';
import { FOLDER_FILES, type RunnerOrder } from '../api/terraform/runner-order.js';

/** Paths in an operation's folder. */
export type FolderPaths = Record<
  | keyof typeof FOLDER_FILES
  | 'root'
  | 'work'
  | 'made'
  | 'plan'
  | 'planJson'
  | 'home'
  | 'temp'
  | 'cliConfig'
  | 'variables'
  | 'variablesJson',
  string
>;

/** The paths; creates nothing. */
export function folderPaths(root: string): FolderPaths {
  const files = Object.fromEntries(
    Object.entries(FOLDER_FILES).map(([name, file]) => [name, join(root, file)]),
  ) as Record<keyof typeof FOLDER_FILES, string>;
  return {
    ...files,
    root,
    /** The configuration, and what the engine makes beside it. */
    work: join(root, 'work'),
    /** What `work` was made from. */
    made: join(root, 'work.json'),
    plan: join(root, 'plan.bin'),
    planJson: join(root, 'plan.json'),
    home: join(root, 'home'),
    temp: join(root, 'tmp'),
    cliConfig: join(root, 'engine.tfrc'),
    variables: join(root, 'variables.tfvars'),
    variablesJson: join(root, 'variables.json'),
  };
}

/** What is known of an operation from its folder alone. */
export interface FolderContent {
  runner?: RunnerIdentity;
  isSpawning: boolean;
  engine?: { pid: number; startTime: string };
  interrupted?: InterruptCause;
  result?: OperationResult;
}

/** Reads what a runner has left so far. */
export async function readFolder(paths: FolderPaths): Promise<FolderContent> {
  const [runner, spawning, engine, interrupted, result] = await Promise.all(
    [paths.lock, paths.spawning, paths.engine, paths.interrupted, paths.result].map(readText),
  );
  const json = <T>(text: string | undefined): T | undefined =>
    text === undefined ? undefined : (parseJson(text) as T | undefined);
  return {
    runner: json(runner),
    isSpawning: spawning !== undefined,
    engine: json(engine),
    interrupted: json(interrupted),
    result: json(result),
  };
}

/** @throws Error that names the file, and never what is in it */
export async function readOrder(paths: FolderPaths): Promise<RunnerOrder> {
  const value = parseJson(await readFile(paths.order, 'utf8'));
  if (value === undefined) throw new Error(`${paths.order} is not JSON`);
  return value as RunnerOrder;
}

/** The text of a file; undefined where there is none. @throws Error for any other reason */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
