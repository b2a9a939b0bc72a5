import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pack, type Header } from 'tar-stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { unpackArchive } from './archive-files.js';

let root: string;
let into: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'drover-unpack-'));
  into = join(root, 'into');
  await mkdir(into);
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function archive(entries: (Partial<Header> & { name: string; text?: string })[]): Promise<string> {
  const path = join(root, 'a.tar');
  const made = pack();
  for (const { text, ...header } of entries) {
    if (text === undefined) made.entry(header);
    else made.entry(header, text);
  }
  made.finalize();
  await pipeline(made as unknown as NodeJS.ReadableStream, createWriteStream(path));
  return path;
}

it('an archive is unpacked with its folders, links and programs', async () => {
  const path = await archive([
    { name: 'modules/', type: 'directory' },
    { name: 'modules/main.tf', text: 'text' },
    { name: 'run.sh', text: '#!/bin/sh', mode: 0o4755 },
    { name: 'link.tf', type: 'symlink', linkname: 'modules/main.tf' },
    { name: 'same.tf', type: 'link', linkname: 'modules/main.tf' },
    { name: `${'deep/'.repeat(30)}file`, text: 'long name' },
    { name: '.terraform/terraform.tfstate', text: '{}' },
  ]);
  expect(await unpackArchive(path, into)).toEqual({ leftOut: ['.terraform/terraform.tfstate'] });
  expect((await readdir(into)).sort()).toEqual(['deep', 'link.tf', 'modules', 'run.sh', 'same.tf']);
  expect(await readFile(join(into, 'same.tf'), 'utf8')).toBe('text');
  expect(await readlink(join(into, 'link.tf'))).toBe('modules/main.tf');
  expect(await readFile(join(into, `${'deep/'.repeat(30)}file`), 'utf8')).toBe('long name');
  expect((await stat(join(into, 'run.sh'))).mode & 0o7777).toBe(0o700);
  expect((await stat(join(into, 'modules/main.tf'))).mode & 0o7777).toBe(0o600);
});

it.each([
  ['a name that leads out', [{ name: '../x', text: 'x' }], 'leads out of the archive'],
  ['a device', [{ name: 'x', type: 'character-device' as const }], 'is a device'],
  ['a pipe', [{ name: 'x', type: 'fifo' as const }], 'is a device, a pipe'],
  ['a link outside', [{ name: 'x', type: 'symlink' as const, linkname: '../../etc' }], 'leads outside'],
  [
    'a file behind a link',
    [
      { name: 'x', type: 'symlink' as const, linkname: 'y' },
      { name: 'x/z', text: 'z' },
    ],
    'through the link',
  ],
])('of one with %s nothing is written [T5.2]', async (_, entries, message) => {
  const path = await archive([{ name: 'main.tf', text: 'good' }, ...entries]);
  expect(await unpackArchive(path, into)).toEqual({
    reason: 'InvalidArchive',
    message: expect.stringContaining(message),
  });
  expect(await readdir(into)).toEqual([]);
});

it.each([
  ['text', 'no archive at all, but long enough to be read as one'.repeat(50)],
  ['an archive that breaks off', undefined],
])('%s is refused', async (_, text) => {
  const path = await archive([{ name: 'main.tf', text: 'x'.repeat(5000) }]);
  await writeFile(path, text ?? (await readFile(path)).subarray(0, 2000));
  expect(await unpackArchive(path, into)).toMatchObject({
    reason: 'InvalidArchive',
    message: expect.stringContaining('is no tar file'),
  });
});
