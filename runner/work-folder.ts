/** Makes the folder in which the engine works: the configuration of the snapshot and nothing else (T5.1, T5.3, T8.1). */
import { readFile, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { refuseConfig, isConfigFile, type ConfigFile } from '../api/terraform/config-scan.js';
import { canonicalJson } from '../api/core/json.js';
import type { Variable } from '../api/terraform/operation-terms.js';
import { variableFile } from '../api/terraform/variables.js';
import { unpackArchive } from './archive-files.js';
import type { Context } from './context.js';
import { folderPaths, readText } from './folder.js';
import { PRIVATE_FILE, makePrivate } from '../runtime/durable-files.js';
import { fetchArtefact } from './inputs.js';
import { Refused, orRefused } from './refused.js';

/** Name of the file that says which providers were chosen. */
export const LOCK_FILE = '.terraform.lock.hcl';

/** Fetches and unpacks the configuration. @returns where the engine is to work */
export async function makeWorkFolder(context: Context): Promise<string> {
  const { order, paths, log } = context;
  const archive = join(paths.root, 'archive.tar');
  if (!(await fetchArtefact(context, 'archive', archive))) {
    throw new Refused({ reason: 'FetchFailed', message: 'the operation has no configuration' });
  }
  await rm(paths.work, { recursive: true, force: true });
  await makePrivate(paths.work);
  const { leftOut } = orRefused(await unpackArchive(archive, paths.work));
  await rm(archive);
  if (leftOut.length > 0) log.info({ leftOut }, 'files of engines in the configuration are left out');
  const folder = await workdirOf(paths.work, order.operation.workdir);
  const refusal = refuseConfig(await configFiles(folder));
  if (refusal !== undefined) throw new Refused(refusal);
  return folder;
}

/** The folder inside the configuration that was asked for. */
export async function workdirOf(work: string, workdir: string): Promise<string> {
  const folder = join(work, workdir);
  const isThere = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const root = await realpath(work);
  const real = isThere ? await realpath(folder) : undefined;
  if (real === undefined || relative(root, real).startsWith('..')) {
    throw new Refused({
      reason: 'InvalidConfiguration',
      message: `workdir is ${JSON.stringify(workdir)}; the configuration has no such folder`,
    });
  }
  return real;
}

async function configFiles(folder: string): Promise<ConfigFile[]> {
  const names = (await readdir(folder)).filter(isConfigFile);
  return Promise.all(
    names.map(async (name) => ({ name, text: await readFile(join(folder, name), 'utf8').catch(() => '') })),
  );
}

/** Writes the values of terraform variables. @returns arguments that name the file */
export async function writeVariables(context: Context, variables: readonly Variable[]): Promise<string[]> {
  const text = variableFile(variables);
  if (text === '') return [];
  await writeFile(context.paths.variables, text, { mode: PRIVATE_FILE });
  return [`-var-file=${context.paths.variables}`];
}

/** What a folder was made from: equal only for a folder that needs no fetching and no init. */
const sourceOf = ({ order }: Context, lockDigest: string | undefined, engine: string): string =>
  canonicalJson({
    archive: order.operation.inputs.archive ?? null,
    workdir: order.operation.workdir,
    lockFile: lockDigest ?? null,
    engine,
  });

/** Notes what the folder was made from, once a plan was made in it. */
export async function noteSource(
  context: Context,
  made: { lockDigest: string | undefined; engineDigest: string },
): Promise<void> {
  const text = sourceOf(context, made.lockDigest, made.engineDigest);
  await writeFile(context.paths.made, text, { mode: PRIVATE_FILE });
}

/**
 * Goes on in the folder of a plan of the same run on this host, where all that it was made from is the same (T8.1). It
 * stays in its place: paths that the plan has in its values are still right.
 *
 * @returns where the engine is to work, or undefined where there is no such folder
 */
export async function takeOverFolder(context: Context, engineDigest: string): Promise<string | undefined> {
  const { order, paths } = context;
  const { run, inputs, workdir } = order.operation;
  const wanted = sourceOf(context, inputs.planLockFile, engineDigest);
  const parent = join(paths.root, '..');
  for (const name of await readdir(parent)) {
    if (!name.startsWith(`${run}-plan-`)) continue;
    const plan = folderPaths(join(parent, name));
    if ((await readText(plan.made)) !== wanted) continue;
    await rm(paths.work, { recursive: true, force: true });
    await symlink(plan.work, paths.work);
    return workdirOf(paths.work, workdir);
  }
  return undefined;
}
