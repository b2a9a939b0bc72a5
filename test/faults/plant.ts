/**
 * The system under test: a control plane, Temporal, bridges and workers as processes of their own, every connection of
 * a bridge or worker led through a proxy. What dies is started again, as a machine's own supervisor would.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { clusterId } from '../../api/plan/naming.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import type { KubeClient } from '../../kube/client.js';
import { readClusterUid } from '../../kube/cluster-id.js';
import { loadKubeConfig } from '../../kube/config.js';
import { childSpec } from '../../local/children.js';
import { down, up } from '../../local/index.js';
import { parseKubeconfig } from '../../local/kubeconfig.js';
import { dataPaths } from '../../local/paths.js';
import { isPortFree } from '../../local/ports.js';
import type { ProcessSpec } from '../../local/processes.js';
import { readState, writeJson, writeWhole } from '../../local/state.js';
import type { PortName, State } from '../../local/state.js';
import { checkTemporal } from '../../local/temporal-server.js';
import { compressingConverter } from '../../runtime/compression.js';
import type { Referee, Role } from './boundaries.js';
import { startKubeProxy } from './kube-proxy.js';
import type { KubeProxy, Upstream } from './kube-proxy.js';
import { recordServer } from '../support/leftovers.js';
import { fillDisk } from './disk.js';
import { superviseProcess } from './supervised.js';
import type { Supervised } from './supervised.js';
import { startTemporalProxy } from './temporal-proxy.js';
import type { TemporalProxy } from './temporal-proxy.js';

/** A bridge or worker and the proxies it speaks through. */
export interface Instance {
  name: string;
  role: 'bridge' | 'worker';
  process: Supervised;
  kube: KubeProxy;
  temporal: TemporalProxy;
}

export interface Plant {
  /** The administrator's own, direct connection. */
  kube: KubeClient;
  kubeconfig: string;
  /** Direct too. */
  temporal: Client;
  temporalAddress: string;
  temporalNamespace: string;
  temporalProgram: string;
  cluster: string;
  /** Data directory. */
  root: string;
  /** How the API server was started. */
  apiserverCommand: readonly string[];
  instances: Instance[];
  /** Processes of a role; the one that is named first where it is one of them. */
  processes(role: Role, source?: string): Supervised[];
  /** Sets how far the clocks of bridges or workers are ahead, in milliseconds. */
  setClock(role: 'bridge' | 'worker', aheadMs: number): Promise<void>;
  /** Leaves no space in the data directory for a time. */
  fillDisk(ms: number): Promise<void>;
  /** Adds another bridge or worker, of another cluster where one is given. */
  add(role: 'bridge' | 'worker', env?: Record<string, string>, upstream?: Upstream): Promise<Instance>;
  remove(instance: Instance): Promise<void>;
  close(): Promise<void>;
}

export interface PlantOptions {
  dataDir: string;
  referee: Referee;
  random: () => number;
  log: (line: string) => void;
  /** Bridges and workers at the beginning. */
  replicas: number;
}

/** Quicker than usual, so that what a fault leaves behind is mended while the harness watches. */
const BRIDGE_ENV = {
  DROVER_SILENCE: '15s',
  DROVER_RESYNC: '20s',
  DROVER_ORPHAN_INTERVAL: '15s',
  DROVER_ORPHAN_CONFIRM: '5s',
};

/** Brings the system up. */
export async function startPlant(options: PlantOptions): Promise<Plant> {
  const { dataDir, referee, random, log } = options;
  const paths = dataPaths(dataDir);
  const { endpoints, kubeconfig } = await up({
    dataDir,
    crdDir: 'deploy/crds',
    progress: (event) => {
      if (event.kind === 'notice') log(event.message);
    },
  });
  const state = await readState(paths.state);
  if (state === undefined) throw new Error(`${paths.state} is not there after "up"`);
  const kube = createKubeClient(loadKubeConfig({ file: kubeconfig }));
  const cluster = clusterId(await readClusterUid(kube));
  const connection = await Connection.connect({ address: endpoints.temporal });
  const temporal = new Client({
    connection,
    namespace: endpoints.temporalNamespace,
    dataConverter: compressingConverter(),
  });

  const servers = {
    etcd: serverProcess('etcd', state, async () => !(await isPortFree(state.ports.etcd ?? 0))),
    apiserver: serverProcess('apiserver', state, async () => {
      await kube.text({ method: 'GET', path: '/readyz', timeoutMs: 2000 }, 1000);
      return true;
    }),
    temporal: serverProcess(
      'temporal',
      state,
      async () => (await checkTemporal(endpoints.temporal, endpoints.temporalNamespace)) === undefined,
    ),
  };
  /** What `down` stops must be what runs. */
  let saving: Promise<void> = Promise.resolve();
  const supervised = Object.fromEntries(
    (['etcd', 'apiserver', 'temporal'] as const).map((name) => [
      name,
      superviseProcess(servers[name], {
        log,
        running: state.processes[name],
        started: (record) => {
          state.processes[name] = record;
          // Not while the disk is full: what is written last counts.
          saving = saving.then(() => writeJson(paths.state, state)).catch(() => undefined);
        },
      }),
    ]),
  ) as Record<'etcd' | 'apiserver' | 'temporal', Supervised>;

  const upstreams = {
    bridge: await readUpstream(join(paths.pki, 'bridge.kubeconfig')),
    worker: await readUpstream(join(paths.pki, 'worker.kubeconfig')),
  };
  const instances: Instance[] = [];
  const clockFile = (role: 'bridge' | 'worker'): string => join(paths.root, `clock-${role}`);
  const counts = { bridge: 0, worker: 0 };

  async function add(
    role: 'bridge' | 'worker',
    env: Record<string, string> = {},
    upstream: Upstream = upstreams[role],
  ): Promise<Instance> {
    counts[role] += 1;
    const name = `${role}-${counts[role]}`;
    const [kubeProxy, temporalProxy, ports] = await Promise.all([
      startKubeProxy({ role, source: name, upstream, referee, random }),
      startTemporalProxy({ role, source: name, upstream: endpoints.temporal, referee, random }),
      portsFor(role, counts[role], state as State),
    ]);
    const file = join(paths.data, `${name}.kubeconfig`);
    await writeWhole(file, plainKubeconfig(kubeProxy.url));
    const spec = childSpec(
      role,
      {
        command: process.execPath,
        args: [role === 'bridge' ? 'dist/programs/crd-bridge.js' : 'dist/programs/worker.js'],
        env: {
          ...(role === 'bridge' && BRIDGE_ENV),
          DROVER_SHUTDOWN_GRACE_SECONDS: '5',
          NODE_OPTIONS: `--import=${new URL('./clock.js', import.meta.url).href}`,
          DROVER_FAULTS_CLOCK: clockFile(role),
          ...env,
        },
      },
      {
        kubeconfig: file,
        temporal: temporalProxy.address,
        namespace: endpoints.temporalNamespace,
        embedded: true,
        // Admission has one address here: the first bridge's.
        webhook: counts[role] === 1,
        paths,
        ports,
      },
    );
    const instance: Instance = {
      name,
      role,
      kube: kubeProxy,
      temporal: temporalProxy,
      process: superviseProcess(
        { ...spec, log: join(paths.logs, `${name}.log`) },
        {
          log,
          label: name,
          // Not while the disk is full.
          started: (record) =>
            void recordServer(join(paths.root, 'instances', name), role, record).catch(() => undefined),
        },
      ),
    };
    instances.push(instance);
    await firstStart(instance);
    return instance;
  }

  async function remove(instance: Instance): Promise<void> {
    instances.splice(instances.indexOf(instance), 1);
    await instance.process.stop();
    await Promise.all([instance.kube.close(), instance.temporal.close()]);
  }

  const plant: Plant = {
    kube,
    kubeconfig,
    temporal,
    temporalAddress: endpoints.temporal,
    temporalNamespace: endpoints.temporalNamespace,
    temporalProgram: state.processes.temporal?.command[0] ?? 'temporal',
    cluster,
    root: paths.root,
    apiserverCommand: state.processes.apiserver?.command ?? [],
    instances,
    processes(role, source) {
      if (role !== 'bridge' && role !== 'worker') return [supervised[role]];
      const own = instances.filter((instance) => instance.role === role);
      const named = own.filter(({ name }) => name === source);
      return (named.length > 0 ? named : own).map((instance) => instance.process);
    },
    setClock: (role, aheadMs) => writeWhole(clockFile(role), String(aheadMs)).catch(() => undefined),
    fillDisk: (ms) => fillDisk(paths.root, ms),
    add,
    remove,
    async close() {
      await Promise.all(instances.map(({ process: child }) => child.stop()));
      for (const server of Object.values(supervised)) server.leave();
      await Promise.all(instances.flatMap((instance) => [instance.kube.close(), instance.temporal.close()]));
      await connection.close();
      await saving;
      await writeJson(paths.state, state);
      await down({ dataDir, progress: () => undefined });
    },
  };
  try {
    for (let count = 0; count < options.replicas; count += 1) {
      await Promise.all([add('bridge'), add('worker')]);
    }
  } catch (error) {
    await plant.close();
    throw error;
  }
  return plant;
}

/** What does not come up at all is not a fault to be survived. */
async function firstStart({ name, process: child }: Instance): Promise<void> {
  const late = new AbortController();
  await Promise.race([
    child.whenReady(),
    sleep(FIRST_START_MS, undefined, { signal: late.signal }).then(() => {
      throw new Error(`${name} is not ready after ${FIRST_START_MS / 1000} s`);
    }),
  ]);
  late.abort();
}

const FIRST_START_MS = 120_000;

/** How a server of the control plane is started again: as it was started. */
function serverProcess(
  name: 'etcd' | 'apiserver' | 'temporal',
  state: State,
  ready: () => Promise<boolean>,
): ProcessSpec {
  const record = state.processes[name];
  const [command, ...args] = record?.command ?? [];
  if (record === undefined || command === undefined) throw new Error(`${name} does not run`);
  return {
    name,
    command,
    args,
    env: { KUBECONFIG: undefined, ...(name === 'temporal' && { GOGC: '800' }) },
    log: record.log,
    ready,
    readyTimeoutMs: 120_000,
  };
}

async function readUpstream(file: string): Promise<Upstream> {
  return parseKubeconfig(await readFile(file, 'utf8'));
}

/** The proxy shows the certificate: who speaks to it needs none. */
const plainKubeconfig = (server: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'proxy',
    contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'proxy' } }],
    clusters: [{ name: 'proxy', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'proxy', user: {} }],
  });

async function portsFor(
  role: 'bridge' | 'worker',
  count: number,
  state: State,
): Promise<Record<PortName, number>> {
  const ports = { ...state.ports } as Record<PortName, number>;
  if (count === 1) return ports;
  let candidate = 19_000 + count * 10 + (role === 'bridge' ? 0 : 5);
  for (const kind of ['Metrics', 'Health'] as const) {
    while (!(await isPortFree(candidate))) candidate += 37;
    ports[`${role}${kind}`] = candidate;
    candidate += 1;
  }
  return ports;
}

/** Waits until all that should run serves. */
export async function whenAllReady(plant: Plant): Promise<void> {
  for (const role of ['etcd', 'apiserver', 'temporal', 'bridge', 'worker'] as const) {
    await Promise.all(plant.processes(role).map((child) => child.whenReady()));
  }
  await sleep(0);
}
