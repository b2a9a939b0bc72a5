import { chmod } from 'node:fs/promises';
import { newSealKey } from '../api/core/seal.js';
import { writeJson } from './state.js';

/**
 * Makes sure that there is a ring of seal keys, readable by its owner only. One that is there keeps its keys: runs that
 * go on were vouched for by them.
 */
export async function ensureSealRing(path: string): Promise<void> {
  try {
    await chmod(path, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const { id, value } = newSealKey(new Date());
    await writeJson(path, { [id]: value });
  }
}
