/**
 * Puts each program into one file: a program that loads its two thousand modules one by one spends more than half of its
 * start on finding and compiling what it never calls.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';
import { type InstalledPackage, packageOf, packageOfFile } from '../layout/packages.js';

/** Programs by the name of their file in `dist/programs/`, and the compiled module that each begins with. */
export const PROGRAMS = {
  'crd-bridge': 'crd-bridge/main.js',
  worker: 'worker/main.js',
  runner: 'runner/main.js',
  'drover-server': 'server/main.js',
  drover: 'client/cli/main.js',
  clusternet: 'local/clusternet/main.js',
} as const;

/**
 * Modules that packages load when they are loaded, that nobody here calls, and that take long: they are empty in a bundle.
 * The cookies of undici look at Node's own `Headers`, and with that alone Node loads an undici of its own.
 */
const NEVER_CALLED = [/node_modules[/]undici[/]lib[/]web[/]cookies[/]index\.js$/];

/**
 * What stays in `node_modules`: the SDK of Temporal loads its native part, its threads and the failure converter by path,
 * and each of its packages must be there only once.
 */
const EXTERNAL = [/^@temporalio\//, /^@grpc\//, /^protobufjs/];

/** Reads modules. Stack traces name the lines of our own sources; the maps of dependencies would only take memory. */
const sources: Plugin = {
  name: 'sources',
  async load(id) {
    if (!id.endsWith('.js') || id.startsWith('\0')) return null;
    if (NEVER_CALLED.some((pattern) => pattern.test(id)))
      return { code: 'module.exports = {};', map: { mappings: '' } };
    const code = await readFile(id, 'utf8');
    if (id.includes('node_modules')) return { code, map: { mappings: '' } };
    return { code, map: await readFile(`${id}.map`, 'utf8') };
  },
};

/** Packages of a program. */
export interface ProgramPackages {
  /** Those whose code is in its files. */
  inside: InstalledPackage[];
  /** Names of those that it finds in `node_modules`. */
  outside: string[];
}

/** Where the bundler writes the packages of each program. */
export const PROGRAM_PACKAGES = join('programs', 'packages.json');

/**
 * Bundles all programs from what the compiler has left in `dist`.
 *
 * @returns the size of the first file of each, in bytes; what a program loads on demand stands beside it
 */
export async function bundlePrograms(dist: string): Promise<{ name: string; bytes: number }[]> {
  const target = join(dist, 'programs');
  await rm(target, { recursive: true, force: true });
  const packages: Record<string, ProgramPackages> = {};
  const sizes = await Promise.all(
    Object.entries(PROGRAMS).map(async ([name, entry]) => {
      const bundle = await rolldown({
        input: { [name]: join(dist, entry) },
        platform: 'node',
        external: EXTERNAL,
        treeshake: { moduleSideEffects: [{ test: /@kubernetes[/]client-node/, sideEffects: false }] },
        // All modules are read at once: how long one takes says nothing.
        checks: { bundlerTimings: false, ineffectiveDynamicImport: false },
        plugins: [sources],
      });
      const { output } = await bundle.write({
        dir: target,
        format: 'esm',
        sourcemap: true,
        chunkFileNames: `${name}-parts/[name]-[hash].js`,
      });
      await bundle.close();
      packages[name] = packagesOf(
        dirname(dist),
        output.filter((part) => part.type === 'chunk'),
      );
      return { name, bytes: Buffer.byteLength(output[0].code) };
    }),
  );
  await writeFile(join(dist, PROGRAM_PACKAGES), `${JSON.stringify(packages, null, 2)}\n`);
  return sizes;
}

function packagesOf(root: string, chunks: readonly OutputChunk[]): ProgramPackages {
  const files = chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => id.includes('node_modules'));
  const inside = new Map(files.map((file) => packageOfFile(root, file)).map((found) => [found.path, found]));
  const imported = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const outside = imported.filter((name) => EXTERNAL.some((pattern) => pattern.test(name))).map(packageOf);
  return {
    inside: [...inside.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
    outside: [...new Set(outside)].sort(),
  };
}
