import type { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createEgressPolicy } from '../activities/core/egress.js';
import { createNotes } from '../activities/core/notes.js';
import { ownPlaces } from '../activities/core/own-places.js';
import { createActivities } from '../activities/index.js';
import { nameActivities } from '../runtime/activity-log.js';
import { bundlePath } from '../runtime/bundle-path.js';
import { isEncrypted } from '../runtime/encryption/data-converter.js';
import { traceRequests } from '../runtime/tracing/requests.js';
import { traceActivities } from '../runtime/tracing/temporal.js';
import type { Tracing } from '../runtime/tracing/tracing.js';
import { workflowSinks } from '../runtime/tracing/workflows.js';
import { traceOf } from '../workflows/core/contract-trace.js';
import { aboutActivity, failureOf } from '../workflows/plan/contract-about.js';
import { buildOf, deploymentOptions } from './build.js';
import type { Build } from './build.js';
import { readBundle } from './bundle.js';
import type { WorkerConfig } from './config.js';
import type { Connected } from './connect.js';
import { createWorkers } from './workers.js';

/** What a worker that has been told to stop may still take beyond the grace of running actions, in milliseconds. */
const FORCE_AFTER_MS = 10_000;

/**
 * Puts the workers of this process together; they do nothing yet.
 *
 * @param parts.ports all ports that this process listens on
 */
export async function assemble(
  config: WorkerConfig,
  parts: { connected: Connected; ports: readonly number[]; log: Logger; tracing: Tracing },
): Promise<{ build: Build; workers: Worker[] }> {
  const { connected, ports, log, tracing } = parts;
  const { kube, cluster, connection, namespace, client, dataConverter, sealer } = connected;
  const { built, workflowBundle } = await readBundle({
    path: config['workflow-bundle'] ?? bundlePath({ encrypted: isEncrypted(dataConverter) }),
    stackFrames: config['workflow-stack-frames'],
  });
  const deploymentName = config['deployment-name'];
  const build = buildOf({
    cluster,
    bundle: built,
    buildId: config['build-id'],
    deploymentName,
    // Temporal's worker controller names a deployment, and means its workers to be pinned.
    pinsRuns: config['pin-runs'] || deploymentName !== undefined,
  });
  const graceMs = config['shutdown-grace-seconds'] * 1000;
  const workers = await createWorkers({
    cluster,
    activities: createActivities({
      kube,
      egress: createEgressPolicy({
        allowLoopback: config['egress-allow-loopback'],
        allow: config['egress-allow'],
        deny: config['egress-deny'],
        apiServers: [kube.server],
        never: ownPlaces({
          temporal: connected.temporal,
          temporalUi: config['temporal-ui'],
          workerPorts: ports,
          never: config['egress-never'],
        }),
      }),
      traceRequest: traceRequests(tracing),
      log,
      sealer,
      notes: createNotes(client),
      acceptUnsealedUntil: config['accept-unsealed-until'],
      controllerIdentity: config['controller-identity'],
    }),
    common: {
      connection,
      namespace,
      dataConverter,
      ...deploymentOptions(build),
      // A cancel reaches an activity only with the answer to a heartbeat; how often to send them is up to the activity.
      maxHeartbeatThrottleInterval: '300ms',
      defaultHeartbeatThrottleInterval: '300ms',
      shutdownGraceTime: graceMs,
      shutdownForceTime: graceMs + FORCE_AFTER_MS,
      interceptors: {
        activity: [
          nameActivities(aboutActivity),
          ...traceActivities(tracing, { placeOf: traceOf, about: aboutActivity, failureOf }),
        ],
      },
    },
    workflows: {
      workflowBundle,
      sinks: workflowSinks(tracing),
      maxCachedWorkflows: config['max-cached-workflows'],
      maxConcurrentWorkflowTaskExecutions: config['max-workflow-tasks'],
      // The price of a worker that dies: its cached runs wait this long before another worker may take them.
      stickyQueueScheduleToStartTimeout: '3s',
    },
    slots: { actions: config['max-activities'], waits: config['max-waits'] },
  });
  return { build, workers };
}
