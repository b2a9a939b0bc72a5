import { fetch } from 'undici';
import { readEndpoints, type Endpoints } from './endpoints.js';
import { inspectInstalled, type InstalledStatus } from './installed.js';
import { dataPaths } from './paths.js';
import { isAlive, processNames, readState, type Mode, type ProcessName, type State } from './state.js';
import { checkTemporal } from './temporal-server.js';
import { pingKubernetes } from './ping.js';
import { isPortFree } from './ports.js';

/** One process of a data dir. */
export interface ProcessStatus {
  name: ProcessName;
  state: 'running' | 'died';
  pid: number;
  startedAt: string;
  log: string;
}

/** One thing that should answer. `problem` is undefined when it does. */
export interface ServiceStatus {
  name: 'kubernetes' | 'temporal' | 'temporalUi' | 'bridge' | 'worker';
  address: string;
  problem?: string;
}

/** The state of one data dir. */
export interface StatusResult {
  dataDir: string;
  /** `down`: nothing runs; `up`: all runs and answers; `degraded`: the rest. */
  summary: 'up' | 'degraded' | 'down';
  mode: Mode | undefined;
  endpoints: Endpoints | undefined;
  kubeconfig: string;
  processes: ProcessStatus[];
  services: ServiceStatus[];
  /** What is put into the cluster; empty while the cluster does not answer. */
  installed: InstalledStatus[];
}

/**
 * Looks at what `up` started for a data dir: which processes live, whether what they serve answers, and whether what was
 * put into the cluster is still there.
 *
 * @param options.crdDir - the definitions that `up` installs; absent: nothing is said about them
 */
export async function status(options: { dataDir: string; crdDir?: string }): Promise<StatusResult> {
  const paths = dataPaths(options.dataDir);
  const state = await readState(paths.state);
  const endpoints = await readEndpoints(paths.endpoints);
  const processes: ProcessStatus[] = [];
  for (const name of processNames) {
    const record = state?.processes[name];
    if (record === undefined) continue;
    const { pid, startedAt, log } = record;
    processes.push({ name, state: (await isAlive(record)) ? 'running' : 'died', pid, startedAt, log });
  }
  const running = processes.some((p) => p.state === 'running');
  const services =
    endpoints === undefined ? [] : await Promise.all(serviceChecks(endpoints, state, paths.kubeconfig));
  const answersKubernetes = services.some((s) => s.name === 'kubernetes' && s.problem === undefined);
  const installed =
    answersKubernetes && options.crdDir !== undefined
      ? await inspectInstalled({
          kubeconfigFile: paths.kubeconfig,
          own: state?.mode.cluster === 'embedded',
          crdDir: options.crdDir,
          webhooks: await listens(state?.ports.bridgeWebhook),
        })
      : [];
  const sound =
    endpoints !== undefined &&
    processes.every((p) => p.state === 'running') &&
    [...services, ...installed].every(({ problem }) => problem === undefined);
  return {
    dataDir: paths.root,
    summary: sound ? 'up' : running || endpoints !== undefined ? 'degraded' : 'down',
    mode: state?.mode,
    endpoints,
    kubeconfig: paths.kubeconfig,
    processes,
    services,
    installed,
  };
}

/** A bridge that was told to serve no webhooks does not listen there. */
const listens = async (port: number | undefined): Promise<boolean> =>
  port !== undefined && !(await isPortFree(port));

function serviceChecks(
  endpoints: Endpoints,
  state: State | undefined,
  kubeconfigFile: string,
): Promise<ServiceStatus>[] {
  const check = async (
    name: ServiceStatus['name'],
    address: string,
    problem: Promise<string | undefined>,
  ): Promise<ServiceStatus> => ({ name, address, problem: await problem });
  const { kubernetes, temporal, temporalNamespace, temporalUi, metrics } = endpoints;
  const health = (name: 'bridge' | 'worker'): string =>
    `http://127.0.0.1:${state?.ports[`${name}Health`]}/readyz`;
  return [
    check('kubernetes', kubernetes, pingKubernetes(kubeconfigFile, state?.mode.cluster === 'embedded')),
    check('temporal', temporal, checkTemporal(temporal, temporalNamespace)),
    ...(temporalUi === null ? [] : [check('temporalUi', temporalUi, answers(temporalUi))]),
    ...(['bridge', 'worker'] as const)
      .filter((name) => metrics[name] !== null)
      .map((name) => check(name, health(name), answers(health(name)))),
  ];
}

async function answers(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(3000) });
    const body = await response.text();
    return response.status === 200 ? undefined : `answered ${response.status}: ${body.slice(0, 200)}`;
  } catch (error) {
    return reason(error);
  }
}

function reason(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { message?: string } };
  return cause?.message ?? message;
}
