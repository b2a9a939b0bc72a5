/** The worker: carries runs out. Reads its options, builds what it needs, works until it is told to stop. */
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { authorizePaths } from '../kube/caller.js';
import { openProfiles } from '../runtime/profiles/open-profiles.js';
import { runProgram } from '../runtime/run-program.js';
import type { ProgramContext } from '../runtime/run-program.js';
import { runWorkers } from '../runtime/run-worker.js';
import { assemble } from './assemble.js';
import type { Build } from './build.js';
import { WORKER } from './config.js';
import type { WorkerConfig } from './config.js';
import { connect } from './connect.js';
import { becomeCurrent } from './current-build.js';
import { serveProbes } from './probes.js';

async function run({ config, log, stopped, tracing }: ProgramContext<WorkerConfig>): Promise<void> {
  const probes = await serveProbes(config, { log, tracing });
  const ending = new AbortController();
  const connected = await connect(config, {
    log,
    onWait: (problem) => {
      probes.notReady([problem]);
    },
    signal: ending.signal,
    metrics: probes.metrics,
    tracing,
  });
  const { client, namespace, cluster, kube, claim } = connected;
  const profiles = await openProfiles({
    port: config['profile-port'],
    name: 'drover-worker',
    authorize: authorizePaths(kube),
    log,
  });
  const ports = [...probes.ports, ...profiles.ports];
  const { build, workers } = await assemble(config, { connected, ports, log, tracing });

  const shutDown = (why: string): void => {
    probes.notReady([why]);
    // Running actions may finish.
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  void stopped().then(() => {
    shutDown('stopping');
  });
  // Nothing that another cluster's runs ask for may begin here; what is under way may end.
  let lost: Error | undefined;
  claim.lost.catch((error: Error) => {
    lost = error;
    shutDown(error.message);
  });
  probes.notReady([]);
  log.info({ cluster, namespace, server: kube.server, build: build.buildId }, 'worker is ready');
  if (build.pinsRuns && config['deployment-name'] === undefined)
    beginRuns(client, build, { namespace, log, signal: ending.signal });
  try {
    await runWorkers(workers);
    if (lost !== undefined) throw lost;
  } finally {
    ending.abort();
    await Promise.all([probes.close(), profiles.close()]);
    // A worker that has not ended still holds the connection.
    await connected.connection.close().catch((error: unknown) => {
      log.warn({ err: error }, 'cannot close the connection to Temporal');
    });
  }
}

/** Where builds are pinned, the newest begins runs unless somebody has chosen another one. */
function beginRuns(
  { workflowService, options: { identity } }: Client,
  build: Build,
  options: { namespace: string; log: Logger; signal: AbortSignal },
): void {
  becomeCurrent(workflowService, build, { ...options, identity }).catch((error: unknown) => {
    options.log.error({ err: error }, 'this build begins no runs');
  });
}

await runProgram({ program: WORKER, component: 'worker', run });
