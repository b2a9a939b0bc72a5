/**
 * Test runs that are cut short leave servers behind. All that a run puts on the disk and all servers that it starts are in
 * a folder of its own that names its process, so that the next run can end them.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { down } from '../../local/index.js';
import { processIdentity } from '../../runtime/process-identity.js';
import { writeJson } from '../../local/state.js';
import type { ProcessName, ProcessRecord, State } from '../../local/state.js';

const PREFIX = 'drover-test-';
const OWNER = 'owner.json';

interface Owner {
  pid: number;
  identity: string | undefined;
}

/** Makes the folder of this run. */
export async function makeRoot(parent = tmpdir()): Promise<string> {
  const root = await mkdtemp(join(parent, PREFIX));
  const owner: Owner = { pid: process.pid, identity: await processIdentity(process.pid) };
  await writeFile(join(root, OWNER), JSON.stringify(owner));
  return root;
}

/** Ends every server of a run and removes its folder. */
export async function removeRoot(root: string): Promise<void> {
  const files = await readdir(root, { recursive: true });
  const dataDirs = files
    .filter((file) => basename(file) === 'state.json')
    .map((file) => join(root, dirname(file)));
  await Promise.all(
    dataDirs.map((dataDir) =>
      down({ dataDir, progress: () => undefined, graceMs: 2000 }).catch(() => undefined),
    ),
  );
  // What cannot be removed, as a file system that is mounted there, is no reason not to go on.
  await rm(root, { recursive: true, force: true, maxRetries: 5 }).catch(() => undefined);
}

/** Removes what runs have left that are gone. @returns how many there were */
export async function removeLeftovers(parent = tmpdir()): Promise<number> {
  const roots = (await readdir(parent)).filter((name) => name.startsWith(PREFIX));
  const dead = await Promise.all(
    roots.map(async (name): Promise<string[]> => {
      const root = join(parent, name);
      const owner = await readFile(join(root, OWNER), 'utf8').then(
        (text) => JSON.parse(text) as Owner,
        () => undefined,
      );
      const isDead = owner !== undefined && (await processIdentity(owner.pid)) !== owner.identity;
      return isDead ? [root] : [];
    }),
  );
  for (const root of dead.flat()) await removeRoot(root);
  return dead.flat().length;
}

/**
 * Records a server that a test has started by itself.
 *
 * @param folder of its own, in the temporary folder
 */
export async function recordServer(folder: string, name: ProcessName, record: ProcessRecord): Promise<void> {
  const state: State = {
    version: 1,
    mode: { ephemeral: true, cluster: 'embedded', temporal: 'embedded' },
    ports: {},
    processes: { [name]: record },
  };
  await writeJson(join(folder, 'state.json'), state);
}
