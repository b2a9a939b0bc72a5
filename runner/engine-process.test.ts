import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runEngine, type EngineRun } from './engine-process.js';
import { createInterruption, interruptOnSignals, type Interruption } from './interruption.js';

let folder: string;
let interruption: Interruption;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-engine-'));
  interruption = createInterruption();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a script that says `up` when it listens. */
const run = (script: string, over: Partial<EngineRun> = {}) =>
  runEngine({
    program: '/bin/sh',
    args: ['-c', script],
    folder,
    env: { PATH: process.env.PATH ?? '' },
    out: join(folder, 'out'),
    err: join(folder, 'err'),
    interruption,
    killAfterMs: 200,
    isKilledBySelf: false,
    ...over,
  });
const said = (): Promise<string> => readFile(join(folder, 'out'), 'utf8').catch(() => '');
async function up(): Promise<void> {
  while (!(await said()).includes('up')) await sleep(5);
}
const COUNTS =
  'n=0; trap "n=$((n+1)); echo got $n" INT; echo up; i=0; while [ $i -lt 40 ]; do sleep 0.02; i=$((i+1)); done; exit $n';

describe('an engine', () => {
  it('writes into files, appended, and ends with its code', async () => {
    expect(await run('echo one; echo two >&2; exit 3')).toEqual({ kind: 'exited', code: 3 });
    await run('echo three');
    expect(await said()).toBe('one\nthree\n');
    expect(await readFile(join(folder, 'err'), 'utf8')).toBe('two\n');
  });

  it('that cannot be started is an error', async () => {
    await expect(run('', { program: '/no/such/engine' })).rejects.toThrow(/ENOENT/);
  });

  it('gets one SIGINT, however often it is interrupted [T7.7]', async () => {
    const end = run(COUNTS);
    await up();
    for (let i = 0; i < 5; i += 1) interruption.interrupt({ by: 'outside', reason: String(i) });
    expect(await end).toEqual({ kind: 'exited', code: 1 });
    expect(interruption.cause()).toMatchObject({ by: 'outside', reason: '0' });
  });

  it('is interrupted although the note of it cannot be written', async () => {
    const end = run(COUNTS, { beforeInterrupt: () => Promise.reject(new Error('disk full')) });
    await up();
    interruption.interrupt({ by: 'request' });
    expect(await end).toEqual({ kind: 'exited', code: 1 });
  });

  it('is noted before its SIGINT', async () => {
    const seen: string[] = [];
    const end = run(COUNTS, {
      beforeInterrupt: async () => {
        await sleep(50);
        seen.push(await said());
      },
    });
    await up();
    interruption.interrupt({ by: 'request' });
    await end;
    expect(seen).toEqual(['up\n']);
  });

  it('is killed on its own after an interrupt, where that is wanted [T7.7]', async () => {
    const began = Date.now();
    const end = run('trap "" INT; echo up; exec sleep 30', { isKilledBySelf: true });
    await up();
    interruption.interrupt({ by: 'request' });
    expect(await end).toEqual({ kind: 'signalled', signal: 'SIGKILL', byUs: true });
    expect(Date.now() - began).toBeGreaterThanOrEqual(200);
  });

  it('is not killed before the time after an interrupt is over, and never without one', async () => {
    const end = run('trap "" INT; echo up; exec sleep 0.6');
    await up();
    interruption.kill('asked');
    await sleep(250);
    expect(await Promise.race([end, sleep(1, 'runs')])).toBe('runs');
    interruption.interrupt({ by: 'request' });
    await sleep(100);
    expect(await Promise.race([end, sleep(1, 'runs')])).toBe('runs');
    expect(await end).toEqual({ kind: 'signalled', signal: 'SIGKILL', byUs: true });
  });

  it('is interrupted when its time is over, and not killed for it', async () => {
    expect(await run(COUNTS, { timeoutMs: 300 })).toEqual({ kind: 'exited', code: 1 });
    expect(interruption.cause()).toMatchObject({ by: 'timeout' });
  });

  it('that is ended by somebody else is not ended by us', async () => {
    const end = run('kill -9 $$');
    expect(await end).toEqual({ kind: 'signalled', signal: 'SIGKILL', byUs: false });
  });
});

it('signals interrupt instead of ending the process, the first of them alone [T7.7]', () => {
  const handlers = new Map<string, () => void>();
  interruptOnSignals(interruption, {
    on: (signal: string, handler: () => void) => handlers.set(signal, handler),
  } as unknown as NodeJS.Process);
  expect([...handlers.keys()]).toEqual(['SIGINT', 'SIGTERM', 'SIGHUP']);
  handlers.get('SIGTERM')!();
  handlers.get('SIGINT')!();
  expect(interruption.cause()).toMatchObject({ by: 'outside', reason: 'the runner was sent SIGTERM' });
});
