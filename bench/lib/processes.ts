/** CPU time and memory of processes on this machine, from Linux's /proc. */
import { readdir, readFile, writeFile } from 'node:fs/promises';

/** Linux counts CPU time for its users in hundredths of a second, whatever the kernel's own clock is. */
const TICKS_PER_SECOND = 100;

/** What a process has used. */
export interface Usage {
  pid: number;
  /** Seconds of CPU since it began, of user and system; with those of the processes that it has started. */
  cpuSeconds: number;
  rssMiB: number;
  /** Since it began, or since {@link resetPeak}. */
  peakMiB: number;
}

/** Whether usage can be read here at all. */
export const canMeasure = process.platform === 'linux';

/** Reads the usage of a process; undefined when it is gone or this is no Linux. */
export async function usageOf(pid: number): Promise<Usage | undefined> {
  try {
    const [stat, status] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/status`, 'utf8'),
    ]);
    return { pid, cpuSeconds: cpuSecondsOf(stat) + (await cpuSecondsOfChildren(pid)), ...memoryOf(status) };
  } catch {
    return undefined;
  }
}

/** A database server has a process for each connection. */
async function cpuSecondsOfChildren(pid: number): Promise<number> {
  let sum = 0;
  for (const task of await readdir(`/proc/${pid}/task`)) {
    const children = await readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '');
    const used = await Promise.all(
      children
        .split(' ')
        .filter((child) => child !== '')
        .map((child) => usageOf(Number(child))),
    );
    sum += used.reduce((total, usage) => total + (usage?.cpuSeconds ?? 0), 0);
  }
  return sum;
}

/** CPU seconds of a `/proc/PID/stat` line, with those of children that have ended. */
export function cpuSecondsOf(stat: string): number {
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks), 0) / TICKS_PER_SECOND;
}

/** Resident memory and its peak of a `/proc/PID/status` file. */
export function memoryOf(status: string): { rssMiB: number; peakMiB: number } {
  const kib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
  return { rssMiB: kib('VmRSS') / 1024, peakMiB: kib('VmHWM') / 1024 };
}

/** Seconds since a process began; undefined when it is gone or this is no Linux. */
export async function processAgeSeconds(pid: number): Promise<number | undefined> {
  try {
    const [stat, uptime] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile('/proc/uptime', 'utf8'),
    ]);
    const startTicks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
    return Number(uptime.split(' ', 1)[0]) - startTicks / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}

/** Lets a process's peak of memory begin anew; where that is not allowed the peak stays that of its whole life. */
export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => undefined);
}

/** CPU seconds that all processors have been busy since the machine began; undefined when this is no Linux. */
export async function machineBusySeconds(): Promise<number | undefined> {
  try {
    const [, ...fields] = (await readFile('/proc/stat', 'utf8')).split('\n', 1)[0]?.split(/\s+/) ?? [];
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = fields.map(Number);
    return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}
