/** Takes parts of the stack away and brings them back, as a crash and an operator would. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { Endpoints } from '../../local/endpoints.js';
import { up } from '../../local/index.js';

/**
 * Starts again what has died: the same call an operator makes.
 *
 * @param bridgeEnvironment settings of the bridge, if it is the bridge that has died
 * @param workerEnvironment settings of the worker, likewise
 */
export async function heal(
  bridgeEnvironment: Record<string, string> = {},
  workerEnvironment: Record<string, string> = {},
): Promise<void> {
  await up({
    dataDir: inject('dataDir'),
    ephemeral: true,
    crdDir: 'deploy/crds',
    bridge: { command: process.execPath, args: ['dist/crd-bridge/main.js'], env: bridgeEnvironment },
    worker: { command: process.execPath, args: ['dist/worker/main.js'], env: workerEnvironment },
    progress: () => undefined,
  });
}

/** Kills parts of the stack, with no chance to say goodbye. */
export async function kill(...names: ('apiserver' | 'bridge' | 'worker')[]): Promise<void> {
  const file = join(inject('dataDir'), 'endpoints.json');
  const { pids } = JSON.parse(await readFile(file, 'utf8')) as Endpoints;
  for (const name of names) {
    const pid = pids[name];
    if (pid === null || pid === undefined) throw new Error(`${name} does not run`);
    process.kill(pid, 'SIGKILL');
  }
}
