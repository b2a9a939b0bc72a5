/**
 * What a fleet of clusters needs when all of it fails over at once, from what a run was measured to cost. A bound by
 * CPU time: it leaves out disks, networks and the time that actions themselves take.
 */

/** CPU seconds of one run, by process. Temporal's include its store where that is in the same process. */
export interface RunCosts {
  temporal: number;
  worker: number;
  bridge: number;
  apiserver: number;
  etcd: number;
  /** Of Temporal's PostgreSQL (0). */
  postgres?: number;
}

/** Who fails over, and on what. */
export interface Fleet {
  clusters: number;
  /** Plans of each cluster that start at the same moment, one run each. */
  plans: number;
  /** Cores that API server, etcd, bridge and worker of one cluster share. */
  clusterCores: number;
  /** Workers of one cluster. */
  workers: number;
  /** Cores of the Temporal service that all clusters share. */
  temporalCores: number;
  /** Cores of its PostgreSQL. */
  databaseCores: number;
}

/** Share of a machine's CPU time that a burst was seen to put to use; the rest is waiting on each other. */
export const USABLE = 0.85;
/**
 * Share of a worker's CPU time that is spent on its one thread for workflow code, which more cores do not speed up; more
 * workers do. Read from a profile of 100 runs of 3x3 at once.
 */
export const WORKFLOW_THREAD = 0.5;

/** A thing that all runs, or all of one cluster, have to pass. */
export interface Passage {
  name: string;
  /** Seconds until the last run has passed, were there nothing else. */
  seconds: number;
}

/** When the last run ends, and what it waits for most. */
export interface Prediction {
  runs: number;
  /** The slowest first. */
  passages: Passage[];
  seconds: number;
  runsPerMinute: number;
}

/** The prediction for a fleet whose runs cost so much. */
export function predict(costs: RunCosts, fleet: Fleet): Prediction {
  const { clusters, plans, clusterCores, workers, temporalCores, databaseCores } = fleet;
  const { postgres = 0 } = costs;
  const runs = clusters * plans;
  const inCluster = costs.worker + costs.bridge + costs.apiserver + costs.etcd;
  const passages: Passage[] = [
    {
      name: `Temporal, ${temporalCores} cores for all`,
      seconds: (runs * costs.temporal) / temporalCores / USABLE,
    },
    ...(postgres === 0
      ? []
      : [
          {
            name: `PostgreSQL, ${databaseCores} cores for all`,
            seconds: (runs * postgres) / databaseCores / USABLE,
          },
        ]),
    { name: `a cluster, ${clusterCores} cores`, seconds: (plans * inCluster) / clusterCores / USABLE },
    {
      name: `workflow thread of ${workers === 1 ? 'the worker' : `${workers} workers`} of a cluster`,
      seconds: (plans * costs.worker * WORKFLOW_THREAD) / workers,
    },
    { name: 'the bridge of a cluster, one thread', seconds: plans * costs.bridge },
  ].sort((a, b) => b.seconds - a.seconds);
  const seconds = passages[0]?.seconds ?? 0;
  return { runs, passages, seconds, runsPerMinute: (runs / seconds) * 60 };
}

/** The same where everything runs on one machine, as the benchmark does: what the model is checked by. */
export function predictTogether(costs: RunCosts, machine: { cores: number; runs: number }): number {
  const { temporal, worker, bridge, apiserver, etcd, postgres = 0 } = costs;
  return (machine.runs * (temporal + worker + bridge + apiserver + etcd + postgres)) / machine.cores / USABLE;
}
