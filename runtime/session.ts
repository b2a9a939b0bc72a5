import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseProcStat } from './process-identity.js';

/** How often it is looked whether a process has ended. */
const LOOK_MS = 50;

/**
 * The processes of a session, its leader left out: what the leader has started, and what those have started, orphans
 * too, but for what has opened a session of its own. Without sessions that `ps` tells, as on macOS, those of the group of
 * the leader.
 *
 * @param leader its pid; 1 is all processes that there are, as in a container
 */
export async function processesOfSession(leader: number): Promise<number[]> {
  if (process.platform !== 'linux') return processesOfGroup(leader);
  const names = await readdir('/proc');
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name): Promise<number[]> => {
        const stat = parseProcStat(await readFile(`/proc/${name}/stat`, 'utf8').catch(() => ''));
        if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return [];
        return leader === 1 || stat.session === leader ? [Number(name)] : [];
      }),
  );
  return found.flat().filter((pid) => pid !== leader && pid !== process.pid);
}

const processesOfGroup = (group: number): Promise<number[]> =>
  new Promise((resolve) => {
    execFile('ps', ['-axo', 'pid=,pgid=,stat='], (error, stdout) => {
      const rows = error === null ? stdout.trim().split('\n') : [];
      const found = rows.map((row) => row.trim().split(/\s+/));
      const members = found.filter(
        ([, pgid, stat]) => Number(pgid) === group && stat?.startsWith('Z') !== true,
      );
      resolve(members.map(([pid]) => Number(pid)).filter((pid) => pid !== group && pid !== process.pid));
    });
  });

/** Whether a process leads a session, so that what it starts can be told from everything else. */
export async function isSessionLeader(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return pid === process.pid && pid === (await groupOf(pid));
  return parseProcStat(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))?.session === pid;
}

const groupOf = (pid: number): Promise<number> =>
  new Promise((resolve) => {
    execFile('ps', ['-o', 'pgid=', '-p', String(pid)], (error, stdout) =>
      resolve(error === null ? Number(stdout) : 0),
    );
  });

/**
 * Ends what a session still has: SIGTERM, and SIGKILL for what is there after `graceMs`.
 *
 * @returns how many processes there were
 */
export async function endSession(leader: number, graceMs: number): Promise<number> {
  const first = await processesOfSession(leader);
  signalAll(first, 'SIGTERM');
  const deadline = Date.now() + graceMs;
  let left = first;
  while (left.length > 0 && Date.now() < deadline) {
    await sleep(LOOK_MS);
    left = await processesOfSession(leader);
  }
  // What is started while others are ended is met by the next round.
  while (left.length > 0) {
    signalAll(left, 'SIGKILL');
    await sleep(LOOK_MS);
    left = await processesOfSession(leader);
  }
  return first.length;
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has just ended.
    }
  }
}
