/** Unpacks a configuration: all of an archive is looked at before a file of it is written (T5.2). */
import { createReadStream, createWriteStream } from 'node:fs';
import { link, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { extract, type Header } from 'tar-stream';
import type { Refusal } from '../api/core/refusal.js';
import { checkArchive, type ArchiveEntry } from '../api/terraform/archive.js';

const KINDS: Partial<Record<Header['type'], ArchiveEntry['kind']>> = {
  file: 'file',
  'contiguous-file': 'file',
  directory: 'folder',
  symlink: 'symlink',
  link: 'hardlink',
};

/**
 * Unpacks a tar file into a folder that is empty.
 *
 * @returns the paths that were left out, or a refusal `InvalidArchive`
 */
export async function unpackArchive(file: string, folder: string): Promise<{ leftOut: string[] } | Refusal> {
  const entries: ArchiveEntry[] = [];
  const problem = await eachEntry(file, (header) => {
    entries.push(entryOf(header));
    return Promise.resolve();
  });
  if (problem !== undefined)
    return { reason: 'InvalidArchive', message: `the archive is no tar file: ${problem}` };
  const content = checkArchive(entries);
  if ('reason' in content) return content;
  // By position: entries that were left out have no path here.
  const paths = new Map(content.entries.map(({ position, path }) => [position, path]));
  let position = -1;
  const links: ArchiveEntry[] = [];
  await eachEntry(file, async (header, body) => {
    position += 1;
    const path = paths.get(position);
    if (path === undefined) return;
    const entry = { ...entryOf(header), path };
    if (entry.kind === 'folder') await mkdir(join(folder, path), { recursive: true });
    else await mkdir(dirname(join(folder, path)), { recursive: true });
    if (entry.kind === 'file') await writeFile(join(folder, path), header.mode, body);
    if (entry.kind === 'symlink' || entry.kind === 'hardlink') links.push(entry);
  });
  // Last: nothing is written through one.
  for (const { path, kind, target = '' } of links) {
    if (kind === 'symlink') await symlink(target, join(folder, path));
    else await link(join(folder, target), join(folder, path));
  }
  return { leftOut: content.leftOut };
}

const entryOf = (header: Header): ArchiveEntry => ({
  path: header.name,
  kind: KINDS[header.type] ?? 'other',
  size: header.size,
  target: header.linkname,
});

async function writeFile(path: string, mode: number, body: AsyncIterable<Buffer>): Promise<void> {
  // Of all rights only that to execute is taken over.
  const isProgram = (mode & 0o100) !== 0;
  await pipeline(body, createWriteStream(path, { flags: 'wx', mode: isProgram ? 0o700 : 0o600 }));
}

/** Visits each entry in turn. @returns why the file is no archive, or undefined */
async function eachEntry(
  file: string,
  visit: (header: Header, body: AsyncIterable<Buffer>) => Promise<void>,
): Promise<string | undefined> {
  const unpacked = extract();
  const source = createReadStream(file);
  source.once('error', (error) => unpacked.destroy(error));
  source.pipe(unpacked);
  let failure: Error | undefined;
  try {
    for await (const entry of unpacked) {
      try {
        await visit(entry.header, entry as unknown as AsyncIterable<Buffer>);
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
        break;
      }
      entry.resume();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    source.destroy();
  }
  if (failure !== undefined) throw failure;
  return undefined;
}
