/**
 * Puts each program into one file: a program that loads its two thousand modules one by one spends more than half of its
 * start on finding and compiling what it never calls.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown, type Plugin } from 'rolldown';

/** Programs by the name of their file in `dist/programs/`, and the compiled module that each begins with. */
export const PROGRAMS = {
  'crd-bridge': 'crd-bridge/main.js',
  worker: 'worker/main.js',
  drover: 'client/cli/main.js',
  clusternet: 'local/clusternet/main.js',
} as const;

/**
 * What stays in `node_modules`: the SDK of Temporal loads its native part, its threads and the failure converter by path,
 * and each of its packages must be there only once.
 */
const EXTERNAL = [/^@temporalio\//, /^@grpc\//, /^protobufjs/];

/** Stack traces name the lines of our own sources; the maps of dependencies would only take memory. */
const sourceMaps: Plugin = {
  name: 'source-maps-of-our-own',
  async load(id) {
    if (!id.endsWith('.js') || id.startsWith('\0')) return null;
    const code = await readFile(id, 'utf8');
    if (id.includes('node_modules')) return { code, map: { mappings: '' } };
    return { code, map: await readFile(`${id}.map`, 'utf8') };
  },
};

/**
 * Bundles all programs from what the compiler has left in `dist`.
 *
 * @returns the size of the first file of each, in bytes; what a program loads on demand stands beside it
 */
export async function bundlePrograms(dist: string): Promise<{ name: string; bytes: number }[]> {
  const target = join(dist, 'programs');
  await rm(target, { recursive: true, force: true });
  return Promise.all(
    Object.entries(PROGRAMS).map(async ([name, entry]) => {
      const bundle = await rolldown({
        input: { [name]: join(dist, entry) },
        platform: 'node',
        external: EXTERNAL,
        treeshake: { moduleSideEffects: [{ test: /@kubernetes[/]client-node/, sideEffects: false }] },
        // All modules are read at once: how long one takes says nothing.
        checks: { bundlerTimings: false, ineffectiveDynamicImport: false },
        plugins: [sourceMaps],
      });
      const { output } = await bundle.write({
        dir: target,
        format: 'esm',
        sourcemap: true,
        chunkFileNames: `${name}-parts/[name]-[hash].js`,
      });
      await bundle.close();
      return { name, bytes: Buffer.byteLength(output[0].code) };
    }),
  );
}
