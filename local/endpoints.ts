import { readFile } from 'node:fs/promises';
import type { State } from './state.js';

/** The content of `endpoints.json`. A null stands for what this data dir does not run. */
export interface Endpoints {
  /** URL of the API server. */
  kubernetes: string;
  /** `HOST:PORT` of Temporal's frontend. */
  temporal: string;
  temporalNamespace: string;
  /** URL of the Web UI. */
  temporalUi: string | null;
  /** Path of the Temporal command line. */
  temporalCli: string | null;
  /** URLs of the Prometheus pages. */
  metrics: { bridge: string | null; worker: string | null };
  pids: {
    etcd: number | null;
    apiserver: number | null;
    controllerManager: number | null;
    scheduler: number | null;
    kwok: number | null;
    temporal: number | null;
    bridge: number | null;
    worker: number | null;
    /** The simulator of Clusternet's controllers. */
    clusternet: number | null;
  };
}

/** Where things are, that the state alone does not say. */
export interface EndpointSources {
  state: State;
  kubernetes: string;
  temporal: string;
  temporalNamespace: string;
  temporalCli: string | null;
}

/** Builds the content of `endpoints.json`. */
export function endpointsOf(sources: EndpointSources): Endpoints {
  const { processes, ports } = sources.state;
  const metrics = (name: 'bridge' | 'worker'): string | null =>
    processes[name] === undefined ? null : `http://127.0.0.1:${ports[`${name}Metrics`]}/metrics`;
  const pid = (name: keyof Endpoints['pids']): number | null => processes[name]?.pid ?? null;
  return {
    kubernetes: sources.kubernetes,
    temporal: sources.temporal,
    temporalNamespace: sources.temporalNamespace,
    temporalUi: processes.temporal === undefined ? null : `http://127.0.0.1:${ports.temporalUi}`,
    temporalCli: sources.temporalCli,
    metrics: { bridge: metrics('bridge'), worker: metrics('worker') },
    pids: {
      etcd: pid('etcd'),
      apiserver: pid('apiserver'),
      controllerManager: pid('controllerManager'),
      scheduler: pid('scheduler'),
      kwok: pid('kwok'),
      temporal: pid('temporal'),
      bridge: pid('bridge'),
      worker: pid('worker'),
      clusternet: pid('clusternet'),
    },
  };
}

/** Reads `endpoints.json`; undefined when nothing was brought up. */
export async function readEndpoints(path: string): Promise<Endpoints | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Endpoints;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
