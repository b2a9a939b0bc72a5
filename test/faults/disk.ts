import { spawnSync } from 'node:child_process';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const SIZE = '1g';
const CHUNK = Buffer.alloc(1 << 20);

/**
 * Puts a small file system of its own over a directory, so that filling it harms nobody else.
 *
 * @returns by which it is taken away again; undefined where that is not allowed
 */
export function mountSmallDisk(directory: string): (() => void) | undefined {
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', directory]);
  if (mounted.status !== 0) return undefined;
  return () => {
    spawnSync('umount', ['-l', directory]);
  };
}

/** Writes until nothing more fits, and takes it away after a while. */
export async function fillDisk(directory: string, ms: number): Promise<void> {
  const path = join(directory, 'filler');
  const file = await open(path, 'w');
  try {
    for (;;) await file.write(CHUNK);
  } catch {
    await sleep(ms);
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}
