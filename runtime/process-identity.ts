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
  const [start, boot] = await Promise.all([processStart(pid), isLinux() ? bootId() : undefined]);
  return start === undefined || boot === undefined ? start : `${boot}/${start}`;
}

const isLinux = (): boolean => process.platform === 'linux';

/** A string that is another one after each start of the machine. @throws Error where the system tells none */
export async function bootId(): Promise<string> {
  if (isLinux()) return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const printed = await output('sysctl', ['-n', 'kern.bootsessionuuid']);
  if (printed === undefined) throw new Error('sysctl does not tell kern.bootsessionuuid');
  return printed.trim();
}

/**
 * When a process began: on Linux in clock ticks since the machine was started, elsewhere as `ps` prints it.
 *
 * @returns undefined when the process does not exist or is a zombie
 */
export async function processStart(pid: number): Promise<string | undefined> {
  if (isLinux()) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const parsed = parseProcStat(stat);
    return parsed === undefined || isDead(parsed.state) ? undefined : parsed.startTicks;
  }
  const line = await output('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
  const match = /^\s*(\S+)\s+(\S.*\S)\s*$/m.exec(line ?? '');
  return match?.[1] === undefined || match[1].startsWith('Z') ? undefined : match[2];
}

const isDead = (state: string): boolean => state === 'Z' || state === 'X';

const output = (command: string, args: string[]): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile(command, args, (error, stdout) => resolve(error ? undefined : stdout));
  });

/** What is read of a `/proc/<pid>/stat` line. */
export interface ProcStat {
  /** One letter. */
  state: string;
  session: number;
  /** Clock ticks since the machine was started. */
  startTicks: string;
}

/** The state letter, session and start time (fields 3, 6 and 22) of a `/proc/<pid>/stat` line. */
export function parseProcStat(line: string): ProcStat | undefined {
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  const session = fields[3];
  const startTicks = fields[19];
  return state && startTicks && /^\d+$/.test(startTicks)
    ? { state, session: Number(session), startTicks }
    : undefined;
}
