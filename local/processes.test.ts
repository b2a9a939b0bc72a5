import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { startDetached, stopProcess, waitReady, type ProcessSpec } from './processes.js';
import { isAlive } from './state.js';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function spec(script: string, over: Partial<ProcessSpec> = {}): Promise<ProcessSpec> {
  const folder = await mkdtemp(join(tmpdir(), 'drover-process-'));
  folders.push(folder);
  return {
    name: 'worker',
    command: process.execPath,
    args: ['-e', script],
    log: join(folder, 'worker.log'),
    ready: () => Promise.resolve(true),
    readyTimeoutMs: 10_000,
    ...over,
  };
}

describe('started processes', () => {
  it('run with the environment given, write to their log, and stop', async () => {
    const script = 'console.log(process.env.FOO, process.env.GONE); setInterval(() => {}, 1000)';
    process.env['GONE'] = 'still here';
    const made = await spec(script, { env: { FOO: 'bar', GONE: undefined } });
    const record = await startDetached(made);
    delete process.env['GONE'];
    expect(await isAlive(record)).toBe(true);
    expect(await stopProcess(record, 5000)).toBe('stopped');
    expect(await isAlive(record)).toBe(false);
    expect(await stopProcess(record, 5000)).toBe('was-not-running');
  });

  it('are killed when they ignore the request to end', async () => {
    let up = false;
    const made = await spec(
      "process.on('SIGTERM', () => {}); console.log('on'); setInterval(() => {}, 1000)",
    );
    const record = await startDetached(made);
    const { readFile } = await import('node:fs/promises');
    await waitReady(
      { ...made, ready: async () => (up = (await readFile(made.log, 'utf8')).includes('on')) },
      record,
    );
    expect(up).toBe(true);
    expect(await stopProcess(record, 200)).toBe('killed');
  });

  it('are left alone when another process has their pid', async () => {
    const record = await startDetached(await spec('setInterval(() => {}, 1000)'));
    const impostor = { ...record, identity: 'another/1' };
    expect(await isAlive(impostor)).toBe(false);
    expect(await stopProcess(impostor, 100)).toBe('was-not-running');
    expect(await isAlive(record)).toBe(true);
    await stopProcess(record, 5000);
  });

  it('show what they last wrote when they end before they are ready', async () => {
    const made = await spec("console.log('no licence'); process.exit(3)", {
      ready: () => Promise.resolve(false),
    });
    const failure = startDetached(made).then((record) => waitReady(made, record));
    await expect(failure).rejects.toThrow(/worker.*\n.*no licence/s);
  });

  it('say which program could not be started', async () => {
    const made = await spec('', { command: '/no/such/program' });
    await expect(startDetached(made)).rejects.toThrow(
      /worker \(\/no\/such\/program\) did not start: .*ENOENT/,
    );
  });
});
