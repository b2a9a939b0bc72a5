/** The worker: carries runs out. Reads its configuration, builds what it needs, works until it is told to stop. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Client } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Runtime } from '@temporalio/worker';
import { request } from 'undici';
import { createActivities } from '../activities/index.js';
import { createEgressPolicy } from '../activities/core/egress.js';
import { createNotes } from '../activities/core/notes.js';
import { ownPlaces } from '../activities/core/own-places.js';
import { clusterId } from '../api/plan/naming.js';
import { createSealer, parseSealKeys } from '../api/core/seal.js';
import { createClaimWords, mayNotKeepWords } from '../kube/claim-words.js';
import { createKubeClient } from '../kube/kubeconfig-client.js';
import { readClusterUid } from '../kube/cluster-id.js';
import { loadKubeConfig } from '../kube/config.js';
import { ownNamespace } from '../kube/own-namespace.js';
import { sealSecret } from '../kube/seal-secret.js';
import { createClaimNote } from '../runtime/claim-note.js';
import { createDataConverter, isEncrypted } from '../runtime/encryption/data-converter.js';
import { serveHealth } from '../runtime/health-server.js';
import { holdClaim } from '../runtime/hold-claim.js';
import { createLog } from '../runtime/log.js';
import { runWorkers } from '../runtime/run-worker.js';
import { sdkLog } from '../runtime/sdk-log.js';
import { openSealRing } from '../runtime/seal-ring.js';
import { buildOf, deploymentOptions } from './build.js';
import { bundlePath, readBundle } from './bundle.js';
import { loadConfig } from './config.js';
import { becomeCurrent } from './current-build.js';
import { createWorkers } from './workers.js';

/** Address that the SDK uses when none is configured. */
const DEFAULT_TEMPORAL = 'localhost:7233';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

async function main(): Promise<void> {
  // Until there is something to stop, a signal ends the process at once.
  const endAtOnce = (): void => process.exit(0);
  for (const signal of SIGNALS) process.once(signal, endAtOnce);
  const config = loadConfig(process.env);
  const log = createLog({ level: config.logLevel, component: 'worker' });
  const sdkMetricsPort = await freePort();
  Runtime.install({
    logger: sdkLog(log),
    // Signals are handled below: the health server has to go as well.
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } },
      metrics: {
        prometheus: {
          bindAddress: `127.0.0.1:${sdkMetricsPort}`,
          useSecondsForDurations: true,
          countersTotalSuffix: true,
          unitSuffix: true,
        },
      },
    },
  });

  const state = { notReady: ['starting'] };
  const health = await serveHealth({
    host: config.healthHost,
    ports: [config.healthPort, config.metricsPort].filter((port) => port !== undefined),
    notReady: () => state.notReady,
    metrics: async () => ({
      text: await (await request(`http://127.0.0.1:${sdkMetricsPort}/metrics`)).body.text(),
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
    }),
  });
  const dataConverter = await createDataConverter({
    keys: config.encryptionKeys,
    onFault: (error) => {
      log.error({ err: error }, 'encryption keys cannot be read again: the ones read before stay in use');
    },
  });

  const kube = createKubeClient(
    loadKubeConfig({ ...(config.kubeconfig !== undefined && { file: config.kubeconfig }) }),
  );
  const cluster = clusterId(await readClusterUid(kube));
  const installation = await ownNamespace(config.namespace);
  const sealRing = await openSealRing({
    file: config.sealRing,
    secret: sealSecret({ kube, namespace: installation, make: false }),
    parse: parseSealKeys,
    log,
    onWait: (problem) => {
      state.notReady = [problem];
    },
  });
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  const client = new Client({
    connection,
    namespace,
    dataConverter,
  });
  const ending = new AbortController();
  const claim = await holdClaim({
    words: createClaimWords({ kube, namespace: installation }),
    note: createClaimNote(client, cluster),
    renews: false,
    where: { cluster, temporal: `namespace ${namespace} of Temporal` },
    isRefusedByCluster: mayNotKeepWords,
    log,
    onWait: (problem) => {
      state.notReady = [problem];
    },
    signal: ending.signal,
  });
  const { built, workflowBundle } = await readBundle({
    path: config.workflowBundle ?? bundlePath({ encrypted: isEncrypted(dataConverter) }),
    stackFrames: config.workflowStackFrames,
  });
  const build = buildOf({ ...config, cluster, bundle: built });
  const workers = await createWorkers({
    cluster,
    activities: createActivities({
      kube,
      egress: createEgressPolicy({
        ...config.egress,
        apiServers: [kube.server],
        never: ownPlaces({
          temporal: connectionOptions.address ?? DEFAULT_TEMPORAL,
          temporalUi: config.temporalUi,
          workerPorts: [...health.ports, sdkMetricsPort],
          never: config.never,
        }),
      }),
      log,
      sealer: createSealer(sealRing),
      notes: createNotes(client),
      acceptUnsealedUntil: config.acceptUnsealedUntil,
      controllerIdentity: config.controllerIdentity,
    }),
    common: {
      connection,
      namespace,
      dataConverter,
      ...deploymentOptions(build),
      // A cancel reaches an activity only with the answer to a heartbeat; how often to send them is up to the activity.
      maxHeartbeatThrottleInterval: '300ms',
      defaultHeartbeatThrottleInterval: '300ms',
      shutdownGraceTime: config.shutdownGraceMs,
      shutdownForceTime: config.shutdownGraceMs + 10_000,
    },
    workflows: {
      workflowBundle,
      maxCachedWorkflows: config.maxCachedWorkflows,
      maxConcurrentWorkflowTaskExecutions: config.maxWorkflowTasks,
      // The price of a worker that dies: its cached runs wait this long before another worker may take them.
      stickyQueueScheduleToStartTimeout: '3s',
    },
    slots: { actions: config.maxActivities, waits: config.maxWaits },
  });

  const shutDown = (why: string): void => {
    state.notReady = [why];
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const stop = (signal: NodeJS.Signals): void => {
    log.info({ signal }, 'stopping: running actions may finish');
    shutDown('stopping');
  };
  for (const signal of SIGNALS) {
    process.off(signal, endAtOnce);
    process.once(signal, stop);
  }

  state.notReady = [];
  log.info({ cluster, namespace, server: kube.server, build: build.buildId }, 'worker is ready');
  if (build.pinsRuns && config.deploymentName === undefined) {
    const { identity } = client.options;
    becomeCurrent(client.workflowService, build, { namespace, identity, log, signal: ending.signal }).catch(
      (error: unknown) => {
        log.error({ err: error }, 'this build begins no runs');
      },
    );
  }
  // Nothing that another cluster's runs ask for may begin here; what is under way may end.
  let lost: Error | undefined;
  claim.lost.catch((error: Error) => {
    lost = error;
    shutDown(error.message);
  });
  try {
    await runWorkers(workers);
    if (lost !== undefined) throw lost;
  } finally {
    ending.abort();
    await health.close();
    // A worker that has not ended still holds the connection.
    await connection.close().catch((error: unknown) => {
      log.warn({ err: error }, 'cannot close the connection to Temporal');
    });
  }
}

/** The SDK's own exporter serves nothing but metrics; it gets a port of its own behind ours. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    createLog({ component: 'worker' }).fatal({ err: error }, `worker cannot go on: ${String(error)}`);
    process.exit(1);
  },
);
