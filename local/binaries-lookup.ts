import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { recipeDigest, recipes, type BuildRecipe } from './binaries-build.js';
import { cacheDir } from './paths.js';
import {
  compareVersions,
  formatVersion,
  parseVersion,
  programVersion,
  type Version,
} from './program-version.js';
import { oldestAccepted, versions } from './versions.js';

/** Every program the embedded default needs. */
export const programNames = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
  'kwok',
  'temporal',
] as const;

/** A program that only tests and scripts use. */
export type ToolName = 'helm' | 'promtool';

/** The name of one needed program, or of a tool. */
export type ProgramName = (typeof programNames)[number] | ToolName;

/** A program that was found. */
export interface FoundProgram {
  path: string;
  version: string;
  source: 'path' | 'cache';
}

/** What a search without installing anything yields. */
export interface LookupResult {
  found: Partial<Record<ProgramName, FoundProgram>>;
  /** Programs on the PATH that were passed over, and why. */
  rejected: { name: ProgramName; path: string; reason: string }[];
}

/** How a program tells its version, where it is not by `--version`. */
const VERSION_ARGUMENTS: Partial<Record<ProgramName, string[]>> = {
  kubectl: ['version', '--client'],
  helm: ['version', '--short'],
};

/** The committed module that a program is built from; undefined for one that is not built. */
export function recipeOf(name: ProgramName): BuildRecipe['name'] | undefined {
  if (name === 'temporal') return undefined;
  return name === 'kwok' || name === 'helm' || name === 'promtool' ? name : 'kubernetes';
}

/** The three programs that must be of one minor version, as Kubernetes' version skew policy asks. */
const controlPlane: readonly ProgramName[] = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

/** The pinned version of a program. */
export function pinnedVersion(name: ProgramName): string {
  if (name === 'promtool') return versions.prometheus;
  return name === 'etcd' || name === 'kwok' || name === 'temporal' || name === 'helm'
    ? versions[name]
    : versions.kubernetes;
}

/** The oldest version of a program that is accepted from the PATH. */
export function oldestVersion(name: ProgramName): string {
  return name.startsWith('kube-')
    ? oldestAccepted.kubernetes
    : oldestAccepted[name as keyof typeof oldestAccepted];
}

/**
 * Why a program found on the PATH cannot be used, or undefined when it can:
 * older than accepted, or (Temporal) of another major version.
 */
export function refuseVersion(name: ProgramName, version: Version | undefined): string | undefined {
  if (version === undefined) return 'it does not tell its version';
  const oldest = parseVersion(oldestVersion(name))!;
  if (compareVersions(version, oldest) < 0) {
    return `version ${formatVersion(version)} is older than ${formatVersion(oldest)}`;
  }
  return name === 'temporal' && version[0] !== oldest[0]
    ? `version ${formatVersion(version)}: only ${oldest[0]}.x is known to work`
    : undefined;
}

/** The folder of a downloaded program in the cache. */
export function downloadFolder(name: ProgramName, env: NodeJS.ProcessEnv = process.env): string {
  return join(cacheDir(env), `${name}-${pinnedVersion(name)}`);
}

/** The folder of a program built from a committed module; its name holds the module's digest. */
export async function buildFolder(
  name: BuildRecipe['name'],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const recipe = recipes[name];
  return join(cacheDir(env), `${name}-${recipe.version}-${await recipeDigest(recipe)}`);
}

/**
 * Looks for programs on the PATH, then in the cache; installs nothing. From the
 * PATH the three control-plane programs are taken all together or not at all.
 */
export async function lookup(
  names: readonly ProgramName[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<LookupResult> {
  const result: LookupResult = { found: {}, rejected: [] };
  const candidates = await Promise.all(
    names.map(async (name) => {
      const path = await onPath(name, env);
      const args = VERSION_ARGUMENTS[name] ?? ['--version'];
      return path === undefined ? undefined : { name, path, version: await programVersion(path, args) };
    }),
  );
  for (const candidate of candidates) {
    if (candidate === undefined) continue;
    const { name, path, version } = candidate;
    const reason = refuseVersion(name, version);
    if (reason !== undefined) result.rejected.push({ name, path, reason });
    else result.found[name] = { path, version: formatVersion(version!), source: 'path' };
  }
  keepWholeControlPlane(names, result);
  for (const name of names) {
    if (result.found[name] !== undefined) continue;
    const recipe = recipeOf(name);
    const places = [
      downloadFolder(name, env),
      ...(recipe === undefined ? [] : [await buildFolder(recipe, env)]),
    ];
    for (const folder of places) {
      const path = join(folder, name);
      if (result.found[name] === undefined && (await isExecutable(path))) {
        result.found[name] = { path, version: pinnedVersion(name), source: 'cache' };
      }
    }
  }
  return result;
}

function keepWholeControlPlane(names: readonly ProgramName[], result: LookupResult): void {
  const wanted = controlPlane.filter((name) => names.includes(name));
  const found = wanted.flatMap((name) => result.found[name] ?? []);
  const minors = new Set(found.map((program) => program.version.split('.').slice(0, 2).join('.')));
  if (found.length === wanted.length && minors.size <= 1) return;
  const reason = `the PATH must hold ${wanted.join(', ')} of one minor version to be used`;
  for (const name of wanted) {
    const program = result.found[name];
    if (program !== undefined) result.rejected.push({ name, path: program.path, reason });
    delete result.found[name];
  }
}

async function onPath(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    if (folder === '') continue;
    const path = join(folder, name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

/** Whether a file is there that may be executed. */
export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
