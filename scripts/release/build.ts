/** Makes everything that a release has, in one folder. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openHelm } from '../chart/helm.js';
import { CHART } from '../chart/renders.js';
import { billOfMaterials } from '../layout/materials.js';
import { packCommandLine, TARGETS } from './command-line.js';
import type { Target } from './command-line.js';
import { krewManifest, type KrewArchive } from './krew.js';
import type { SigningKey } from './minisign.js';
import { notesOf } from './state.js';

const run = promisify(execFile);

/** What a release is made from. */
export interface ReleaseParts {
  root: string;
  version: string;
  /** The commit, and its time in seconds since the epoch. */
  commit: string;
  time: number;
  /** Where the files will be, without a slash at the end. */
  url: string;
  homepage: string;
  key: SigningKey;
  /** Default: all. */
  targets?: readonly Target[];
  /** Called before each step. */
  readonly say: (step: string) => void;
}

/** Lists every other file with its digest, as `sha256sum --check` reads it. */
const CHECKSUMS = 'SHA256SUMS';

/**
 * Makes a release. What is in the folder is thrown away first.
 *
 * @returns names and sizes of its files
 * @throws Error of a step that failed; the folder is then incomplete and has no checksums
 */
export async function buildRelease(
  folder: string,
  parts: ReleaseParts,
): Promise<{ name: string; bytes: number }[]> {
  const { root, version, say } = parts;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  say('source, from which the image is built');
  await writeSource(folder, parts);
  say('chart');
  await packChart(folder, parts);
  say('definitions');
  await writeFile(join(folder, `drover-crds-${version}.yaml`), await definitions(root));
  const archives: KrewArchive[] = [];
  for (const target of parts.targets ?? TARGETS) {
    say(`command line for ${target.name}`);
    const file = await packCommandLine({ ...parts, target, folder });
    archives.push({ target, file, sha256: await digestOf(join(folder, file)) });
  }
  say('krew manifest, bill of materials, notes');
  await writeFile(join(folder, 'dr.yaml'), krewManifest({ ...parts, archives }));
  await writeFile(join(folder, 'drover.cdx.json'), await billOfMaterials(root, 'all'));
  const changelog = await readFile(join(root, 'CHANGELOG.md'), 'utf8');
  await writeFile(join(folder, 'NOTES.md'), `${notesOf(changelog, version)}\n`);
  say('checksums and signature');
  await seal(folder, parts);
  const files = (await readdir(folder)).sort();
  return Promise.all(
    files.map(async (name) => ({ name, bytes: (await readFile(join(folder, name))).length })),
  );
}

async function writeSource(folder: string, { root, version, commit }: ReleaseParts): Promise<void> {
  const name = `drover-${version}`;
  await run(
    'git',
    [
      'archive',
      '--format',
      'tar.gz',
      '--prefix',
      `${name}/`,
      '--output',
      join(folder, `${name}-source.tar.gz`),
      commit,
    ],
    { cwd: root },
  );
}

async function packChart(folder: string, { root }: ReleaseParts): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'drover-helm-'));
  try {
    const helm = await openHelm({ home, progress: () => undefined });
    await helm.output(['package', join(root, CHART), '--destination', folder]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** All definitions in one file, for `kubectl apply -f`. */
async function definitions(root: string): Promise<string> {
  const from = join(root, 'deploy', 'crds');
  const names = (await readdir(from)).filter((name) => name.endsWith('.yaml')).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(from, name), 'utf8')));
  return texts.join('---\n');
}

async function seal(folder: string, { version, commit, key }: ReleaseParts): Promise<void> {
  const names = (await readdir(folder)).sort();
  const lines = await Promise.all(
    names.map(async (name) => `${await digestOf(join(folder, name))}  ${name}\n`),
  );
  const checksums = lines.join('');
  await writeFile(join(folder, CHECKSUMS), checksums);
  const signature = key.sign(Buffer.from(checksums), `drover ${version}, commit ${commit}`);
  await writeFile(join(folder, `${CHECKSUMS}.minisig`), signature);
  await writeFile(join(folder, 'drover.pub'), key.publicFile);
}

const digestOf = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
