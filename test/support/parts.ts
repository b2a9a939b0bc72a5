/** Takes parts of the stack away and brings them back, as a crash and an operator would. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Endpoints } from '../../local/endpoints.js';
import { bringUp, makeWhole } from './bring-up.js';
import { servers } from './servers.js';

/**
 * Starts again what has died: the same call an operator makes.
 *
 * @param bridge settings of the bridge, if it is the bridge that has died
 * @param worker settings of the worker, likewise
 */
export async function heal(
  bridge: Record<string, string> = {},
  worker: Record<string, string> = {},
): Promise<void> {
  await bringUp(servers.dataDir, { bridge, worker });
}

/** For `afterEach` of tests that kill: what one that fails has left does not fail the next one too. */
export const mend = (): Promise<void> => makeWhole(servers.dataDir);

/** Kills parts of the stack, with no chance to say goodbye. */
export async function kill(...names: ('apiserver' | 'bridge' | 'worker')[]): Promise<void> {
  const file = join(servers.dataDir, 'endpoints.json');
  const { pids } = JSON.parse(await readFile(file, 'utf8')) as Endpoints;
  for (const name of names) {
    const pid = pids[name];
    if (pid === null || pid === undefined) throw new Error(`${name} does not run`);
    process.kill(pid, 'SIGKILL');
  }
}
