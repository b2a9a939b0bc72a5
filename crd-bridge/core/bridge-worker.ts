import type { DataConverter } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import type { ActivityInterceptorsFactory, NativeConnection } from '@temporalio/worker';
import { packageVersion } from '../../runtime/package-version.js';
import { taskQueues } from '../../workflows/core/contract.js';
import { createMirrorEndpoint } from './mirror-endpoint.js';
import { sinceScheduled } from './mirror-lag.js';
import type { Row } from './row.js';
import type { Services } from './services.js';
import { SIGN_OF_LIFE_MS, signsOfLife } from './signs-of-life.js';

/** What the worker is made of. */
export interface BridgeWorkerOptions extends Pick<Services, 'cluster' | 'config' | 'metrics'> {
  connection: NativeConnection;
  /** What stands around every activity. */
  interceptors: ActivityInterceptorsFactory[];
  temporal: Services['temporal'] & { dataConverter?: DataConverter };
}

/** The worker through which runs reach the bridge: the mirrors of all rows, and the further activities of each. */
export function createBridgeWorker(
  { cluster, config, connection, interceptors, metrics, temporal }: BridgeWorkerOptions,
  rows: readonly Row[],
): Promise<Worker> {
  const queue = taskQueues(cluster).bridge;
  return Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: queue,
    // Shown by Temporal and by `drover upgrade --check`; decides nothing.
    workerDeploymentOptions: {
      version: { deploymentName: queue, buildId: packageVersion() },
      useWorkerVersioning: false,
    },
    activities: {
      ...createMirrorEndpoint({
        rows: rows.flatMap(({ mirror }) => mirror ?? []),
        onUpdate: (kind) => {
          metrics.updates.inc({ kind });
        },
        onDone: (kind, verb) => {
          metrics.mirrorLag.observe({ kind, verb }, sinceScheduled());
        },
      }),
      ...activitiesOf(rows),
    },
    dataConverter: temporal.dataConverter,
    maxConcurrentActivityTaskExecutions: config['mirror-concurrency'],
    shutdownGraceTime: '10s',
    shutdownForceTime: '20s',
    maxHeartbeatThrottleInterval: SIGN_OF_LIFE_MS,
    defaultHeartbeatThrottleInterval: SIGN_OF_LIFE_MS,
    interceptors: { activity: [...interceptors, signsOfLife] },
  });
}

/** Two rows never have an activity of the same name: each says what only its runs ask for. */
const activitiesOf = (rows: readonly Row[]): object =>
  Object.fromEntries(rows.flatMap(({ activities = {} }) => Object.entries(activities)));
