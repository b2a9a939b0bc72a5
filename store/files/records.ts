/**
 * Records of a workspace as files. A transaction of one write is a rename. One of several is first a journal, which is
 * itself a rename, and then carried out: what a crash has left of it is carried out before the next one.
 */
import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PRIVATE_FILE, syncFolder, writeDurably } from '../../runtime/durable-files.js';
import type { Records } from '../backend.js';

/** `null`: removed. */
type Writes = Map<string, Buffer | null>;

const JOURNAL = 'journal';
const DRAFT = /\.draft$/;

/** Transactions on the records in a folder. The caller sees to it that they come one after the other. */
export function createRecordFolder(folder: string): {
  transact<T>(work: (records: Records) => Promise<T>, soft: boolean): Promise<T>;
} {
  const journal = join(folder, JOURNAL);
  const records = join(folder, 'records');
  const pathOf = (key: string): string => join(records, `${key}.rec`);
  /** Whether a journal may be there. */
  let mayHaveJournal = true;

  async function carryOut(writes: Writes, soft: boolean): Promise<void> {
    const touched = new Set<string>();
    for (const [key, value] of writes) {
      const path = pathOf(key);
      if (!soft) touched.add(dirname(path));
      if (value === null) await rm(path, { force: true });
      else await write(path, value, soft);
    }
    for (const each of touched) await syncFolder(each).catch(unlessMissing);
  }

  async function commit(writes: Writes, soft: boolean): Promise<void> {
    if (writes.size === 0) return;
    // What is soft is written in the order in which it was put, and read so that it may be there in part.
    if (writes.size === 1 || soft) return carryOut(writes, soft);
    await makeFolder(folder);
    const text = JSON.stringify([...writes].map(([key, value]) => [key, value?.toString('base64') ?? null]));
    mayHaveJournal = true;
    await writeDurably(journal, text);
    await carryOut(writes, false);
    await removeJournal();
  }

  /** Its removal is on the disk before anything else is written: a journal that came back would undo that. */
  async function removeJournal(): Promise<void> {
    await rm(journal, { force: true });
    await syncFolder(folder);
    mayHaveJournal = false;
  }

  async function recover(): Promise<void> {
    if (!mayHaveJournal) return;
    const text = await readFile(journal, 'utf8').catch(unlessMissing);
    mayHaveJournal = text !== undefined;
    if (text === undefined) return;
    await carryOut(parseJournal(text), false);
    await removeJournal();
  }

  return {
    async transact(work, soft) {
      await recover();
      const writes: Writes = new Map();
      const get: Records['get'] = async (key) => {
        const written = writes.get(key);
        if (written !== undefined) return written ?? undefined;
        return readFile(pathOf(key)).catch(unlessMissing);
      };
      const keys: Records['keys'] = async (under) =>
        keysOf(await namesIn(join(records, under)), under, writes);
      const result = await work({
        get,
        keys,
        async entries(under) {
          const values = await Promise.all(
            (await keys(under)).map(async (key) => ({ key, value: await get(key) })),
          );
          return values.flatMap(({ key, value }) => (value === undefined ? [] : [{ key, value }]));
        },
        put: (key, value) => Promise.resolve(void writes.set(key, value)),
        delete: (key) => Promise.resolve(void writes.set(key, null)),
      });
      await commit(writes, soft);
      return result;
    },
  };
}

function parseJournal(text: string): Writes {
  const entries = JSON.parse(text) as [string, string | null][];
  return new Map(entries.map(([key, value]) => [key, value === null ? null : Buffer.from(value, 'base64')]));
}

async function write(path: string, value: Buffer, soft: boolean): Promise<void> {
  await makeFolder(dirname(path), soft);
  const draft = `${path}.draft`;
  const file = await open(draft, 'w', PRIVATE_FILE);
  try {
    await file.writeFile(value);
    if (!soft) await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  if (!soft) await syncFolder(dirname(path));
}

/** Makes a folder whose name, too, outlives a loss of power. */
export async function makeFolder(path: string, soft = false): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: 0o700 });
  if (made === undefined || soft) return;
  for (let at = path; at.length >= made.length; at = dirname(at)) await syncFolder(dirname(at));
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(unlessMissing);
  return (entries ?? [])
    .filter((entry) => entry.isFile() && !DRAFT.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
}

function keysOf(names: string[], under: string, writes: Writes): string[] {
  const keys = new Set(names.map((name) => `${under}/${name.slice(0, -'.rec'.length)}`));
  for (const [key, value] of writes) {
    if (!key.startsWith(`${under}/`)) continue;
    if (value === null) keys.delete(key);
    else keys.add(key);
  }
  return [...keys].sort();
}

/** Gives undefined for what is not there. */
export function unlessMissing(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
  throw error;
}
