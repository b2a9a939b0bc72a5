import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/**
 * A string that no other process, before or after, has together with the same
 * pid: a pid alone is reused by the system, and signalling a stranger must not
 * happen. On Linux it is boot id + start time in clock ticks, elsewhere the
 * start time `ps` prints.
 *
 * @returns undefined when the process does not exist or is a zombie.
 */
export async function processIdentity(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    try {
      const [stat, boot] = await Promise.all([
        readFile(`/proc/${pid}/stat`, 'utf8'),
        readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
      ]);
      const parsed = parseProcStat(stat);
      return parsed === undefined || parsed.state === 'Z' || parsed.state === 'X'
        ? undefined
        : `${boot.trim()}/${parsed.startTicks}`;
    } catch {
      return undefined;
    }
  }
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], (error, stdout) => {
      const match = /^\s*(\S+)\s+(\S.*\S)\s*$/m.exec(stdout);
      resolve(error || match?.[1] === undefined || match[1].startsWith('Z') ? undefined : match[2]);
    });
  });
}

/** The state letter and start time (field 22, clock ticks since boot) of a `/proc/<pid>/stat` line. */
export function parseProcStat(line: string): { state: string; startTicks: string } | undefined {
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  const startTicks = fields[19];
  return state && startTicks && /^\d+$/.test(startTicks) ? { state, startTicks } : undefined;
}
