/** A run of the tests that was cut short leaves nothing behind for longer than until the next one. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDetached, stopProcess } from '../../local/processes.js';
import { isAlive } from '../../local/state.js';
import type { ProcessRecord } from '../../local/state.js';
import { makeRoot, recordServer, removeLeftovers } from '../support/leftovers.js';

let folder: string;
const records: ProcessRecord[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-leftovers-'));
});
afterAll(async () => {
  for (const record of records) await stopProcess(record, 0);
  await rm(folder, { recursive: true, force: true });
});

/** A run with a server of its own. */
async function startRun(): Promise<{ root: string; record: ProcessRecord }> {
  const root = await makeRoot(folder);
  const own = join(root, 'some', 'server');
  await mkdir(own, { recursive: true });
  const record = await startDetached({
    name: 'temporal',
    command: process.execPath,
    args: ['-e', 'setInterval(() => undefined, 1000)'],
    log: join(own, 'log'),
  });
  records.push(record);
  await recordServer(own, 'temporal', record);
  return { root, record };
}

it('servers and files of a run whose process is gone are removed, those of one that goes on are left alone', async () => {
  const [gone, going] = [await startRun(), await startRun()];
  const { stdout } = await promisify(execFile)(process.execPath, ['-p', 'process.pid']);
  await writeFile(join(gone.root, 'owner.json'), JSON.stringify({ pid: Number(stdout), identity: 'ended' }));

  expect(await removeLeftovers(folder)).toBe(1);
  expect(await isAlive(gone.record)).toBe(false);
  expect(await isAlive(going.record)).toBe(true);
  expect((await readdir(folder)).map((name) => join(folder, name))).toEqual([going.root]);
});
