import { setMaxListeners } from 'node:events';
import type { DataConverter } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import type { NativeConnection } from '@temporalio/worker';
import type { KindDescriptor } from '../api/core/kind-descriptor.js';
import { KINDS } from '../api/kinds.js';
import { runWorker } from '../runtime/run-worker.js';
import { taskQueues } from '../workflows/core/contract.js';
import { createMirrorEndpoint } from './core/mirror-endpoint.js';
import { createRowQueue } from './core/row-queue.js';
import type { Row } from './core/row.js';
import { createServices } from './core/services.js';
import type { ServiceParts, Services } from './core/services.js';
import { createRows } from './kinds.js';
import { reviewsOf } from './webhook/reviews.js';
import { setUpWebhook } from './webhook/setup.js';
import type { AdmissionWebhook } from './webhook/webhook.js';

/** What a bridge is built from. */
export interface BridgeOptions extends ServiceParts {
  connection: NativeConnection;
  temporal: Services['temporal'] & { dataConverter?: DataConverter };
  /** The kinds that there are (default: those of all systems). */
  kinds?: readonly KindDescriptor[];
  /** The table (default: the rows of all systems). Seam: the rows of a library's user are handed in here. */
  rows?: (services: Services) => Row[];
}

/** A running bridge. */
export interface Bridge {
  /** What is still missing before it may be called ready; empty when nothing is. */
  notReady(): string[];
  /** Resolves once the caches are complete and every object is queued. */
  whenSynced(): Promise<void>;
  /** Rejects when the bridge cannot go on. */
  readonly done: Promise<void>;
  /** Takes nothing new, finishes what is under way. */
  stop(): Promise<void>;
}

const NO_WEBHOOK = { missing: () => 'admission webhook: not started yet' };

/**
 * A loop over the table: runs caches, queues, sweeps, activities and reviews of all rows. All replicas are active: a
 * start is idempotent by id, locks are conditional writes, and mirrors are handed out by Temporal.
 */
export async function startBridge(options: BridgeOptions): Promise<Bridge> {
  const { kube, config, log, metrics, temporal } = options;
  const abort = new AbortController();
  // Every cache, its check, every sweep and every request under way listens to it.
  setMaxListeners(0, abort.signal);
  let webhook: AdmissionWebhook | undefined;
  const hasAdmission = config['webhook-port'] !== undefined;
  const { services, caches } = createServices(options, {
    admissionMissing: () => (hasAdmission ? (webhook ?? NO_WEBHOOK).missing() : undefined),
  });
  const { gate } = services;
  const rows = (options.rows ?? createRows)(services);
  const lanes = rows.flatMap(({ cache, work }) =>
    work === undefined ? [] : [{ work, queue: createRowQueue(cache.kind, work, services) }],
  );

  const running = caches.run(abort.signal);
  const synced = caches.whenSynced().then(() => {
    for (const { work, queue } of lanes) for (const wake of work.wakes) wake.connect(queue);
  });
  const worker = await Worker.create({
    connection: options.connection,
    namespace: temporal.namespace,
    taskQueue: taskQueues(options.cluster).bridge,
    activities: {
      ...createMirrorEndpoint({
        rows: rows.flatMap(({ mirror }) => mirror ?? []),
        onUpdate: (kind) => {
          metrics.updates.inc({ kind });
        },
      }),
      ...activitiesOf(rows),
    },
    dataConverter: temporal.dataConverter,
    maxConcurrentActivityTaskExecutions: config['mirror-concurrency'],
    shutdownGraceTime: '10s',
    shutdownForceTime: '20s',
  });
  // Updates need complete caches: an object that a cache lacks would be read from the API server each time.
  const done = synced.then(() => (abort.signal.aborted ? undefined : runWorker(worker)));
  done.catch(() => undefined);
  const sweeping = synced.then(() =>
    Promise.all(rows.flatMap(({ sweeps = [] }) => sweeps.map((sweep) => sweep.run(abort.signal)))),
  );
  const lookAtAll = (): void => {
    for (const { work, queue } of lanes) for (const key of work.due()) queue.add(key);
  };
  const resync = setInterval(lookAtAll, config.resync);
  const gating = synced.then(() => {
    gate.onOpen(lookAtAll);
    return gate.run(abort.signal);
  });
  // Reviews need complete caches too. While another controller runs, they would refuse what is meant for it.
  const admitting = synced.then(async () => {
    await gate.whenOpen();
    if (abort.signal.aborted) return;
    webhook = await setUpWebhook(config, {
      kube,
      log,
      kinds: options.kinds ?? KINDS,
      rules: () => reviewsOf(rows),
      metrics,
    });
  });
  admitting.catch((error: unknown) => {
    log.error({ err: error }, 'cannot start the admission webhook');
  });

  return {
    notReady() {
      const missing = caches.missing();
      const closed = gate.closed();
      if (closed !== undefined) missing.unshift(closed);
      if (missing.length === 0 && worker.getState() !== 'RUNNING')
        missing.push(`Temporal worker: ${worker.getState()}`);
      const unserved = services.admissionMissing();
      if (unserved !== undefined && closed === undefined) missing.push(unserved);
      return missing;
    },
    whenSynced: () => synced,
    done,
    async stop() {
      clearInterval(resync);
      // First no new work from Temporal, then none from the API server; updates under way still need both.
      if (worker.getState() === 'RUNNING') {
        worker.shutdown();
        await done.catch(() => undefined);
      }
      await Promise.all(
        lanes.flatMap(({ queue, work }) => [queue.stop(), work.stop?.() ?? Promise.resolve()]),
      );
      await services.events.flush();
      abort.abort();
      await admitting.catch(() => undefined);
      await webhook?.stop();
      await Promise.all([running, sweeping, gating]);
    },
  };
}

/** Two rows never have an activity of the same name: each says what only its runs ask for. */
const activitiesOf = (rows: readonly Row[]): object =>
  Object.fromEntries(rows.flatMap(({ activities = {} }) => Object.entries(activities)));
