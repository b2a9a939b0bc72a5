import { constants, existsSync } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What to do about a data dir that cannot be used. */
export const DATA_DIR_ADVICE = 'choose another with --data-dir, or correct its owner and rights';

/**
 * Why a data dir cannot be written or made, in a few words; undefined when it can. Changes nothing.
 *
 * @param root its absolute path
 */
export async function dataDirProblem(root: string): Promise<string | undefined> {
  let folder = root;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    if (!(await stat(folder)).isDirectory()) return `${folder} is not a folder`;
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return `${folder} cannot be written: ${wordsFor(error)}`;
  }
}

/**
 * Makes a data dir where there is none, for its owner only.
 *
 * @throws Error for a person when it cannot be made or written
 */
export async function makeDataDir(root: string): Promise<void> {
  const problem = await dataDirProblem(root);
  if (problem !== undefined) throw unusable(root, problem);
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unusable(root, `it cannot be made: ${wordsFor(error)}`, error);
  }
}

const unusable = (root: string, problem: string, cause?: unknown): Error =>
  new Error(`the data dir ${root} cannot be used: ${problem}; ${DATA_DIR_ADVICE}`, { cause });

/** What the code of a system call means. */
export function wordsFor(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'EROFS':
      return 'the file system is read-only';
    case 'ENOSPC':
      return 'the disk is full';
    default:
      return message;
  }
}
