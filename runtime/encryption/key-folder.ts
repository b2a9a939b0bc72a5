import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KeyRingError } from './key-ring.js';
import type { KeySource } from './key-ring.js';

/** Reads a ring from a folder with one file per entry, as a mounted Secret is; hidden files are ignored. */
export function keyFolder(path: string): KeySource {
  return async () => {
    const names = await readdir(path).catch((error: unknown) => {
      throw new KeyRingError(`the folder of encryption keys "${path}" cannot be read: ${String(error)}`, {
        cause: error,
      });
    });
    const wanted = names.filter((name) => !name.startsWith('.'));
    return Object.fromEntries(
      await Promise.all(wanted.map(async (name) => [name, await readFile(join(path, name), 'utf8')])),
    ) as Record<string, string>;
  };
}
