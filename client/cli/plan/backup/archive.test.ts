import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { extract, pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BrokenArchive, openArchive } from './archive.js';
import { createArchiveWriter } from './archive-writer.js';
import type { About } from './manifest.js';

const ABOUT: About = {
  drover: '1.2.3',
  takenAt: '2026-11-30T12:00:00.000Z',
  cluster: { uid: 'c0ffee00-0000-4000-8000-000000000000', id: 'c0ffee00' },
  temporal: { address: null, namespace: null, namespaceIds: [] },
  secrets: 'included',
  installation: { namespace: 'drover-system' },
  definitions: [],
  live: [],
};
const objectsOf = (sort: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    metadata: { name: `${sort}-${at}` },
    text: 'ä\n'.repeat(at * 40),
  }));

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-archive-'));
  file = join(folder, 'backup.tar');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write() {
  const archive = createArchiveWriter(createWriteStream(file, { mode: 0o600 }), { time: new Date(0) });
  await archive.add('drplans', objectsOf('plan', 30));
  await archive.add('drplanexecutions', objectsOf('first', 40));
  await archive.add('drplanexecutions', objectsOf('second', 3));
  return archive.finish(ABOUT);
}
const all = async (sort: string): Promise<unknown[]> => {
  const archive = await openArchive(file);
  try {
    const found: unknown[] = [];
    for await (const object of archive.objects(sort)) found.push(object);
    return found;
  } finally {
    await archive.close();
  }
};
const opened = async () => {
  const archive = await openArchive(file);
  await archive.close();
  return archive;
};

describe('an archive', () => {
  it('gives back what was written, sort by sort and in order', async () => {
    const written = await write();
    expect(await all('drplans')).toEqual(objectsOf('plan', 30));
    expect(await all('drplanexecutions')).toEqual([...objectsOf('first', 40), ...objectsOf('second', 3)]);
    expect(await all('drworkflows')).toEqual([]);
    const archive = await opened();
    expect(archive.manifest).toEqual({ format: 1, ...ABOUT, entries: written.manifest.entries });
    expect(archive.count('drplanexecutions')).toBe(43);
    const bytes = await readFile(file);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    expect(written).toMatchObject({ bytes: bytes.length, sha256 });
    expect(archive).toMatchObject({ bytes: bytes.length, sha256 });
  });

  it('is a plain tar file that nobody else may read', async () => {
    await write();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const names: string[] = [];
    const tar = extract();
    createReadStream(file).pipe(tar);
    for await (const entry of tar) {
      names.push(entry.header.name);
      expect(entry.header.mode).toBe(0o600);
      entry.resume();
    }
    expect(names).toEqual([
      'drplans/000001.ndjson',
      'drplanexecutions/000001.ndjson',
      'drplanexecutions/000002.ndjson',
      'manifest.json',
    ]);
  });

  it('is refused when it was cut, wherever', async () => {
    const { bytes } = await write();
    for (const left of [0, 300, 512, 5000, bytes - 20_000, bytes - 1025]) {
      await write();
      await truncate(file, left);
      await expect(openArchive(file), String(left)).rejects.toThrow(/was cut/);
    }
  });

  it('is refused when a byte of an object was altered, and says where', async () => {
    await write();
    const bytes = await readFile(file);
    const at = bytes.indexOf('first-7');
    bytes.write('w', at);
    await writeFile(file, bytes);
    await expect(openArchive(file)).rejects.toThrow(
      /"drplanexecutions\/000001.ndjson" was altered: its SHA-256/,
    );
  });

  it('is refused when it was altered after it was opened', async () => {
    await write();
    const archive = await openArchive(file);
    const bytes = await readFile(file);
    bytes.write('w', bytes.indexOf('second-1'));
    await writeFile(file, bytes);
    const read = async () => {
      for await (const _ of archive.objects('drplanexecutions'));
    };
    await expect(read()).rejects.toThrow(BrokenArchive);
    await archive.close();
  });

  it.each([
    ['holds more than its manifest names', ['drplans/000009.ndjson', 'manifest.json'], /does not name/],
    ['goes on behind its manifest', ['manifest.json', 'drplans/000009.ndjson'], /something stands behind/],
    ['has no manifest', ['drplans/000009.ndjson'], /no manifest.json/],
  ])('is refused when it %s', async (_, names, message) => {
    const tar = pack();
    const text = JSON.stringify({ format: 1, ...ABOUT, entries: [] });
    for (const name of names) tar.entry({ name }, name === 'manifest.json' ? text : '{}\n');
    tar.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of tar as unknown as AsyncIterable<Buffer>) chunks.push(chunk);
    await writeFile(file, Buffer.concat(chunks));
    await expect(openArchive(file)).rejects.toThrow(message);
  });

  it.each([
    ['of a later format', JSON.stringify({ format: 2 }), /it has format 2, and this program reads up to 1/],
    ['without JSON', 'yes', /not JSON/],
    ['of another shape', JSON.stringify({ format: 1 }), /its manifest.json is not as it should be: drover/],
  ])('is refused with a manifest %s', async (_, text, message) => {
    const tar = pack();
    tar.entry({ name: 'manifest.json' }, text);
    tar.finalize();
    await rm(file, { force: true });
    for await (const chunk of tar as unknown as AsyncIterable<Buffer>) await appendFile(file, chunk);
    await expect(openArchive(file)).rejects.toThrow(message);
  });

  it('that cannot be written says so, and does not wait for ever', async () => {
    const full = new Writable({
      write(_, __, done) {
        done(new Error('no space left on device'));
      },
    });
    const archive = createArchiveWriter(full, { time: new Date(0) });
    const fill = async () => {
      for (let turn = 0; turn < 100; turn += 1) await archive.add('drplans', objectsOf('plan', 60));
      await archive.finish(ABOUT);
    };
    await expect(fill()).rejects.toThrow('no space left on device');
  });
});
