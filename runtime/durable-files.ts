/** Files that are there whole or not at all, also after the machine has lost its power. */
import { randomUUID } from 'node:crypto';
import { access, link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Of files and folders: nobody else reads them. */
export const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

/** Makes a folder for its owner alone. */
export async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
}

/** Writes a file so that it is there whole or not at all, also after the machine has lost its power. */
export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  await writeSynced(draft, content);
  await rename(draft, path);
  await syncFolder(dirname(path));
}

/** Like {@link writeDurably}, but only where nothing is yet. @returns whether it was written */
export async function writeOnce(path: string, content: string | Uint8Array): Promise<boolean> {
  const draft = `${path}.${randomUUID()}`;
  await writeSynced(draft, content);
  try {
    await link(draft, path);
    await syncFolder(dirname(path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeSynced(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(path, 'wx', PRIVATE_FILE);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes sure that a name that was just given is on the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Whether there is anything of this name. */
export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
