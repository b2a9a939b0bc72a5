/** What an archive of configuration may hold (T5.2). */
import type { Refusal } from '../core/refusal.js';
import { MAX_ARCHIVE_BYTES, MAX_ARCHIVE_ENTRIES } from './bounds.js';

/** An entry of an archive, as it says itself. */
export interface ArchiveEntry {
  path: string;
  kind: 'file' | 'folder' | 'symlink' | 'hardlink' | 'other';
  /** In bytes, of a file. */
  size: number;
  /** Of a link. */
  target?: string;
}

/** An entry that may be written. */
export interface CheckedEntry extends ArchiveEntry {
  /** In the list of all entries, from 0. */
  position: number;
}

/** What is made of an archive. Paths have no `.` and no slash at the end. */
export interface ArchiveContent {
  entries: CheckedEntry[];
  /** Left out: what engines keep for themselves, such as `.terraform`, which would decide where state is kept. */
  leftOut: string[];
}

const MAX_PATH = 1024;
const MAX_LINKS = 40;

/** Files and folders that engines write: an archive may hold them by mistake. */
const ENGINES_OWN = [
  /^\.terraform$/,
  /^terraform\.tfstate(\..*)?$/,
  /^errored\.tfstate$/,
  /^\.terraform\.tfstate\.lock\.info$/,
  /^\.?terraform\.tfstate\.d$/,
];

/**
 * Looks at all entries of an archive before any is written.
 *
 * @returns what may be written, or a refusal `InvalidArchive` that names the first entry that may not
 */
export function checkArchive(entries: readonly ArchiveEntry[]): ArchiveContent | Refusal {
  const content: ArchiveContent = { entries: [], leftOut: [] };
  const seen = new Set<string>();
  let bytes = 0;
  if (entries.length > MAX_ARCHIVE_ENTRIES) {
    return refusal(`it has ${entries.length} entries; allowed are ${MAX_ARCHIVE_ENTRIES}`);
  }
  for (const [position, entry] of entries.entries()) {
    const problem = problemOf(entry);
    if (problem !== undefined) return refusal(`${JSON.stringify(entry.path)} ${problem}`);
    const path = normalized(entry.path);
    if (path === '') continue;
    bytes += entry.size;
    if (bytes > MAX_ARCHIVE_BYTES) return refusal(`its files are larger than ${MAX_ARCHIVE_BYTES} bytes`);
    if (path.split('/').some((name) => ENGINES_OWN.some((own) => own.test(name)))) {
      content.leftOut.push(path);
      continue;
    }
    // Else a file could be written through a link of the same name.
    if (seen.has(path) && entry.kind !== 'folder')
      return refusal(`${JSON.stringify(path)} stands in it twice`);
    seen.add(path);
    content.entries.push({ ...entry, path, position });
  }
  return checkLinks(content.entries) ?? content;
}

const refusal = (what: string): Refusal => ({
  reason: 'InvalidArchive',
  message: `the archive of the configuration cannot be used: ${what}`,
});

function problemOf({ path, kind, target }: ArchiveEntry): string | undefined {
  if (path.includes('\0') || target?.includes('\0')) return 'has a NUL in its name';
  if (path.length > MAX_PATH) return `has a name of more than ${MAX_PATH} characters`;
  if (path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path))
    return 'has an absolute name; names begin in the archive';
  if (path.split('/').includes('..')) return 'leads out of the archive with ".."';
  if (kind === 'other') return 'is a device, a pipe or a socket; allowed are files, folders and links';
  const isLink = kind === 'symlink' || kind === 'hardlink';
  if (isLink && (target === undefined || target === '')) return 'is a link to nothing';
  if (isLink && target!.startsWith('/')) return `is a link to ${JSON.stringify(target)}, which is outside`;
  return undefined;
}

const normalized = (path: string): string =>
  path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .join('/');

/** Follows every link through all others, as the system will once all are written. */
function checkLinks(entries: readonly ArchiveEntry[]): Refusal | undefined {
  const symlinks = new Map<string, string>();
  for (const { path, kind, target = '' } of entries) if (kind === 'symlink') symlinks.set(path, target);
  const files = new Set(entries.filter(({ kind }) => kind === 'file').map(({ path }) => path));
  for (const { path, kind, target = '' } of entries) {
    const through = parentsOf(path).find((parent) => symlinks.has(parent));
    if (through !== undefined) {
      return refusal(`${JSON.stringify(path)} would be written through the link ${JSON.stringify(through)}`);
    }
    if (kind === 'hardlink' && !files.has(normalized(target))) {
      return refusal(
        `${JSON.stringify(path)} is a hard link to ${JSON.stringify(target)}, which is no file in it`,
      );
    }
    if (kind === 'symlink' && resolve(path, symlinks) === undefined) {
      return refusal(
        `${JSON.stringify(path)} is a link to ${JSON.stringify(target)}, which leads outside or in a circle`,
      );
    }
  }
  return undefined;
}

const parentsOf = (path: string): string[] => {
  const names = path.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
};

/** Where a link leads; undefined for a place outside, and where it leads in a circle. */
function resolve(link: string, symlinks: ReadonlyMap<string, string>): string | undefined {
  const ahead = link.split('/');
  const done: string[] = [];
  let followed = 0;
  while (ahead.length > 0) {
    const name = ahead.shift()!;
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (done.pop() === undefined) return undefined;
      continue;
    }
    const target = symlinks.get([...done, name].join('/'));
    if (target === undefined) {
      done.push(name);
      continue;
    }
    followed += 1;
    if (followed > MAX_LINKS || target.startsWith('/')) return undefined;
    ahead.unshift(...target.split('/'));
  }
  return done.join('/');
}
