/** Packages of `node_modules` that programs need beside them: which they are, and copies of what of them is run. */
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';

/** A package as it is installed. */
export interface InstalledPackage {
  name: string;
  version: string;
  /** Its folder below the root, such as `node_modules/a/node_modules/b`. */
  path: string;
}

/** For which machine, as Node names it: `process.platform` and `process.arch`. */
export interface Platform {
  os: 'linux' | 'darwin';
  arch: 'x64' | 'arm64';
}

/**
 * What the SDK of Temporal bundles workflow code with. The build has done that, so programs get none of it: a fifth of all
 * packages by size, and most of their number.
 */
const BUNDLER: ReadonlySet<string> = new Set([
  '@swc/core',
  'memfs',
  'source-map-loader',
  'swc-loader',
  'unionfs',
  'webpack',
]);

/** Those of them that the SDK loads when it starts, and uses only to bundle. */
const LOADED_AT_START = ['memfs', 'unionfs', 'webpack'];

/** Files that nothing runs: types, source maps, prose but for licences, what the native part of the SDK is built from. */
const NEVER_RUN = [
  /\.(d\.[cm]?ts|ts|map|markdown|md|flow)$/,
  /(^|[/\\])@temporalio[/\\][a-z-]+[/\\](src|ts)$/,
  /(^|[/\\])core-bridge[/\\](bridge-macros|scripts|sdk-core|Cargo\.(toml|lock))$/,
  /(^|[/\\])rxjs[/\\](src|dist[/\\](types|esm5?|bundles))$/,
];
const LICENCE = /^(licen[cs]e|notice|copying)/i;

/** The name of the package that a specifier is of. */
export const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/**
 * Packages with all that they depend on, each where Node finds it from the one that needs it. What workflow code is bundled
 * with is left out, as is what is optional and not installed.
 *
 * @throws Error when one is not installed
 */
export function withDependencies(root: string, names: readonly string[]): InstalledPackage[] {
  const found = new Map<string, InstalledPackage>();
  const add = (name: string, from: string, isOptional: boolean): void => {
    if (BUNDLER.has(name)) return;
    const folder = folderOf(name, from, root);
    if (folder === undefined) {
      if (isOptional) return;
      throw new Error(
        `package ${name}, which ${relative(root, from) || 'a program'} needs, is not installed`,
      );
    }
    if (found.has(folder)) return;
    const { version, dependencies, optionalDependencies, peerDependencies } = readPackage(folder);
    found.set(folder, { name, version, path: relative(root, folder) });
    for (const each of Object.keys(dependencies ?? {}))
      add(each, folder, optionalDependencies?.[each] !== undefined);
    for (const each of Object.keys({ ...optionalDependencies, ...peerDependencies })) add(each, folder, true);
  };
  for (const name of names) add(name, root, false);
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The package that a file of `node_modules` is of. */
export function packageOfFile(root: string, file: string): InstalledPackage {
  const path = relative(root, file).split(sep);
  const at = path.lastIndexOf('node_modules') + 1;
  const name = packageOf(path.slice(at).join('/'));
  const folder = [...path.slice(0, at), ...name.split('/')].join('/');
  return { name, version: readPackage(join(root, folder)).version, path: folder };
}

interface Manifest {
  version: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const readPackage = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

function folderOf(name: string, from: string, root: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (at === root || dirname(at) === at) return undefined;
  }
}

/** Copies packages into a folder, with what of them is run on a platform, and with their licences. */
export async function copyPackages(
  packages: readonly InstalledPackage[],
  { root, to, platform }: { root: string; to: string; platform: Platform },
): Promise<void> {
  const native = nativeTarget(platform);
  for (const { path } of packages) {
    const from = join(root, path);
    await cp(from, join(to, path), {
      recursive: true,
      filter: (file) => {
        // A package of its own.
        if (file !== from && basename(file) === 'node_modules') return false;
        if (LICENCE.test(basename(file))) return true;
        if (basename(dirname(file)) === 'releases') return basename(file) === native;
        return !NEVER_RUN.some((pattern) => pattern.test(file));
      },
    });
  }
  await Promise.all(LOADED_AT_START.map((name) => writeStandIn(join(to, 'node_modules', name), name)));
}

/** As the native part of the SDK calls a platform. */
const nativeTarget = ({ os, arch }: Platform): string =>
  `${arch === 'x64' ? 'x86_64' : 'aarch64'}-${os === 'linux' ? 'unknown-linux-gnu' : 'apple-darwin'}`;

/** An empty module in the place of a package, so that the SDK loads. */
async function writeStandIn(folder: string, name: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const manifest = {
    name,
    version: '0.0.0',
    description: 'Stands for a package that bundles workflow code, which the build has done.',
    main: 'index.js',
  };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await writeFile(join(folder, 'index.js'), 'module.exports = {};\n');
}
