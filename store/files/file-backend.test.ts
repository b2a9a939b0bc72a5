import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { describeStore } from '../testing/store.suite.js';
import { openFileBackend } from './file-backend.js';
import { holdFolder } from './hold.js';
import { createRecordFolder } from './records.js';

const made: string[] = [];
const folderHere = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'drover-store-'));
  made.push(folder);
  return folder;
};
afterAll(() => Promise.all(made.map((folder) => rm(folder, { recursive: true }))));

describeStore('a store on files', async () => {
  const folder = await folderHere();
  return {
    open: () => openFileBackend({ folder }),
    async damageBlobs() {
      for (const path of await readdir(folder, { recursive: true })) {
        if (!/\/blobs\/[^/]+$/.test(path)) continue;
        const bytes = await readFile(join(folder, path));
        bytes[bytes.length - 20]! ^= 1;
        await writeFile(join(folder, path), bytes);
      }
    },
  };
});

describe('a folder', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await folderHere();
  });

  it('is one process’s: a second is refused, and takes it when the first has closed or died [T9.1]', async () => {
    const first = await openFileBackend({ folder });
    await expect(openFileBackend({ folder })).rejects.toThrow(new RegExp(`in use by process ${process.pid}`));
    await first.close();
    const second = await openFileBackend({ folder });
    await second.close();
    await writeFile(join(folder, 'hold-7'), await holderOf({ pid: 2 ** 22 + 1 }));
    const third = await openFileBackend({ folder });
    expect((await readdir(folder)).filter((name) => name.startsWith('hold-'))).toEqual(['hold-8']);
    await third.close();
  });

  it('that nobody can see is taken after a silence, and not while there are signs of life [T9.1]', async () => {
    const times = { beat: 20, silence: 200 };
    const path = join(folder, 'hold-1');
    await writeFile(path, await holderOf({ bootId: 'another machine' }));
    const beats = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => undefined), 10);
    await expect(holdFolder(folder, times)).rejects.toThrow(/in use by process/);
    clearInterval(beats);
    const hold = await holdFolder(folder, times);
    // Another takes it in turn: this one notices.
    await writeFile(join(folder, 'hold-3'), await holderOf({}));
    await expect(hold.lost).rejects.toThrow(/taken by another process/);
    expect(hold.isLost()).toBe(true);
  });

  async function holderOf(more: object): Promise<string> {
    const own = await holdFolder(await folderHere());
    const folderOfOwn = made.at(-1)!;
    const text = await readFile(join(folderOfOwn, 'hold-1'), 'utf8');
    await own.release();
    return JSON.stringify({ ...(JSON.parse(text) as object), ...more });
  }
});

describe('records', () => {
  let folder: string;
  beforeEach(async () => {
    folder = join(await folderHere(), randomUUID());
  });
  const bytes = (text: string): Buffer => Buffer.from(text);

  it('of a transaction that throws are as they were; those of one that ends are all there', async () => {
    const records = createRecordFolder(folder);
    await records.transact(async ({ put }) => {
      await put('a/1', bytes('one'));
      await put('a/2', bytes('two'));
      await put('b', bytes('bee'));
    }, false);
    const failed = records.transact(async ({ put, delete: remove, keys, get }) => {
      await put('a/1', bytes('changed'));
      await remove('a/2');
      await put('a/3', bytes('three'));
      expect(await keys('a')).toEqual(['a/1', 'a/3']);
      expect((await get('a/1'))!.toString()).toBe('changed');
      throw new Error('no');
    }, false);
    await expect(failed).rejects.toThrow('no');
    const again = createRecordFolder(folder);
    const found = await again.transact(({ entries }) => entries('a'), false);
    expect(found.map(({ key, value }) => `${key} ${value.toString()}`)).toEqual(['a/1 one', 'a/2 two']);
  });

  it('that a crash has written in part are completed from the journal before anything else [T9.1]', async () => {
    const records = createRecordFolder(folder);
    await records.transact(async ({ put }) => {
      await put('a', bytes('old'));
      await put('b', bytes('old'));
    }, false);
    const base64 = (text: string): string => bytes(text).toString('base64');
    await writeFile(
      join(folder, 'journal'),
      JSON.stringify([
        ['a', base64('new')],
        ['b', null],
        ['c/d', base64('new')],
      ]),
    );
    const again = createRecordFolder(folder);
    const found = await again.transact(async ({ get }) => {
      const values = await Promise.all(['a', 'b', 'c/d'].map(get));
      return values.map((value) => value?.toString());
    }, false);
    expect(found).toEqual(['new', undefined, 'new']);
    expect(await readdir(folder)).not.toContain('journal');
  });
});
