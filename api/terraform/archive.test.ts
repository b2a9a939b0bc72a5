import { describe, expect, it } from 'vitest';
import { checkArchive, type ArchiveEntry } from './archive.js';
import { MAX_ARCHIVE_BYTES, MAX_ARCHIVE_ENTRIES } from './bounds.js';

const file = (path: string, size = 1): ArchiveEntry => ({ path, kind: 'file', size });
const folder = (path: string): ArchiveEntry => ({ path, kind: 'folder', size: 0 });
const symlink = (path: string, target: string): ArchiveEntry => ({ path, kind: 'symlink', size: 0, target });
const hardlink = (path: string, target: string): ArchiveEntry => ({
  path,
  kind: 'hardlink',
  size: 0,
  target,
});

describe('an archive is refused [T5.2]', () => {
  it.each([
    ['with an absolute name', [file('/etc/passwd')], 'has an absolute name'],
    ['with a name of Windows', [file('C:\\x')], 'has an absolute name'],
    ['with a name that leads out', [file('a/../../b')], 'leads out of the archive with ".."'],
    ['with a NUL in a name', [file('a\0b')], 'has a NUL'],
    ['with a device', [{ path: 'd', kind: 'other', size: 0 }], 'is a device, a pipe or a socket'],
    ['with a link to an absolute place', [symlink('a', '/etc')], 'which is outside'],
    ['with a link that leads out', [symlink('a/b', '../..')], 'leads outside or in a circle'],
    [
      'with links that lead out together',
      [folder('a'), symlink('a/up', '..'), symlink('a/c', 'up/..')],
      'leads outside',
    ],
    ['with links in a circle', [symlink('a', 'b'), symlink('b', 'a')], 'in a circle'],
    ['with a file behind a link', [symlink('a', 'b'), file('a/x')], 'would be written through the link "a"'],
    [
      'with a file before the link that it is behind',
      [file('a/x'), symlink('a', 'b')],
      'would be written through the link "a"',
    ],
    ['with a file in the place of a link', [symlink('a', 'b'), file('a')], 'stands in it twice'],
    ['with a hard link to nothing', [hardlink('a', 'b')], 'which is no file in it'],
    ['with a hard link outside', [hardlink('a', '../b')], 'which is no file in it'],
    [
      'with too many entries',
      Array.from({ length: MAX_ARCHIVE_ENTRIES + 1 }, (_, i) => file(String(i))),
      'it has 10001 entries',
    ],
    ['with too many bytes', [file('a', MAX_ARCHIVE_BYTES), file('b')], 'are larger than 52428800 bytes'],
  ] as [string, ArchiveEntry[], string][])('%s', (_, entries, message) => {
    expect(checkArchive(entries)).toEqual({
      reason: 'InvalidArchive',
      message: expect.stringContaining(message),
    });
  });
});

it('what an archive may hold is kept in order, with its names made plain', () => {
  const entries = [
    folder('./'),
    folder('./mod/'),
    file('./mod//main.tf'),
    symlink('mod/same.tf', 'main.tf'),
    hardlink('b', 'mod/main.tf'),
    folder('mod'),
  ];
  const content = checkArchive(entries);
  if ('reason' in content) throw new Error(content.message);
  expect(content.entries.map(({ path, position }) => [path, position])).toEqual([
    ['mod', 1],
    ['mod/main.tf', 2],
    ['mod/same.tf', 3],
    ['b', 4],
    ['mod', 5],
  ]);
});

it('what engines keep for themselves is left out, as it would decide where state is kept', () => {
  const names = [
    '.terraform/terraform.tfstate',
    'x/.terraform',
    'terraform.tfstate',
    'terraform.tfstate.backup',
    'terraform.tfstate.d/a',
    'errored.tfstate',
    '.terraform.tfstate.lock.info',
  ];
  const kept = ['.terraform.lock.hcl', 'a.tfstate', 'terraform.tfvars'];
  const content = checkArchive([...names, ...kept].map((name) => file(name)));
  expect(content).toMatchObject({ leftOut: names });
  expect('entries' in content && content.entries.map(({ path }) => path)).toEqual(kept);
});
