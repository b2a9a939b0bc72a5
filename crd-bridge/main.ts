/** The bridge: reads its configuration, builds what it needs, works until it is told to stop. */
import { hostname } from 'node:os';
import { Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { clusterId } from '../api/plan/naming.js';
import { createSealer, parseSealKeys } from '../api/core/seal.js';
import { createRuns } from '../client/runs/runs.js';
import { createWorkflows } from '../client/runs/workflows.js';
import { createClaimWords, mayNotKeepWords } from '../kube/claim-words.js';
import { createKubeClient } from '../kube/kubeconfig-client.js';
import { readClusterUid } from '../kube/cluster-id.js';
import { loadKubeConfig } from '../kube/config.js';
import { ownNamespace } from '../kube/own-namespace.js';
import { sealSecret } from '../kube/seal-secret.js';
import { createClaimNote } from '../runtime/claim-note.js';
import { createDataConverter } from '../runtime/encryption/data-converter.js';
import { serveHealth } from '../runtime/health-server.js';
import { holdClaim } from '../runtime/hold-claim.js';
import { createLog } from '../runtime/log.js';
import { sdkLog } from '../runtime/sdk-log.js';
import { openSealRing } from '../runtime/seal-ring.js';
import { startBridge } from './bridge.js';
import type { Bridge } from './bridge.js';
import { serveCodec } from './codec.js';
import { readConfig } from './config.js';
import type { BridgeConfig } from './config.js';
import { createMetrics } from './core/metrics.js';
import { connectTemporal } from './temporal.js';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const DEFAULT_PORT = 8081;
/** Time between two checks that Temporal answers. */
const TEMPORAL_CHECK_MS = 10_000;

async function main(config: BridgeConfig, log: Logger): Promise<void> {
  // Until there is something to stop, a signal ends the process at once.
  const endAtOnce = (): void => process.exit(0);
  for (const signal of SIGNALS) process.once(signal, endAtOnce);
  Runtime.install({
    logger: sdkLog(log),
    // Signals are handled below: more than the worker has to stop.
    shutdownSignals: [],
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
  });
  const metrics = createMetrics();
  const state: { bridge?: Bridge; temporalError?: string | undefined; problem?: string } = {
    temporalError: 'not connected yet',
  };
  const ports = [config['health-port'], config['metrics-port']].filter((port) => port !== undefined);
  const health = await serveHealth({
    host: config['health-host'],
    ports: ports.length === 0 ? [DEFAULT_PORT] : ports,
    metrics: async () => ({
      text: await metrics.registry.metrics(),
      contentType: metrics.registry.contentType,
    }),
    notReady: () => [
      ...(state.bridge?.notReady() ?? [state.problem ?? 'starting']),
      ...(state.temporalError === undefined ? [] : [`Temporal: ${state.temporalError}`]),
    ],
  });

  const kube = createKubeClient(
    loadKubeConfig({ ...(config.kubeconfig !== undefined && { file: config.kubeconfig }) }),
  );
  const dataConverter = await createDataConverter({
    keys: config['encryption-keys'],
    onFault: (error) => {
      log.error({ err: error }, 'encryption keys cannot be read again: the ones read before stay in use');
    },
  });
  const codec = await serveCodec({ config, dataConverter, kube, log });
  const [cluster, temporal] = await Promise.all([
    readClusterUid(kube).then(clusterId),
    connectTemporal(log, dataConverter),
  ]);
  const namespace = await ownNamespace(config.namespace);
  const sealRing = await openSealRing({
    file: config['seal-ring'],
    secret: sealSecret({ kube, namespace, make: true }),
    parse: parseSealKeys,
    log,
    onWait: (problem) => {
      state.problem = problem;
    },
  });
  const ending = new AbortController();
  const claim = await holdClaim({
    words: createClaimWords({ kube, namespace }),
    note: createClaimNote(temporal.client, cluster),
    renews: true,
    where: { cluster, temporal: `namespace ${temporal.namespace} of Temporal` },
    isRefusedByCluster: mayNotKeepWords,
    log,
    onWait: (problem) => {
      state.problem = problem;
    },
    signal: ending.signal,
  });
  const bridge = await startBridge({
    kube,
    sealer: createSealer(sealRing),
    runs: createRuns(temporal.client),
    workflows: createWorkflows(temporal.client),
    connection: temporal.connection,
    temporal,
    cluster,
    config,
    log,
    metrics,
    instance: hostname(),
  });
  state.temporalError = undefined;
  state.bridge = bridge;

  const check = setInterval(() => {
    temporal.look(TEMPORAL_CHECK_MS / 2).then(
      () => {
        state.temporalError = undefined;
      },
      (error: unknown) => {
        state.temporalError = error instanceof Error ? error.message : String(error);
      },
    );
  }, TEMPORAL_CHECK_MS);

  const stopped = new Promise<void>((resolve) => {
    for (const signal of SIGNALS) {
      process.off(signal, endAtOnce);
      process.once(signal, () => {
        log.info({ signal }, 'stopping');
        resolve();
      });
    }
  });
  await bridge.whenSynced();
  const missing = bridge.notReady();
  log.info(
    {
      cluster,
      server: kube.server,
      namespace: temporal.namespace,
      namespaceId: temporal.namespaceId,
      searchAttributes: temporal.searchAttributes,
      ports: health.ports,
    },
    missing.length === 0 ? 'bridge is ready' : `bridge has read all objects; to come: ${missing.join('; ')}`,
  );
  try {
    await Promise.race([stopped, bridge.done, claim.lost]);
  } finally {
    clearInterval(check);
    ending.abort();
    await bridge.stop();
    await health.close();
    codec?.close();
    // A worker that has not ended still holds the connection.
    await temporal.close().catch((error: unknown) => {
      log.warn({ err: error }, 'cannot close the connection to Temporal');
    });
  }
}

const result = readConfig(process.argv.slice(2), process.env);
switch (result.kind) {
  case 'help':
    process.stdout.write(result.text);
    break;
  case 'invalid':
    process.stderr.write(`${result.message}\ntry --help\n`);
    process.exitCode = 2;
    break;
  case 'config': {
    const log = createLog({ level: result.config['log-level'], component: 'bridge' });
    main(result.config, log).then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal(
          { err: error },
          `bridge cannot go on: ${error instanceof Error ? error.message : String(error)}`,
        );
        process.exit(1);
      },
    );
    break;
  }
}
