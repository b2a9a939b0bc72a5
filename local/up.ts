import { findPrograms } from './binaries.js';
import { lookup, type ProgramName } from './binaries-lookup.js';
import { childSpec, type ChildContext } from './children.js';
import { layOutControlPlane, type ControlPlane } from './control-plane.js';
import { makeDataDir } from './data-dir.js';
import { endpointsOf } from './endpoints.js';
import { withLock } from './lock.js';
import { UpInterrupted, type UpOptions, type UpResult } from './options.js';
import { dataPaths, type DataPaths } from './paths.js';
import { choosePorts } from './ports.js';
import { prepareUserCluster } from './prepare-user-cluster.js';
import { allOf, type Progress } from './progress.js';
import { Runner } from './runner.js';
import { ensureSealRing } from './seal-ring.js';
import { startControlPlane } from './start-control-plane.js';
import {
  isAlive,
  portNames,
  processNames,
  readState,
  writeJson,
  type Mode,
  type PortName,
  type ProcessName,
  type State,
} from './state.js';
import { checkTemporal, prepareNamespace, temporalSpec } from './temporal-server.js';
import { openUserCluster, type UserCluster } from './user-cluster.js';

const controlPlanePrograms = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
] as const satisfies readonly ProgramName[];

/** Another `up` or `down` of the same data dir may be waiting for a first build. */
const lockTimeoutMs = 60 * 60 * 1000;

/** Which process listens on a port. */
const portOwner: Readonly<Record<PortName, ProcessName>> = {
  etcd: 'etcd',
  etcdPeer: 'etcd',
  apiserver: 'apiserver',
  temporal: 'temporal',
  temporalUi: 'temporal',
  temporalHttp: 'temporal',
  temporalMetrics: 'temporal',
  bridgeMetrics: 'bridge',
  bridgeHealth: 'bridge',
  bridgeWebhook: 'bridge',
  workerMetrics: 'worker',
  workerHealth: 'worker',
};

/**
 * Brings up Kubernetes, Temporal, the bridge and the worker, and returns when
 * all of them serve. What runs already is left as it is; what has died is
 * started again on its old port and data.
 *
 * @throws Error for a person: what is missing or did not start, and what to do; {@link UpInterrupted}.
 */
export async function up(options: UpOptions): Promise<UpResult> {
  const started = Date.now();
  const paths = dataPaths(options.dataDir);
  if (options.kubeconfig !== undefined && options.useCurrentCluster) {
    throw new Error('a kubeconfig file and the current cluster were both asked for; give one of them');
  }
  await makeDataDir(paths.root);
  const onWait = (pid: number): void =>
    options.progress({
      kind: 'notice',
      subject: paths.root,
      message: `process ${pid} is working on this data dir; waiting for it`,
    });
  return withLock(paths.lock, { timeoutMs: lockTimeoutMs, onWait }, async () => {
    const result = await bringUp(options, paths);
    return { ...result, elapsedSeconds: Math.round((Date.now() - started) / 100) / 10 };
  });
}

async function bringUp(options: UpOptions, paths: DataPaths): Promise<Omit<UpResult, 'elapsedSeconds'>> {
  const { progress, temporalNamespace: namespace = 'default' } = options;
  const env = options.env ?? process.env;
  const userCluster = await openChosenCluster(options, env);
  const mode = modeOf(options, userCluster);
  const state = await loadState(paths, mode);
  const programs = await unlessAborted(
    findPrograms({ names: programsFor(mode), progress, env }),
    options.signal,
  );
  const tools = await lookup(['kubectl', 'temporal'], env);
  state.ports = await choosePortsFor(state);
  const ports = state.ports as Record<PortName, number>;
  const runner = new Runner({ state, paths, progress, signal: options.signal });
  await runner.save();
  await ensureSealRing(paths.sealRing);

  const cluster: ControlPlane | UserCluster =
    userCluster ?? (await layOutControlPlane({ paths, ports, programs, ephemeral: mode.ephemeral }));
  const temporal = options.temporal ?? `127.0.0.1:${ports.temporal}`;
  try {
    // Before anything is changed in a cluster: what the user named must answer.
    if (options.temporal !== undefined) await useTemporal(temporal, namespace, progress);
    await allOf([
      'specs' in cluster
        ? startControlPlane(options, cluster, runner, paths)
        : prepareUserCluster(options, cluster, paths),
      ...(options.temporal === undefined
        ? [startTemporal(runner, paths, programs.temporal.path, namespace)]
        : []),
    ]);
    await startChildren(options, runner, { cluster, temporal, namespace, paths, ports });
  } catch (error) {
    if (options.signal?.aborted !== true) throw error;
    throw new UpInterrupted(await runner.stopStarted());
  } finally {
    await runner.save();
  }

  const endpoints = endpointsOf({
    state,
    kubernetes: cluster.server,
    temporal,
    temporalNamespace: namespace,
    temporalCli: (options.temporal === undefined ? programs.temporal : tools.found.temporal)?.path ?? null,
  });
  await writeJson(paths.endpoints, endpoints);
  return {
    endpoints,
    kubeconfig: paths.kubeconfig,
    kubectl: tools.found.kubectl?.path ?? null,
    started: runner.started,
  };
}

const modeOf = (options: UpOptions, userCluster: UserCluster | undefined): Mode => ({
  ephemeral: options.ephemeral ?? false,
  cluster: userCluster === undefined ? 'embedded' : `user: ${userCluster.server}`,
  temporal: options.temporal ?? 'embedded',
});

/** Programs that a mode needs. */
const programsFor = ({ cluster, temporal }: Mode): Exclude<ProgramName, 'kubectl'>[] => [
  ...(cluster === 'embedded' ? controlPlanePrograms : []),
  ...(temporal === 'embedded' ? (['temporal'] as const) : []),
];

/** Starts bridge and worker, as far as they are wanted. */
async function startChildren(
  options: UpOptions,
  runner: Runner,
  context: Pick<ChildContext, 'temporal' | 'namespace' | 'paths' | 'ports'> & {
    cluster: ControlPlane | UserCluster;
  },
): Promise<void> {
  const { cluster, ...surroundings } = context;
  const kubeconfigs = 'kubeconfigs' in cluster ? cluster.kubeconfigs : undefined;
  const embedded = kubeconfigs !== undefined;
  await allOf(
    (['bridge', 'worker'] as const).map(async (name) => {
      const child = options[name];
      if (child === undefined) return;
      const spec = childSpec(name, child, {
        ...surroundings,
        kubeconfig: kubeconfigs?.[name] ?? context.paths.kubeconfig,
        embedded,
        webhook: embedded && options.webhook !== false,
      });
      await runner.ensure(spec);
    }),
  );
}

/** Waits for work unless the signal aborts; a download or build that has begun goes on by itself. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new UpInterrupted([]));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function openChosenCluster(
  options: UpOptions,
  env: NodeJS.ProcessEnv,
): Promise<UserCluster | undefined> {
  if (options.kubeconfig !== undefined) return openUserCluster({ file: options.kubeconfig });
  if (options.useCurrentCluster) return openUserCluster('current');
  if (env['KUBECONFIG']) {
    options.progress({
      kind: 'notice',
      subject: 'KUBECONFIG',
      message: `KUBECONFIG=${env['KUBECONFIG']} is ignored: the embedded control plane is used. To use that cluster, pass --use-current-cluster or --kubeconfig FILE`,
    });
  }
  return undefined;
}

async function loadState(paths: DataPaths, mode: Mode): Promise<State> {
  const state = await readState(paths.state);
  if (state === undefined) return { version: 1, mode, ports: {}, processes: {} };
  const same = (Object.keys(mode) as (keyof Mode)[]).every((key) => state.mode[key] === mode[key]);
  if (!same) {
    for (const name of processNames) {
      if (await isAlive(state.processes[name])) {
        const words = (m: Mode): string =>
          `cluster ${m.cluster}, Temporal ${m.temporal}${m.ephemeral ? ', ephemeral' : ''}`;
        throw new Error(
          `${paths.root} is up with ${words(state.mode)}, and ${words(mode)} was asked for; ` +
            `run "drover down" for it first, or use another data dir`,
        );
      }
    }
  }
  return { ...state, mode };
}

async function choosePortsFor(state: State): Promise<Record<PortName, number>> {
  const alive = new Set<ProcessName>();
  for (const name of processNames) if (await isAlive(state.processes[name])) alive.add(name);
  return choosePorts({
    names: portNames,
    remembered: state.ports,
    keep: (name) => alive.has(portOwner[name]),
  });
}

async function startTemporal(
  runner: Runner,
  paths: DataPaths,
  program: string,
  namespace: string,
): Promise<void> {
  const { state } = runner;
  const ports = state.ports as Record<PortName, number>;
  await runner.ensure(temporalSpec({ paths, ports, program, namespace, ephemeral: state.mode.ephemeral }));
  await prepareNamespace(`127.0.0.1:${ports.temporal}`, namespace, { setRetention: true });
}

async function useTemporal(address: string, namespace: string, progress: Progress): Promise<void> {
  const problem = await checkTemporal(address, namespace);
  if (problem !== undefined) {
    throw new Error(
      `Temporal at ${address} does not serve namespace ${namespace}: ${problem}; ` +
        `check the address, or create it with "temporal operator namespace create --namespace ${namespace} --address ${address}"`,
    );
  }
  const added = await prepareNamespace(address, namespace, { setRetention: false });
  if (added.length > 0) {
    progress({
      kind: 'notice',
      subject: 'temporal',
      message: `added search attributes ${added.join(', ')} to namespace ${namespace} at ${address}`,
    });
  }
}
