import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processIdentity } from '../runtime/process-identity.js';

/** How to wait for a lock that another process holds. */
export interface LockOptions {
  /** Gives up after this many milliseconds with an error that names the holder's pid. */
  timeoutMs: number;
  /** Called once when the lock is held by someone else. */
  onWait?: (holderPid: number) => void;
}

/**
 * Runs `work` while holding the lock file `path`. The lock of a process that
 * has died is taken over. Meant for one machine (it looks at pids).
 *
 * @throws Error when another live process still holds it after `timeoutMs`.
 */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  const own = JSON.stringify({
    pid: process.pid,
    identity: await processIdentity(process.pid),
    token: randomUUID(),
  });
  const deadline = Date.now() + options.timeoutMs;
  let told = false;
  while (!(await tryTake(path, own))) {
    const held = await read(path);
    if (held === undefined) continue;
    const holder = parseHolder(held);
    if (holder === undefined || (await processIdentity(holder.pid)) !== holder.identity) {
      await removeStale(path, held);
      continue;
    }
    if (!told) options.onWait?.(holder.pid);
    told = true;
    if (Date.now() >= deadline) {
      throw new Error(
        `${path} is held by process ${holder.pid}, still alive after ${Math.round(options.timeoutMs / 1000)} s; ` +
          `wait for it to finish or stop it, then try again`,
      );
    }
    await sleep(100);
  }
  try {
    return await work();
  } finally {
    if ((await read(path)) === own) await rm(path, { force: true });
  }
}

// Written under another name first, so that a lock file is never seen half-written.
async function tryTake(path: string, content: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, content, { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function removeStale(path: string, seen: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  // Between reading and renaming, someone else may have cleared it and taken the lock: give that one back.
  if ((await read(aside)) !== seen) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

async function read(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

function parseHolder(text: string): { pid: number; identity: string } | undefined {
  try {
    const value = JSON.parse(text) as { pid?: unknown; identity?: unknown };
    return typeof value.pid === 'number' && typeof value.identity === 'string'
      ? { pid: value.pid, identity: value.identity }
      : undefined;
  } catch {
    return undefined;
  }
}
