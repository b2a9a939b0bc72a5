/**
 * Sees to it that one process at a time has a folder. Holds are numbered files, and the highest number counts: whoever
 * finds its holder dead makes the next one, which only one process can. A holder on this machine is dead when there is no
 * such process; of any other one only silence is seen, for as long as it gives a sign of life each second.
 */
import { readFile, readdir, readlink, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeOnce } from '../../runtime/durable-files.js';
import { bootId, processStart } from '../../runtime/process-identity.js';

/** Another process has the folder. */
export class FolderTaken extends Error {
  override readonly name = 'FolderTaken';
}

/** A folder that this process has. */
export interface Hold {
  /** Rejects when another process has taken the folder: then nothing may be written any more. */
  lost: Promise<never>;
  isLost(): boolean;
  release(): Promise<void>;
}

/** Times in milliseconds. */
export interface HoldTimes {
  /** Between two signs of life. */
  beat: number;
  /** A holder that cannot be seen is dead after a silence of this length. */
  silence: number;
}

const HOLD_TIMES: HoldTimes = { beat: 1000, silence: 15_000 };

interface Holder {
  host: string;
  bootId: string;
  /** Of the numbers of processes: containers of one machine have their own. */
  pids: string;
  pid: number;
  startTime: string;
}

const NAME = /^hold-(\d+)$/;
const nameOf = (n: number): string => `hold-${n}`;

/**
 * Takes a folder that is there.
 *
 * @throws FolderTaken, which says who has it
 */
export async function holdFolder(folder: string, times: HoldTimes = HOLD_TIMES): Promise<Hold> {
  const own: Holder = {
    host: hostname(),
    bootId: await bootId(),
    pids: await pidNamespace(),
    pid: process.pid,
    startTime: (await processStart(process.pid)) ?? '',
  };
  for (;;) {
    const last = await highest(folder);
    if (last > 0) {
      const holder = await readHolder(join(folder, nameOf(last)));
      if (holder !== undefined && (await isAlive(join(folder, nameOf(last)), holder, { own, times })))
        throw new FolderTaken(
          `${folder} is in use by process ${holder.pid} on ${holder.host}: one server at a time has a folder`,
        );
    }
    const mine = last + 1;
    if (!(await writeOnce(join(folder, nameOf(mine)), JSON.stringify(own)))) continue;
    // Another may have gone further with what it saw before: then this one is none.
    if ((await highest(folder)) !== mine) continue;
    for (let old = last; old > 0 && old > last - 3; old -= 1)
      await rm(join(folder, nameOf(old)), { force: true });
    return keepHold(folder, mine, times);
  }
}

function keepHold(folder: string, mine: number, { beat }: HoldTimes): Hold {
  const path = join(folder, nameOf(mine));
  let isLost = false;
  let reject: (error: Error) => void = () => undefined;
  const lost = new Promise<never>((_, fail) => {
    reject = fail;
  });
  lost.catch(() => undefined);
  const timer = setInterval(() => {
    const now = new Date();
    Promise.all([utimes(path, now, now), highest(folder)])
      .then(([, last]) => last === mine)
      // A disk that does not answer for a while is none that another has.
      .catch((error: NodeJS.ErrnoException) => error.code !== 'ENOENT')
      .then((isMine) => {
        if (isMine || isLost) return;
        isLost = true;
        clearInterval(timer);
        reject(new FolderTaken(`${folder} was taken by another process, as this one seemed to be gone`));
      }, reject);
  }, beat);
  timer.unref();
  return {
    lost,
    isLost: () => isLost,
    async release() {
      clearInterval(timer);
      if (!isLost) await rm(path, { force: true });
    },
  };
}

async function highest(folder: string): Promise<number> {
  const numbers = (await readdir(folder)).map((name) => Number(NAME.exec(name)?.[1] ?? 0));
  return Math.max(0, ...numbers);
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch (error) {
    // Released, or taken by another, a moment ago.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function isAlive(
  path: string,
  holder: Holder,
  { own, times }: { own: Holder; times: HoldTimes },
): Promise<boolean> {
  const isSeen = holder.bootId === own.bootId && holder.pids === own.pids;
  if (isSeen) return (await processStart(holder.pid)) === holder.startTime;
  // By this machine's own clock: those of others may be wrong.
  const began = Date.now();
  const first = await beatOf(path);
  while (Date.now() - began < times.silence) {
    await sleep(times.beat / 2);
    const now = await beatOf(path);
    if (now === undefined) return false;
    if (now !== first) return true;
  }
  return false;
}

const beatOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );

const pidNamespace = (): Promise<string> => readlink('/proc/self/ns/pid').catch(() => '');
