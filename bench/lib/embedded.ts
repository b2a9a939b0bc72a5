/** An embedded default that is brought up to be measured, or is up already. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import { loadKubeConfig } from '../../kube/config.js';
import { readEndpoints } from '../../local/endpoints.js';
import type { Endpoints } from '../../local/endpoints.js';
import { down, up } from '../../local/index.js';
import type { ChildCommand, UpOptions } from '../../local/index.js';
import { nodeProgram } from '../../local/node-program.js';
import { dataPaths } from '../../local/paths.js';
import { packageRoot } from '../../runtime/package-root.js';
import type { DataPaths } from '../../local/paths.js';
import { isAlive, readState } from '../../local/state.js';
import type { ProcessName, State } from '../../local/state.js';
import type { Progress } from './progress.js';
import { createReplicas } from './replicas.js';
import { connectTemporal } from './system.js';
import type { Embedded, System } from './system.js';

/** How to bring up an embedded default. */
export interface EmbeddedOptions {
  /** Absent: a folder of its own, thrown away at the end. */
  dataDir?: string;
  /** On disk, with fsync. */
  durable: boolean;
  /** False: only the control plane, without Drover's definitions, for another controller. */
  controller: boolean;
  /** Environment of bridge and worker. */
  env: Record<string, string>;
  /** Folder for CPU profiles of bridge and worker. */
  profile?: string;
  progress: Progress;
}

/** What runs beside the control plane for Drover alone: no other controller is to be charged with it. */
const DROVERS_OWN: ReadonlySet<string> = new Set<ProcessName>(['temporal', 'clusternet', 'bridge', 'worker']);

/** Brings an embedded default up, or uses the one that is up in the data dir. */
export async function openEmbedded(options: EmbeddedOptions): Promise<System> {
  const { controller, progress } = options;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'drover-bench-')));
  const paths = dataPaths(dataDir);
  const state = await readState(paths.state);
  const running = await Promise.all(Object.values(state?.processes ?? {}).map((record) => isAlive(record)));
  const wasUp = running.some(Boolean);
  const upOptions = upOptionsOf(options, dataDir, wasUp ? state : undefined);
  const step = progress.begin(wasUp ? `using what is up in ${dataDir}` : 'bringing everything up');
  const { endpoints, kubeconfig } = await up(upOptions).finally(() => {
    step.end();
  });
  const temporal = controller ? await connectTemporal(endpoints) : undefined;
  const replicas = createReplicas(paths, { bridge: upOptions.bridge, worker: upOptions.worker });
  return {
    kube: createKubeClient(loadKubeConfig({ file: kubeconfig })),
    kubeconfig,
    ...(temporal !== undefined && { temporal }),
    async pids() {
      const present = (await readEndpoints(paths.endpoints)) ?? endpoints;
      return { ...pidsOf(present, { withDrovers: controller }), ...replicas.pids() };
    },
    ...(controller && {
      embedded: { ...controlOf(paths, upOptions), addReplicas: (count) => replicas.add(count) },
    }),
    async close() {
      await temporal?.connection.close();
      if (!wasUp) await leave(options, dataDir);
    },
  };
}

/** @param running the state of what is up already; absent = nothing is */
function upOptionsOf(options: EmbeddedOptions, dataDir: string, running: State | undefined): UpOptions {
  const { controller, progress } = options;
  return {
    dataDir,
    ...(controller && {
      crdDir: join(packageRoot(), 'deploy', 'crds'),
      bridge: programOf('crd-bridge', options),
      worker: programOf('worker', options),
    }),
    // What runs already cannot change how it keeps its data.
    ephemeral: running === undefined ? !options.durable : running.mode.ephemeral,
    progress: (event) => {
      if (event.kind === 'notice') progress.say(`  ${event.subject}: ${event.message}`);
    },
    env: { ...process.env, KUBECONFIG: undefined },
  };
}

function programOf(room: 'crd-bridge' | 'worker', { profile, env }: EmbeddedOptions): ChildCommand {
  const main = join(packageRoot(), 'dist', 'programs', `${room}.js`);
  if (!existsSync(main)) throw new Error(`${main} is not there; run "npm run build"`);
  const profiling =
    profile === undefined
      ? []
      : ['--cpu-prof', '--cpu-prof-dir', profile, '--cpu-prof-name', `${room}-${Date.now()}.cpuprofile`];
  const started = nodeProgram(room, main, profiling);
  return { ...started, env: { ...started.env, ...env } };
}

function pidsOf({ pids }: Endpoints, { withDrovers }: { withDrovers: boolean }): Record<string, number> {
  return Object.fromEntries(
    Object.entries(pids).filter(
      (entry): entry is [string, number] => entry[1] !== null && (withDrovers || !DROVERS_OWN.has(entry[0])),
    ),
  );
}

/** Ends bridge and worker one by one, and starts them again. */
function controlOf(paths: DataPaths, upOptions: UpOptions): Omit<Embedded, 'addReplicas'> {
  async function end(name: 'bridge' | 'worker', signal: NodeJS.Signals): Promise<void> {
    const record = (await readState(paths.state))?.processes[name];
    if (record === undefined || !(await isAlive(record))) return;
    process.kill(record.pid, signal);
    while (await isAlive(record)) await sleep(10);
  }
  return {
    kill: (name) => end(name, 'SIGKILL'),
    stop: (name) => end(name, 'SIGTERM'),
    async restore() {
      await up(upOptions);
    },
    async readyUrl(name) {
      const port = (await readState(paths.state))?.ports[`${name}Health`];
      return `http://127.0.0.1:${port}/readyz`;
    },
  };
}

/** A data dir that was named stays up; one that was made for the measurement goes. */
async function leave(options: EmbeddedOptions, dataDir: string): Promise<void> {
  const { progress } = options;
  if (options.dataDir !== undefined) {
    progress.say(`left up: ${dataDir} ("drover down --data-dir ${dataDir}" takes it down)`);
    return;
  }
  const step = progress.begin('taking everything down');
  try {
    await down({ dataDir, progress: () => undefined });
    await rm(dataDir, { recursive: true, force: true });
  } finally {
    step.end();
  }
}
