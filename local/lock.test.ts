import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withLock } from './lock.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-lock-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('withLock', () => {
  it('lets one in at a time and leaves nothing behind', async () => {
    const path = join(folder, 'lock');
    let inside = 0;
    let most = 0;
    const one = (): Promise<void> =>
      withLock(path, { timeoutMs: 10_000 }, async () => {
        most = Math.max(most, ++inside);
        await sleep(5);
        inside--;
      });
    await Promise.all([one(), one(), one(), one()]);
    expect(most).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });

  it('takes over the lock of a process that has died', async () => {
    const path = join(folder, 'lock');
    await writeFile(path, JSON.stringify({ pid: process.pid, identity: 'an earlier process with this pid' }));
    expect(await withLock(path, { timeoutMs: 100 }, () => Promise.resolve('mine'))).toBe('mine');
  });

  it('names the holder when it does not get the lock in time', async () => {
    const path = join(folder, 'lock');
    const waits: number[] = [];
    await withLock(path, { timeoutMs: 100 }, async () => {
      const second = withLock(path, { timeoutMs: 50, onWait: (pid) => waits.push(pid) }, () =>
        Promise.resolve(),
      );
      await expect(second).rejects.toThrow(`held by process ${process.pid}`);
    });
    expect(waits).toEqual([process.pid]);
  });

  it('is free again after the work has thrown', async () => {
    const path = join(folder, 'lock');
    const failing = withLock(path, { timeoutMs: 100 }, () => Promise.reject(new Error('boom')));
    await expect(failing).rejects.toThrow('boom');
    expect(await withLock(path, { timeoutMs: 100 }, () => Promise.resolve(1))).toBe(1);
  });
});
