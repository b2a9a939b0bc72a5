/** What is measured: a cluster, the controller on it, and where it runs on this machine, the processes. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { createKubeClient } from '../../kube/client.js';
import type { KubeClient } from '../../kube/client.js';
import { loadKubeConfig } from '../../kube/config.js';
import { readEndpoints } from '../../local/endpoints.js';
import { down, up } from '../../local/index.js';
import type { ChildCommand, UpOptions } from '../../local/index.js';
import { nodeProgram } from '../../local/node-program.js';
import { dataPaths } from '../../local/paths.js';
import { packageRoot } from '../../runtime/package-root.js';
import { isAlive, readState } from '../../local/state.js';
import type { ProcessName } from '../../local/state.js';
import { compressingConverter } from '../../runtime/compression.js';
import type { Progress } from './progress.js';

/** A connected system. */
export interface System {
  kube: KubeClient;
  /** Absent where no Temporal was named. */
  temporal?: { client: Client; connection: Connection; address: string; namespace: string };
  /** Processes of this machine that belong to it, by name. */
  pids(): Promise<Record<string, number>>;
  /** Absent: somebody else looks after the processes. */
  embedded?: Embedded;
  /** Takes down what was brought up for this system, and disconnects. */
  close(): Promise<void>;
}

/** A system of the embedded default. */
export interface Embedded {
  /** Ends a process at once, as a crash would; resolves when it is gone. */
  kill(name: 'bridge' | 'worker'): Promise<void>;
  /** Lets a process end by itself. */
  stop(name: 'bridge' | 'worker'): Promise<void>;
  /** Starts again whatever of it does not run; resolves when all of it serves. */
  restore(): Promise<void>;
  /** URL of the bridge's or worker's readiness probe. */
  readyUrl(name: 'bridge' | 'worker'): Promise<string>;
}

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
  const { progress } = options;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'drover-bench-')));
  const paths = dataPaths(dataDir);
  const state = await readState(paths.state);
  const running = await Promise.all(Object.values(state?.processes ?? {}).map((record) => isAlive(record)));
  const wasUp = running.some(Boolean);
  const root = packageRoot();
  const program = (room: 'crd-bridge' | 'worker'): ChildCommand => {
    const main = join(root, 'dist', 'programs', `${room}.js`);
    if (!existsSync(main)) throw new Error(`${main} is not there; run "npm run build"`);
    const profiling =
      options.profile === undefined
        ? []
        : [
            '--cpu-prof',
            '--cpu-prof-dir',
            options.profile,
            '--cpu-prof-name',
            `${room}-${Date.now()}.cpuprofile`,
          ];
    const started = nodeProgram(room, main, profiling);
    return { ...started, env: { ...started.env, ...options.env } };
  };
  const upOptions: UpOptions = {
    dataDir,
    ...(options.controller && { crdDir: join(root, 'deploy', 'crds') }),
    // What runs already cannot change how it keeps its data.
    ephemeral: wasUp ? (state?.mode.ephemeral ?? true) : !options.durable,
    ...(options.controller && { bridge: program('crd-bridge'), worker: program('worker') }),
    progress: (event) => {
      if (event.kind === 'notice') progress.say(`  ${event.subject}: ${event.message}`);
    },
    env: { ...process.env, KUBECONFIG: undefined },
  };
  const step = progress.begin(wasUp ? `using what is up in ${dataDir}` : 'bringing everything up');
  const { endpoints, kubeconfig } = await up(upOptions).finally(() => {
    step.end();
  });
  const temporal = options.controller ? await connectTemporal(endpoints) : undefined;
  const recordOf = async (name: ProcessName) => (await readState(paths.state))?.processes[name];
  const end = async (name: 'bridge' | 'worker', signal: NodeJS.Signals): Promise<void> => {
    const record = await recordOf(name);
    if (record === undefined || !(await isAlive(record))) return;
    process.kill(record.pid, signal);
    while (await isAlive(record)) await sleep(10);
  };
  const embedded: Embedded = {
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
  return {
    kube: createKubeClient(loadKubeConfig({ file: kubeconfig })),
    ...(temporal !== undefined && { temporal }),
    async pids() {
      const { pids } = (await readEndpoints(paths.endpoints)) ?? endpoints;
      return Object.fromEntries(
        Object.entries(pids).filter(
          (entry): entry is [string, number] =>
            entry[1] !== null && (options.controller || !DROVERS_OWN.has(entry[0])),
        ),
      );
    },
    ...(options.controller && { embedded }),
    async close() {
      await temporal?.connection.close();
      if (wasUp) return;
      if (options.dataDir !== undefined) {
        progress.say(`left up: ${dataDir} ("drover down --data-dir ${dataDir}" takes it down)`);
        return;
      }
      const ending = progress.begin('taking everything down');
      try {
        await down({ dataDir, progress: () => undefined });
        await rm(dataDir, { recursive: true, force: true });
      } finally {
        ending.end();
      }
    },
  };
}

async function connectTemporal(endpoints: { temporal: string; temporalNamespace: string }) {
  const { temporal: address, temporalNamespace: namespace } = endpoints;
  const connection = await Connection.connect({ address });
  const dataConverter = compressingConverter();
  return { client: new Client({ connection, namespace, dataConverter }), connection, address, namespace };
}

/** Connects to a cluster that somebody else looks after. */
export async function openCluster(options: {
  kubeconfig: string;
  temporal?: string;
  temporalNamespace: string;
  pids: Record<string, number>;
}): Promise<System> {
  const kube = createKubeClient(loadKubeConfig({ file: options.kubeconfig }));
  const temporal =
    options.temporal === undefined
      ? undefined
      : await connectTemporal({ temporal: options.temporal, temporalNamespace: options.temporalNamespace });
  return {
    kube,
    ...(temporal !== undefined && { temporal }),
    pids: () => Promise.resolve(options.pids),
    async close() {
      await temporal?.connection.close();
    },
  };
}
