import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from '../../core/cli-error.js';

/** A file of objects, as text. */
export interface SourceText {
  /** As the person named it; `stdin` for standard input. */
  file: string;
  text: string;
}

/** Something that keeps a file, or a part of it, from being read as objects. */
export interface SourceFault {
  file: string;
  line: number;
  column: number;
  message: string;
  /** Absent: the file cannot be read. */
  reason?: 'UnknownKind';
}

/** A file that is larger is no set of plans, and would take minutes to read. */
export const MAX_SOURCE_BYTES = 8 * 1024 * 1024;
const MAX_FILES = 5000;
const SUFFIXES = ['.yaml', '.yml', '.json'];

/**
 * Reads files, folders (all YAML and JSON files in them) and, for `-`, standard input. What is no text is a fault.
 *
 * @throws CliError for a path that is not there or cannot be read, and for a folder without such files.
 */
export async function readSources(
  paths: readonly string[],
  stdin: () => Promise<Uint8Array>,
): Promise<{ texts: SourceText[]; faults: SourceFault[] }> {
  const texts: SourceText[] = [];
  const faults: SourceFault[] = [];
  const add = (file: string, bytes: Uint8Array): void => {
    const decoded = decode(bytes);
    if ('text' in decoded) texts.push({ file, text: decoded.text });
    else faults.push({ file, line: 1, column: 1, message: decoded.fault });
  };
  const seen = new Set<string>();
  for (const path of paths) {
    if (path === '-') {
      if (!seen.has('-')) add('stdin', await stdin());
      seen.add('-');
      continue;
    }
    for (const file of await filesOf(path)) {
      if (seen.has(file)) continue;
      seen.add(file);
      const { size } = await stat(file);
      if (size > MAX_SOURCE_BYTES) faults.push({ file, line: 1, column: 1, message: tooLarge(size) });
      else add(file, await readFile(file));
    }
  }
  return { texts, faults };
}

async function filesOf(path: string): Promise<string[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.message}`;
    throw new CliError(`${path} ${why}`, {
      hints: ['give files, folders, or - for standard input'],
      cause: error,
    });
  });
  if (!found.isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  const files = entries
    .filter((entry) => entry.isFile() && SUFFIXES.some((suffix) => entry.name.endsWith(suffix)))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.slice(path.length).split(/[\\/]/).some(isHidden))
    .sort();
  if (files.length === 0) {
    throw new CliError(`folder ${path} has no ${SUFFIXES.join(', ')} file`, {
      hints: ['name the files, or another folder'],
    });
  }
  if (files.length > MAX_FILES) {
    throw new CliError(`folder ${path} has ${files.length} files; at most ${MAX_FILES} are read at once`, {
      hints: ['name a folder further down'],
    });
  }
  return files;
}

const isHidden = (part: string): boolean =>
  part === 'node_modules' || (part.length > 1 && part.startsWith('.'));

function decode(bytes: Uint8Array): { text: string } | { fault: string } {
  if (bytes.length > MAX_SOURCE_BYTES) return { fault: tooLarge(bytes.length) };
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    return { fault: 'is UTF-16; save it as UTF-8' };
  }
  try {
    // Takes a byte order mark away, as kubectl does.
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { fault: 'is not UTF-8 text; save it as UTF-8, or leave the file out' };
  }
}

const tooLarge = (bytes: number): string =>
  `has ${(bytes / 1024 / 1024).toFixed(1)} MiB; at most ${MAX_SOURCE_BYTES / 1024 / 1024} MiB are read: split it`;

/** Everything that comes from standard input. */
export async function readStdin(stream: AsyncIterable<unknown>): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk as Uint8Array);
    chunks.push(bytes);
    size += bytes.length;
    if (size > MAX_SOURCE_BYTES) break;
  }
  return Buffer.concat(chunks);
}
