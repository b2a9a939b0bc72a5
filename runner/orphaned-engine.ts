import { setTimeout as sleep } from 'node:timers/promises';
import { processStart } from '../runtime/process-identity.js';
import { processesOfSession } from '../runtime/session.js';
import type { Interruption } from './interruption.js';

/** How often it is looked whether it still works. */
const LOOK_MS = 200;

/** An engine whose runner is dead. */
export interface OrphanedEngine {
  /** Its process; undefined where the runner died before it noted that: then all that it has started counts. */
  engine: { pid: number; startTime: string } | undefined;
  /** Of its session: the dead runner's pid. */
  leader: number;
  interruption: Interruption;
  /** The runner has sent its one SIGINT already, or was about to. */
  wasInterrupted: boolean;
  /** Before it is sent one. @returns false where somebody has done so already */
  noteInterrupt: () => Promise<boolean>;
  /** From the interrupt to a kill at the earliest, in milliseconds. */
  killAfterMs: number;
}

/** Waits for an engine to end; passes on an interrupt once, and a kill (T7.7). */
export async function orphanedEngine(options: OrphanedEngine): Promise<void> {
  const { engine, leader, interruption, wasInterrupted, noteInterrupt, killAfterMs } = options;
  let interruptedAt: number | undefined;
  for (;;) {
    const processes = await living(engine, leader);
    if (processes.length === 0) return;
    if (interruption.cause() !== undefined && interruptedAt === undefined) {
      interruptedAt = Date.now();
      if (!wasInterrupted && (await noteInterrupt())) signal(processes, 'SIGINT');
    }
    const isDue = interruptedAt !== undefined && Date.now() >= interruptedAt + killAfterMs;
    if (isDue && interruption.killReason() !== undefined) signal(processes, 'SIGKILL');
    await sleep(LOOK_MS);
  }
}

async function living(engine: OrphanedEngine['engine'], leader: number): Promise<number[]> {
  if (engine === undefined) return processesOfSession(leader);
  return (await processStart(engine.pid)) === engine.startTime ? [engine.pid] : [];
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has just ended.
    }
  }
}
