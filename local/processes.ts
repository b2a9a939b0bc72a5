import { spawn } from 'node:child_process';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { processIdentity } from '../runtime/process-identity.js';
import { isAlive, type ProcessName, type ProcessRecord } from './state.js';

/** A program to run in the background. */
export interface ProcessSpec {
  name: ProcessName;
  command: string;
  args: string[];
  /** Added to the caller's environment; undefined removes a variable. */
  env?: Record<string, string | undefined>;
  /** File that gets its output, appended. */
  log: string;
  /** True once it serves. May throw: that counts as "not yet". */
  ready: () => Promise<boolean>;
  /** How long it may take to be ready, in milliseconds. */
  readyTimeoutMs: number;
}

const logRotationBytes = 50 << 20;

/**
 * Starts a process that outlives the caller, its output going to the log file.
 *
 * @throws Error when the program cannot be started or ends at once.
 */
export async function startDetached(
  spec: Omit<ProcessSpec, 'ready' | 'readyTimeoutMs'>,
): Promise<ProcessRecord> {
  if ((await fileSize(spec.log)) > logRotationBytes) await rename(spec.log, `${spec.log}.1`);
  const logFrom = await fileSize(spec.log);
  const log = await open(spec.log, 'a', 0o600);
  try {
    const env: NodeJS.ProcessEnv = { ...process.env, ...spec.env };
    for (const [key, value] of Object.entries(env)) if (value === undefined) delete env[key];
    const child = spawn(spec.command, spec.args, {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env,
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    const pid = child.pid;
    const identity = pid === undefined ? undefined : await processIdentity(pid);
    if (pid === undefined || identity === undefined) {
      throw new Error(`ended at once`);
    }
    return {
      pid,
      identity,
      command: [spec.command, ...spec.args],
      startedAt: new Date().toISOString(),
      log: spec.log,
      logFrom,
    };
  } catch (error) {
    throw new Error(
      `${spec.name} (${spec.command}) did not start: ${(error as Error).message}${await logTail(spec.log, logFrom)}`,
      { cause: error },
    );
  } finally {
    await log.close();
  }
}

/**
 * Waits until a started process serves.
 *
 * @throws Error with the last lines of its log when it ends first or takes too long, and the signal's reason.
 */
export async function waitReady(
  spec: ProcessSpec,
  record: ProcessRecord,
  signal?: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + spec.readyTimeoutMs;
  let last: string | undefined;
  for (let pause = 20; ; pause = Math.min(pause * 1.5, 250)) {
    signal?.throwIfAborted();
    try {
      if (await spec.ready()) return;
    } catch (error) {
      last = ` (last: ${(error as Error).message})`;
    }
    if (!(await isAlive(record))) {
      throw new Error(`${spec.name} ended before it was ready${await logTail(spec.log, record.logFrom)}`);
    }
    if (Date.now() > deadline) {
      const seconds = Math.round(spec.readyTimeoutMs / 1000);
      throw new Error(
        `${spec.name} was not ready after ${seconds} s${last ?? ''}${await logTail(spec.log, record.logFrom)}`,
      );
    }
    await sleep(pause);
  }
}

/** How a process ended when told to. */
export type StopOutcome = 'was-not-running' | 'stopped' | 'killed';

/**
 * Stops a recorded process: SIGTERM, and SIGKILL after `graceMs`. A process
 * that merely has the recorded pid is left alone. Children the process left in
 * its own process group are killed with it.
 *
 * @throws Error when it survives SIGKILL for 5 s.
 */
export async function stopProcess(record: ProcessRecord | undefined, graceMs: number): Promise<StopOutcome> {
  if (record === undefined || !(await isAlive(record))) return 'was-not-running';
  send(record.pid, 'SIGTERM');
  let outcome: StopOutcome = 'stopped';
  if (!(await goneWithin(record, graceMs))) {
    outcome = 'killed';
    send(record.pid, 'SIGKILL');
    if (!(await goneWithin(record, 5000))) {
      throw new Error(`process ${record.pid} (${record.command[0]}) is still there 5 s after SIGKILL`);
    }
  }
  send(-record.pid, 'SIGKILL');
  return outcome;
}

async function goneWithin(record: ProcessRecord, ms: number): Promise<boolean> {
  const deadline = Date.now() + ms;
  while (await isAlive(record)) {
    if (Date.now() >= deadline) return false;
    await sleep(25);
  }
  return true;
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

/** The last lines a process wrote to its log since `from` (bytes), laid out to follow an error message. */
async function logTail(path: string, from: number, lines = 15): Promise<string> {
  const content = await readFile(path).catch(() => Buffer.alloc(0));
  const tail = content.subarray(from).toString('utf8').trimEnd().split('\n').slice(-lines).join('\n');
  return tail === '' ? ` (it wrote nothing to its log ${path})` : `; the end of ${path}:\n${tail}`;
}

async function fileSize(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
