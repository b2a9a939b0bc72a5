/** Reads an archive: the whole of it is checked before anything in it is used. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { extract } from 'tar-stream';
import type { KubeObject } from '../../../../kube/object.js';
import { MANIFEST, readManifest } from './manifest.js';
import type { EntryRecord, Manifest } from './manifest.js';

/** An archive that is whole and unaltered. */
export interface Archive {
  manifest: Manifest;
  /** Bytes of the file, and their SHA-256. */
  bytes: number;
  sha256: string;
  /** How many objects of a sort it holds. */
  count(sort: string): number;
  /**
   * Objects of a sort, in the order in which they were written; one entry of them is held at a time.
   *
   * @throws BrokenArchive where the file was changed since it was opened
   */
  objects<T extends object = KubeObject>(sort: string): AsyncGenerator<T>;
  close(): Promise<void>;
}

/** The file is no archive, or not as it was written. The message completes "FILE is not a usable backup: …". */
export class BrokenArchive extends Error {
  override readonly name = 'BrokenArchive';
}

/** Bounds what a made-up file makes this program hold. */
const MAX_MANIFEST_BYTES = 256 * 1024 * 1024;
const BLOCK = 512;
const CHUNK = 256 * 1024;

/** An entry as it stands in the file. */
interface Found {
  name: string;
  /** Where its content begins. */
  at: number;
  bytes: number;
  sha256: string;
}

/**
 * Opens an archive and checks all of it against its manifest.
 *
 * @param onProgress called with how many bytes were read, now and then
 * @throws BrokenArchive when it was cut or altered, or is something else
 * @throws Error of the file system when it cannot be read
 */
export async function openArchive(
  path: string,
  onProgress: (bytes: number) => void = () => undefined,
): Promise<Archive> {
  const file = await open(path, 'r');
  try {
    const { entries, manifest, bytes, sha256 } = await survey(file, onProgress);
    const places = match(entries, manifest);
    const ofSort = (sort: string): EntryRecord[] =>
      manifest.entries.filter(({ name }) => name.startsWith(`${sort}/`));
    return {
      manifest,
      bytes,
      sha256,
      count: (sort) => ofSort(sort).reduce((sum, { objects }) => sum + objects, 0),
      async *objects<T extends object>(sort: string) {
        for (const entry of ofSort(sort)) {
          yield* await readObjects<T>(file, entry, places.get(entry.name) ?? 0);
        }
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Reads the file from its beginning to its end. */
async function survey(
  file: FileHandle,
  onProgress: (bytes: number) => void,
): Promise<{ entries: Found[]; manifest: Manifest; bytes: number; sha256: string }> {
  const whole = createHash('sha256');
  let bytes = 0;
  const tar = extract();
  const feeding = (async () => {
    const buffer = Buffer.alloc(CHUNK);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK, bytes);
      if (bytesRead === 0) break;
      const chunk = Buffer.from(buffer.subarray(0, bytesRead));
      whole.update(chunk);
      bytes += bytesRead;
      onProgress(bytes);
      if (!tar.write(chunk)) await new Promise<void>((resolve) => tar.once('drain', () => resolve()));
    }
    tar.end(null);
  })();
  feeding.catch((error: unknown) => tar.destroy(error instanceof Error ? error : undefined));

  const entries: Found[] = [];
  let text: Buffer | undefined;
  // Where the header of the next entry is: names are short, so each has one block of it.
  let at = 0;
  try {
    for await (const entry of tar) {
      const { name, size, type } = entry.header;
      if (text !== undefined) throw new BrokenArchive(`something stands behind its ${MANIFEST}`);
      if (type !== 'file') throw new BrokenArchive(`"${name}" in it is no file`);
      if (name === MANIFEST && size > MAX_MANIFEST_BYTES)
        throw new BrokenArchive(`its ${MANIFEST} is too large`);
      const hash = createHash('sha256');
      const kept: Buffer[] = [];
      for await (const chunk of entry as unknown as AsyncIterable<Buffer>) {
        hash.update(chunk);
        if (name === MANIFEST) kept.push(chunk);
      }
      if (name === MANIFEST) text = Buffer.concat(kept);
      else entries.push({ name, at: at + BLOCK, bytes: size, sha256: hash.digest('hex') });
      at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    }
  } catch (error) {
    if (error instanceof BrokenArchive) throw error;
    throw new BrokenArchive(`it was cut, or is no tar file (${messageOf(error)})`, { cause: error });
  }
  await feeding;
  if (text === undefined) throw new BrokenArchive(`it was cut: it has no ${MANIFEST}, which comes last`);
  let manifest: Manifest;
  try {
    manifest = readManifest(text.toString('utf8'));
  } catch (error) {
    throw new BrokenArchive(messageOf(error), { cause: error });
  }
  return { entries, manifest, bytes, sha256: whole.digest('hex') };
}

/** Where each entry begins, if the file has exactly what its manifest says. */
function match(found: readonly Found[], { entries }: Manifest): Map<string, number> {
  const byName = new Map(found.map((entry) => [entry.name, entry]));
  const named = new Set(entries.map(({ name }) => name));
  const more = found.find(({ name }) => !named.has(name));
  if (more !== undefined)
    throw new BrokenArchive(`it holds "${more.name}", which its ${MANIFEST} does not name`);
  if (byName.size !== found.length) throw new BrokenArchive('it holds an entry twice');
  for (const { name, bytes, sha256 } of entries) {
    const entry = byName.get(name);
    if (entry === undefined) throw new BrokenArchive(`"${name}" is missing`);
    if (entry.bytes !== bytes || entry.sha256 !== sha256)
      throw new BrokenArchive(`"${name}" was altered: its SHA-256 is not the one in ${MANIFEST}`);
  }
  return new Map(found.map(({ name, at }) => [name, at]));
}

async function readObjects<T>(file: FileHandle, entry: EntryRecord, at: number): Promise<T[]> {
  const data = Buffer.alloc(entry.bytes);
  const { bytesRead } = await file.read(data, 0, entry.bytes, at);
  const sha256 = createHash('sha256').update(data.subarray(0, bytesRead)).digest('hex');
  if (sha256 !== entry.sha256) throw new BrokenArchive(`"${entry.name}" was altered while it was read`);
  return data
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
