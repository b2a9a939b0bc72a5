/** Lays out what a machine needs to run programs: their bundles, and of the packages what is outside of these. */
import { readFileSync } from 'node:fs';
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PROGRAM_PACKAGES, type ProgramPackages, type PROGRAMS } from '../bundle/programs.js';
import { billOfMaterials } from './materials.js';
import { noticesOf } from './notices.js';
import { copyPackages, type InstalledPackage, type Platform, withDependencies } from './packages.js';

/** Name of a program: of its file in `dist/programs/`. */
export type ProgramName = keyof typeof PROGRAMS;

/** Files beside the bundles that programs find from the root of their package. */
const BESIDE = ['dist/runtime/source-maps.js', 'dist/runtime/encryption/failure-converter.js', 'LICENSE'];
const OF_WORKER = ['dist/workflow-bundle.js', 'dist/workflow-bundle.encrypted.js'];

/**
 * Lays out programs of a built tree. Whoever unpacks the folder needs Node and nothing else.
 *
 * @param options.root the tree
 * @param options.also further files and folders, relative to the root
 * @returns all packages in it, bundled or beside
 */
export async function layOut(options: {
  root: string;
  to: string;
  platform: Platform;
  programs: readonly ProgramName[];
  also?: readonly string[];
}): Promise<InstalledPackage[]> {
  const { root, to, platform, programs, also = [] } = options;
  const known = JSON.parse(readFileSync(join(root, 'dist', PROGRAM_PACKAGES), 'utf8')) as Record<
    string,
    ProgramPackages
  >;
  const used = programs.map((name) => known[name] ?? { inside: [], outside: [] });
  const beside = withDependencies(root, [...new Set(used.flatMap(({ outside }) => outside))]);
  const files = [...BESIDE, ...(programs.includes('worker') ? OF_WORKER : []), ...also];
  for (const file of [...files, ...(await filesOf(root, programs))]) {
    await mkdir(dirname(join(to, file)), { recursive: true });
    await cp(join(root, file), join(to, file), { recursive: true });
  }
  await copyPackages(beside, { root, to, platform });
  const inside = used.flatMap((program) => program.inside);
  const all = [...new Map([...beside, ...inside].map((one) => [`${one.name}@${one.version}`, one])).values()];
  await writeFile(join(to, 'package.json'), manifestOf(root));
  await writeFile(join(to, 'THIRD-PARTY-NOTICES.txt'), noticesOf(root, all));
  await writeFile(join(to, 'sbom.cdx.json'), await billOfMaterials(root, all));
  return all;
}

/** Bundles with their parts. */
async function filesOf(root: string, programs: readonly ProgramName[]): Promise<string[]> {
  const folder = join('dist', 'programs');
  const names = await readdir(join(root, folder));
  return programs.flatMap((name) =>
    names
      .filter((file) => [`${name}.js`, `${name}.js.map`, `${name}-parts`].includes(file))
      .map((file) => join(folder, file)),
  );
}

/** What programs read of it: the version, and that files are modules. */
function manifestOf(root: string): string {
  const { name, version, license, type } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Record<string, string>;
  return `${JSON.stringify({ name, version, license, private: true, type }, null, 2)}\n`;
}
