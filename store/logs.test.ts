import { expect, it } from 'vitest';
import type { Documents } from './documents.js';
import { appendLog, readLog } from './logs.js';

/** Records in memory: what is looked at is which pieces there are. */
function pieces(): Documents & { all: Map<string, Buffer> } {
  const all = new Map<string, Buffer>();
  return {
    all,
    getBytes: (key: string) => Promise.resolve(all.get(key)),
    putBytes: (key: string, bytes: Uint8Array) => Promise.resolve(void all.set(key, Buffer.from(bytes))),
    delete: (key: string) => Promise.resolve(void all.delete(key)),
    keys: (folder: string) =>
      Promise.resolve([...all.keys()].filter((key) => key.startsWith(`${folder}/`)).sort()),
  } as unknown as Documents & { all: Map<string, Buffer> };
}

const MIB = 1024 ** 2;

it('of a log of 100 MiB the first and the last 32 stay, and a reader is told what is left out [T1.6]', async () => {
  const documents = pieces();
  let stored = 0;
  for (let i = 0; i < 100; i += 1) {
    const text = String(i % 10).repeat(MIB);
    stored = await appendLog(documents, 'o/out', { offset: stored, text }, { stored, maxBytes: 64 * MIB });
  }
  const bytes = [...documents.all.values()].reduce((sum, piece) => sum + piece.length, 0);
  expect(bytes).toBeGreaterThanOrEqual(64 * MIB);
  expect(bytes).toBeLessThanOrEqual(66 * MIB);
  let read = 0;
  let note = '';
  for await (const chunk of readLog((work) => work(documents), 'o/out', 0)) {
    if (chunk.length < 100) note = chunk.toString();
    else read += chunk.length;
  }
  expect(note).toMatch(/^\n\.\.\. \d+ bytes are left out \.\.\.\n$/);
  expect(read + Number(/\d+/.exec(note)?.[0])).toBe(100 * MIB);
});

it('small parts are put together, and one that comes again is stored once', async () => {
  const documents = pieces();
  let stored = 0;
  for (let i = 0; i < 200; i += 1) {
    stored = await appendLog(
      documents,
      'o/out',
      {
        offset: Math.max(0, stored - 5),
        text: 'x'.repeat(1005),
      },
      { stored, maxBytes: 64 * MIB },
    );
  }
  expect(documents.all.size).toBeLessThan(5);
  const all = [...documents.all.values()].reduce((sum, piece) => sum + piece.length, 0);
  expect(all).toBe(stored);
});
