/** Brings up the whole stack as an operator would: real control plane, real Temporal, bridge and worker as processes. */
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { up } from '../../local/index.js';
import type { Progress, UpResult } from '../../local/index.js';
import { dataPaths } from '../../local/paths.js';
import { stopProcess } from '../../local/processes.js';
import { isAlive, processNames, readState } from '../../local/state.js';

/** Settings of the programs beside their defaults. */
export interface Settings {
  bridge?: Record<string, string>;
  worker?: Record<string, string>;
}

// The API server, etcd and Temporal collect garbage more rarely: less CPU for more memory, and tests are short of CPU.
process.env.GOGC ??= '300';

const PROGRAMS = ['bridge', 'worker'] as const;
/** Tests end stages from outside whose attempts are gone, or learn it within a second. */
const SHORT_WAITS = { DROVER_LAST_ATTEMPT: '3s' };

/** In a data dir: this program was started with other settings than the defaults. */
const changedMark = (dataDir: string, program: (typeof PROGRAMS)[number]): string =>
  join(dataDir, `${program}-is-changed`);

/** Starts what does not run in a data dir; what runs is left as it is. */
export async function bringUp(
  dataDir: string,
  { bridge = {}, worker = {} }: Settings = {},
  progress: Progress = () => undefined,
): Promise<UpResult> {
  const result = await up({
    dataDir,
    ephemeral: true,
    crdDir: 'deploy/crds',
    bridge: {
      command: process.execPath,
      args: ['dist/programs/crd-bridge.js'],
      env: { ...SHORT_WAITS, ...bridge },
    },
    worker: { command: process.execPath, args: ['dist/programs/worker.js'], env: worker },
    progress,
  });
  for (const [program, settings] of Object.entries({ bridge, worker }) as ['bridge' | 'worker', object][]) {
    if (!result.started.includes(program)) continue;
    if (Object.keys(settings).length > 0) await writeFile(changedMark(dataDir, program), '');
    else await rm(changedMark(dataDir, program), { force: true });
  }
  return result;
}

/**
 * Makes a stack whole whatever has been done to it: what is frozen goes on, what has died is started again, and what was
 * given other settings is started anew with the defaults.
 */
export async function makeWhole(dataDir: string): Promise<void> {
  const processes = (await readState(dataPaths(dataDir).state))?.processes ?? {};
  for (const program of PROGRAMS) {
    if (existsSync(changedMark(dataDir, program))) await stopProcess(processes[program], 0);
  }
  const alive = await Promise.all(processNames.map((name) => isAlive(processes[name])));
  for (const name of processNames.filter((_, index) => alive[index])) {
    process.kill(processes[name]?.pid ?? NaN, 'SIGCONT');
  }
  if (!alive.every(Boolean)) await bringUp(dataDir);
}
