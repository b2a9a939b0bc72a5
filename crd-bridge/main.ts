/** The bridge: reads its options, builds what it needs, works until it is told to stop. */
import { hostname } from 'node:os';
import { aboutWorkflow } from '../api/plan/naming.js';
import { createRuns } from '../client/runs/runs.js';
import { createWorkflows } from '../client/runs/workflows.js';
import { authorizePaths } from '../kube/caller.js';
import { installSdk } from '../runtime/install-sdk.js';
import { createProgramMetrics } from '../runtime/program-metrics.js';
import { openProfiles } from '../runtime/profiles/open-profiles.js';
import { runProgram } from '../runtime/run-program.js';
import type { ProgramContext } from '../runtime/run-program.js';
import { exemplarsOf } from '../runtime/tracing/trace-fields.js';
import { startBridge } from './bridge.js';
import { BRIDGE } from './config.js';
import type { BridgeConfig } from './config.js';
import { connect } from './connect.js';
import { createMetrics } from './core/metrics.js';
import type { BridgeMetrics } from './core/metrics.js';
import { notReady, serveProbes } from './probes.js';
import type { Health } from './probes.js';
import type { TemporalLink } from './temporal.js';

/** Time between two checks that Temporal answers. */
const TEMPORAL_CHECK_MS = 10_000;

async function run({ config, log, stopped, tracing }: ProgramContext<BridgeConfig>): Promise<void> {
  installSdk(log, { about: aboutWorkflow });
  const health: Health = { temporalError: 'not connected yet' };
  const program = createProgramMetrics({
    program: 'bridge',
    isReady: () => notReady(health).length === 0,
    exemplar: exemplarsOf(config['metrics-exemplars'], tracing),
  });
  const metrics = createMetrics(program.registry);
  const probes = await serveProbes(config, { health, metrics: program });
  const ending = new AbortController();
  const { kube, cluster, temporal, sealer, claim, codec } = await connect(config, {
    log,
    onWait: (problem) => {
      health.problem = problem;
    },
    signal: ending.signal,
    metrics: program,
    tracing,
  });
  const profiles = await openProfiles({
    port: config['profile-port'],
    name: 'drover-bridge',
    authorize: authorizePaths(kube),
    log,
  });
  const bridge = await startBridge({
    kube,
    sealer,
    runs: createRuns(temporal.client),
    workflows: createWorkflows(temporal.client),
    connection: temporal.connection,
    temporal,
    cluster,
    config,
    log,
    metrics,
    tracing,
    instance: hostname(),
  });
  health.bridge = bridge;
  delete health.temporalError;
  metrics.temporalAnswered(true);
  const check = keepChecking(temporal, { health, metrics });
  const told = stopped();
  try {
    await bridge.whenSynced();
    const missing = bridge.notReady();
    const { namespace, namespaceId, searchAttributes } = temporal;
    log.info(
      { cluster, server: kube.server, namespace, namespaceId, searchAttributes, ports: probes.ports },
      missing.length === 0
        ? 'bridge is ready'
        : `bridge has read all objects; to come: ${missing.join('; ')}`,
    );
    await Promise.race([told, bridge.done, claim.lost]);
  } finally {
    clearInterval(check);
    ending.abort();
    await bridge.stop();
    await Promise.all([probes.close(), profiles.close()]);
    codec?.close();
    // A worker that has not ended still holds the connection.
    await temporal.close().catch((error: unknown) => {
      log.warn({ err: error }, 'cannot close the connection to Temporal');
    });
  }
}

function keepChecking(
  temporal: TemporalLink,
  { health, metrics }: { health: Health; metrics: Pick<BridgeMetrics, 'temporalAnswered'> },
): NodeJS.Timeout {
  return setInterval(() => {
    temporal.look(TEMPORAL_CHECK_MS / 2).then(
      () => {
        metrics.temporalAnswered(true);
        delete health.temporalError;
      },
      (error: unknown) => {
        metrics.temporalAnswered(false);
        health.temporalError = error instanceof Error ? error.message : String(error);
      },
    );
  }, TEMPORAL_CHECK_MS);
}

await runProgram({ program: BRIDGE, component: 'bridge', run });
