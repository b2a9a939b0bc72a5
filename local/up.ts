import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetch } from 'undici';
import { Applier, readObjects } from './apply.js';
import { findPrograms } from './binaries.js';
import { lookup, type ProgramName } from './binaries-lookup.js';
import { clusternetDefinitions, clusternetSites, simulatorSpec } from './clusternet/sites.js';
import { layOutControlPlane, type ControlPlane } from './control-plane.js';
import { endpointsOf } from './endpoints.js';
import { fakeNode, fakeNodeName, fakeNodeStatus } from './fake-node/node.js';
import { expectOk, message, type KubeApi } from './kube-api.js';
import { withLock } from './lock.js';
import type { ChildCommand, UpOptions, UpResult } from './options.js';
import { dataPaths, type DataPaths } from './paths.js';
import { choosePorts } from './ports.js';
import type { ProcessSpec } from './processes.js';
import type { Progress } from './progress.js';
import { embeddedRbac } from './rbac.js';
import { Runner } from './runner.js';
import {
  isAlive,
  portNames,
  processNames,
  readState,
  writeJson,
  writeWhole,
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
  workerMetrics: 'worker',
  workerHealth: 'worker',
};

/**
 * Brings up Kubernetes, Temporal, the bridge and the worker, and returns when
 * all of them serve. What runs already is left as it is; what has died is
 * started again on its old port and data.
 *
 * @throws Error for a person: what is missing or did not start, and what to do.
 */
export async function up(options: UpOptions): Promise<UpResult> {
  const started = Date.now();
  const paths = dataPaths(options.dataDir);
  if (options.kubeconfig !== undefined && options.useCurrentCluster) {
    throw new Error('a kubeconfig file and the current cluster were both asked for; give one of them');
  }
  await mkdir(paths.root, { recursive: true, mode: 0o700 });
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
  const { progress } = options;
  const env = options.env ?? process.env;
  const userCluster = await openChosenCluster(options, env);
  const namespace = options.temporalNamespace ?? 'default';
  const mode: Mode = {
    ephemeral: options.ephemeral ?? false,
    cluster: userCluster === undefined ? 'embedded' : `user: ${userCluster.server}`,
    temporal: options.temporal ?? 'embedded',
  };
  const state = await loadState(paths, mode);
  const embeddedCluster = mode.cluster === 'embedded';
  const embeddedTemporal = mode.temporal === 'embedded';

  const programs = await findPrograms({
    names: [
      ...(embeddedCluster ? controlPlanePrograms : []),
      ...(embeddedTemporal ? (['temporal'] as const) : []),
    ],
    progress,
    env,
  });
  const tools = await lookup(['kubectl', 'temporal'], env);
  state.ports = await choosePortsFor(state);
  const ports = state.ports as Record<PortName, number>;
  const runner = new Runner({ state, paths, progress });
  await runner.save();

  const controlPlane = embeddedCluster
    ? await layOutControlPlane({ paths, ports, programs, ephemeral: mode.ephemeral })
    : undefined;
  const temporal = options.temporal ?? `127.0.0.1:${ports.temporal}`;
  try {
    // Both at once; the first failure is reported after the other side has settled, so that all is recorded.
    const sides = await Promise.allSettled([
      controlPlane === undefined
        ? prepareUserCluster(options, userCluster!, paths)
        : startControlPlane(options, controlPlane, runner, paths),
      embeddedTemporal
        ? startTemporal(runner, paths, programs.temporal.path, namespace)
        : useTemporal(temporal, namespace, progress),
    ]);
    for (const side of sides) if (side.status === 'rejected') throw side.reason;

    const kubeconfigs = controlPlane?.kubeconfigs ?? { bridge: paths.kubeconfig, worker: paths.kubeconfig };
    await Promise.all(
      (['bridge', 'worker'] as const).map(async (name) => {
        const child = options[name];
        if (child === undefined) return;
        const common = { kubeconfig: kubeconfigs[name], temporal, namespace, embedded: embeddedCluster };
        await runner.ensure(childSpec(name, child, { ...common, paths, ports }));
      }),
    );
  } finally {
    await runner.save();
    await controlPlane?.close();
    await userCluster?.api.close();
  }

  const endpoints = endpointsOf({
    state,
    kubernetes: controlPlane?.server ?? userCluster!.server,
    temporal,
    temporalNamespace: namespace,
    temporalCli: (embeddedTemporal ? programs.temporal : tools.found.temporal)?.path ?? null,
  });
  await writeJson(paths.endpoints, endpoints);
  return {
    endpoints,
    kubeconfig: paths.kubeconfig,
    kubectl: tools.found.kubectl?.path ?? null,
    started: runner.started,
  };
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

async function startControlPlane(
  options: UpOptions,
  plane: ControlPlane,
  runner: Runner,
  paths: DataPaths,
): Promise<void> {
  await runner.ensure(plane.specs.etcd);
  await runner.ensure(plane.specs.apiserver);
  const { admin } = plane;
  const applier = new Applier(admin);
  await Promise.all([
    // kwok and the simulator need their rights before they are of use.
    Promise.all(embeddedRbac().map((object) => applier.apply(object))).then(() =>
      runner.ensure(plane.specs.kwok),
    ),
    runner.ensure(plane.specs.controllerManager),
    runner.ensure(plane.specs.scheduler),
    ensureFakeNode(admin, applier),
    applyCustomResources(options, applier).then(() =>
      runner.ensure(simulatorSpec(paths, plane.kubeconfigs.clusternet, admin)),
    ),
  ]);
  await Promise.all([waitNode(admin), waitDefaultServiceAccount(admin)]);
}

async function applyCustomResources(options: UpOptions, applier: Applier): Promise<void> {
  await applier.applyDefinitions([
    ...(await readObjects(options.crdDir)),
    ...(await clusternetDefinitions()),
  ]);
  const sites = clusternetSites();
  for (const object of sites) await applier.apply(object);
  for (const object of options.extraObjects ?? []) await applier.apply(object);
}

async function ensureFakeNode(api: KubeApi, applier: Applier): Promise<void> {
  const path = `/api/v1/nodes/${fakeNodeName}`;
  if ((await api.request('GET', path)).status === 200) return;
  await applier.apply(fakeNode());
  expectOk(
    await api.request('PATCH', `${path}/status`, {
      body: fakeNodeStatus(),
      contentType: 'application/merge-patch+json',
    }),
    `writing the status of node ${fakeNodeName}`,
  );
}

/** Pods are scheduled once the node is Ready and the controllers have taken its taints off. */
async function waitNode(api: KubeApi): Promise<void> {
  await until(`node ${fakeNodeName} to be ready for pods`, async () => {
    const node = expectOk(await api.request('GET', `/api/v1/nodes/${fakeNodeName}`), 'reading the node') as {
      spec: { taints?: unknown[] };
      status: { conditions?: { type: string; status: string }[] };
    };
    const ready = node.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false;
    return ready && (node.spec.taints ?? []).length === 0;
  });
}

async function waitDefaultServiceAccount(api: KubeApi): Promise<void> {
  const path = '/api/v1/namespaces/default/serviceaccounts/default';
  await until('the default service account', async () => (await api.request('GET', path)).status === 200);
}

async function until(what: string, reached: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await reached())) {
    if (Date.now() > deadline) {
      throw new Error(
        `waited ${timeoutMs / 1000} s for ${what}; look at the logs of controllerManager, scheduler and kwok`,
      );
    }
    await sleep(100);
  }
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

async function prepareUserCluster(options: UpOptions, cluster: UserCluster, paths: DataPaths): Promise<void> {
  const version = await cluster.api.request('GET', '/version');
  if (version.status !== 200) {
    throw new Error(
      `the cluster of context ${cluster.context} (${cluster.server}) answered ${version.status}: ${message(version.body)}; ` +
        `check the kubeconfig's credentials`,
    );
  }
  const definitions = await readObjects(options.crdDir);
  const names = definitions.map((d) => d.metadata.name).join(', ');
  const what = `applying the definitions ${names} to context ${cluster.context} (${cluster.server})`;
  if (options.confirm !== undefined && !(await options.confirm(what))) {
    throw new Error(`not confirmed: ${what}; nothing was changed`);
  }
  options.progress({ kind: 'notice', subject: 'cluster', message: what });
  await new Applier(cluster.api).applyDefinitions(definitions);
  await writeWhole(paths.kubeconfig, cluster.kubeconfig);
}

function childSpec(
  name: 'bridge' | 'worker',
  child: ChildCommand,
  context: {
    kubeconfig: string;
    temporal: string;
    namespace: string;
    embedded: boolean;
    paths: DataPaths;
    ports: Record<PortName, number>;
  },
): ProcessSpec {
  const healthPort = context.ports[`${name}Health`];
  return {
    name,
    command: child.command,
    args: child.args,
    env: {
      KUBECONFIG: undefined,
      DROVER_KUBECONFIG: context.kubeconfig,
      TEMPORAL_ADDRESS: context.temporal,
      TEMPORAL_NAMESPACE: context.namespace,
      DROVER_METRICS_PORT: String(context.ports[`${name}Metrics`]),
      DROVER_HEALTH_PORT: String(healthPort),
      // Only here, where everything is the user's own machine, may plans act as the controller and reach loopback.
      DROVER_CONTROLLER_IDENTITY: context.embedded ? 'true' : undefined,
      DROVER_EGRESS_ALLOW_LOOPBACK: context.embedded ? 'true' : undefined,
      ...child.env,
    },
    log: join(context.paths.logs, `${name}.log`),
    ready: async () => {
      const response = await fetch(`http://127.0.0.1:${healthPort}/readyz`, {
        signal: AbortSignal.timeout(2000),
      });
      await response.text();
      return response.status === 200;
    },
    readyTimeoutMs: 60_000,
  };
}
