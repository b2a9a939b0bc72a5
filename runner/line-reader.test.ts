import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { secretsOf } from '../api/core/redact.js';
import { createLineReader } from './line-reader.js';
import { createLogSender } from './log-sender.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-lines-'));
  file = join(folder, 'out');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('lines of a file that grows', () => {
  it('are given when they are whole, and what is left when the file is over', async () => {
    const reader = createLineReader(file, 100);
    expect(await reader.next(1000, false)).toEqual([]);
    await writeFile(file, 'one\ntw');
    expect(await reader.next(1000, false)).toEqual(['one\n']);
    expect(await reader.next(1000, false)).toEqual([]);
    await appendFile(file, 'o\n\nthree');
    expect(await reader.next(1000, false)).toEqual(['two\n', '\n']);
    expect(await reader.next(1000, true)).toEqual(['three']);
    expect(await reader.next(1000, true)).toEqual([]);
    await reader.close();
  });

  it('are cut where they are too long, and say so; what comes after them is whole [T1.6]', async () => {
    await writeFile(file, `${'x'.repeat(300_000)}\nnext\n`);
    const reader = createLineReader(file, 10);
    const lines = await reader.next(1, false);
    expect(lines[0]).toBe('xxxxxxxxxx… (cut: the line has 300000 bytes)\n');
    expect([...lines.slice(1), ...(await reader.next(1, false))]).toEqual(['next\n']);
    await reader.close();
  });

  it('keep characters that lie across what is read at once', async () => {
    const text = `${'a'.repeat(64 * 1024 - 1)}é\n`;
    await writeFile(file, text);
    const reader = createLineReader(file, 1 << 20);
    const [line = ''] = await reader.next(1, false);
    expect([line.length, line.slice(-3)]).toEqual([text.length, 'aé\n']);
    await reader.close();
  });
});

describe('a log on its way', () => {
  const secrets = secretsOf();
  secrets.add('secret-word');

  it('is given part by part, the same until it is confirmed, without its secrets [T5.5] [T7.3]', async () => {
    await writeFile(file, 'a secret-word\nb\n');
    const sender = createLogSender(file, secrets.redact);
    const whole = 'a [redacted]\nb\n';
    expect(await sender.part(5, false)).toEqual({ offset: 0, text: whole.slice(0, 5) });
    expect(await sender.part(5, false)).toEqual({ offset: 0, text: whole.slice(0, 5) });
    await sender.confirm(5);
    expect(await sender.part(100, false)).toEqual({ offset: 5, text: whole.slice(5) });
    await sender.confirm(whole.length);
    expect(await sender.part(100, true)).toBeUndefined();
    await sender.close();
  });

  it('goes on where the server is: after a runner that had sent more, and after a server that has lost some', async () => {
    await writeFile(file, 'one\ntwo\nthree\n');
    const sender = createLogSender(file, secrets.redact);
    await sender.confirm(6);
    expect(await sender.part(100, false)).toEqual({ offset: 6, text: 'o\nthree\n' });
    await sender.confirm(14);
    await sender.confirm(2);
    expect(await sender.part(100, false)).toEqual({ offset: 2, text: 'e\ntwo\nthree\n' });
    await sender.close();
  });

  it('is cut between characters', async () => {
    await writeFile(file, 'aé€😀\n');
    const sender = createLogSender(file, secrets.redact);
    const parts: string[] = [];
    for (let offset = 0; ;) {
      const part = await sender.part(4, true);
      if (part === undefined) break;
      parts.push(part.text);
      offset += Buffer.byteLength(part.text);
      await sender.confirm(offset);
    }
    expect(parts.join('')).toBe('aé€😀\n');
    expect(parts.some((text) => text.includes('\uFFFD'))).toBe(false);
    await sender.close();
  });
});
