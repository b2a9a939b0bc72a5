/** Runs the engine once: output into files, one SIGINT at most, a kill only where it is due (T7.2, T7.7). */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { open, type FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineEnd } from '../api/terraform/operation-result.js';
import { PRIVATE_FILE } from '../runtime/durable-files.js';
import type { Interruption } from './interruption.js';

/** One run of the engine. */
export interface EngineRun {
  program: string;
  args: readonly string[];
  folder: string;
  env: Readonly<Record<string, string>>;
  /** Files that its output is appended to: never pipes, which kill it when their reader dies. */
  out: string;
  err: string;
  interruption: Interruption;
  /** Interrupts it after so many milliseconds, by `timeout`. */
  timeoutMs?: number;
  /** From the interrupt on; before that a kill waits. In milliseconds. */
  killAfterMs: number;
  /** Whether it is killed then without being told to. */
  isKilledBySelf: boolean;
  /** Before it is sent its SIGINT. */
  beforeInterrupt?: () => Promise<void>;
  /** When it runs. */
  started?: (pid: number) => Promise<void>;
}

/**
 * Runs an engine to its end.
 *
 * @throws Error where it cannot be started
 */
export async function runEngine(run: EngineRun): Promise<EngineEnd> {
  const [out, err] = await Promise.all([open(run.out, 'a', PRIVATE_FILE), open(run.err, 'a', PRIVATE_FILE)]);
  try {
    const listening = await listeningOf(out);
    const child = spawn(run.program, run.args, {
      cwd: run.folder,
      env: run.env,
      stdio: ['ignore', out.fd, err.fd],
    });
    const ended = endOf(child);
    const control = steer(child, run, listening);
    try {
      // The engine works already: whatever goes wrong here, it is waited for.
      if (child.pid !== undefined) await run.started?.(child.pid).catch(() => undefined);
      const end = await ended;
      return end.kind === 'signalled' ? { ...end, byUs: control.hasKilled() } : end;
    } finally {
      control.stop();
    }
  } finally {
    await Promise.all([out.close(), err.close()]);
  }
}

const endOf = (child: ChildProcess): Promise<EngineEnd> =>
  new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      resolve(
        signal === null ? { kind: 'exited', code: code ?? 0 } : { kind: 'signalled', signal, byUs: false },
      ),
    );
  });

/** An engine has shown by its first line that it listens to signals; one that says nothing is taken to. */
const LISTENS_WITHIN_MS = 2000;
const LOOK_MS = 20;

/** Waits until the engine that writes into a file listens to signals: one that comes too early would end it. */
async function listeningOf(out: FileHandle): Promise<() => Promise<void>> {
  const { size } = await out.stat();
  const deadline = Date.now() + LISTENS_WITHIN_MS;
  return async () => {
    while (Date.now() < deadline && (await out.stat()).size === size) await sleep(LOOK_MS);
  };
}

/** Passes on an interrupt once, and a kill when it is due. */
function steer(
  child: ChildProcess,
  run: EngineRun,
  listening: () => Promise<void>,
): { stop: () => void; hasKilled: () => boolean } {
  const { interruption, killAfterMs } = run;
  const timers: NodeJS.Timeout[] = [];
  let interruptedAt: number | undefined;
  let isKillDue = false;
  let hasKilled = false;
  let hasStopped = false;

  const kill = (): void => {
    hasKilled = !hasStopped && child.kill('SIGKILL');
  };
  const interrupt = async (): Promise<void> => {
    await Promise.all([run.beforeInterrupt?.(), listening()]);
    if (!hasStopped) child.kill('SIGINT');
  };
  const look = (): void => {
    if (interruption.cause() !== undefined && interruptedAt === undefined) {
      interruptedAt = Date.now();
      // Should the note of it not be written, the engine is interrupted all the same.
      void interrupt().catch(() => hasStopped || child.kill('SIGINT'));
    }
    const isAsked = run.isKilledBySelf || interruption.killReason() !== undefined;
    if (interruptedAt === undefined || !isAsked || isKillDue) return;
    isKillDue = true;
    timers.push(setTimeout(kill, Math.max(0, interruptedAt + killAfterMs - Date.now())));
  };
  const unwatch = interruption.watch(look);
  if (run.timeoutMs !== undefined) {
    const message = `it took longer than ${Math.round(run.timeoutMs / 1000)} s`;
    timers.push(setTimeout(() => interruption.interrupt({ by: 'timeout', reason: message }), run.timeoutMs));
  }
  return {
    stop() {
      hasStopped = true;
      unwatch();
      for (const timer of timers) clearTimeout(timer);
    },
    hasKilled: () => hasKilled,
  };
}
