import { setMaxListeners } from 'node:events';
import type { KindDescriptor } from '../api/core/kind-descriptor.js';
import { KINDS } from '../api/kinds.js';
import { nameActivities } from '../runtime/activity-log.js';
import { runWorker } from '../runtime/run-worker.js';
import { traceActivities } from '../runtime/tracing/temporal.js';
import { traceOf } from '../workflows/core/contract-trace.js';
import { aboutActivity, failureOf } from '../workflows/plan/contract-about.js';
import { createBridgeWorker } from './core/bridge-worker.js';
import type { BridgeWorkerOptions } from './core/bridge-worker.js';
import { createRowQueue } from './core/row-queue.js';
import type { Row } from './core/row.js';
import { createServices } from './core/services.js';
import type { ServiceParts, Services } from './core/services.js';
import { createRows } from './kinds.js';
import { deferWebhook } from './webhook/deferred-webhook.js';
import { reviewsOf } from './webhook/reviews.js';

/** What a bridge is built from. */
export interface BridgeOptions extends ServiceParts, Pick<BridgeWorkerOptions, 'connection'> {
  temporal: BridgeWorkerOptions['temporal'];
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

/**
 * A loop over the table: runs caches, queues, sweeps, activities and reviews of all rows. All replicas are active: a
 * start is idempotent by id, locks are conditional writes, and mirrors are handed out by Temporal.
 */
export async function startBridge(options: BridgeOptions): Promise<Bridge> {
  const { kube, config, log, metrics, tracing } = options;
  const abort = new AbortController();
  // Every cache, its check, every sweep and every request under way listens to it.
  setMaxListeners(0, abort.signal);
  const webhook = deferWebhook(config);
  const kinds = options.kinds ?? KINDS;
  const { services, caches } = createServices(options, { admissionMissing: webhook.missing, kinds });
  const { gate } = services;
  const rows = (options.rows ?? createRows)(services);
  const lanes = rows.flatMap(({ cache, work }) =>
    work === undefined ? [] : [{ work, queue: createRowQueue(cache.kind, work, services) }],
  );

  const running = caches.run(abort.signal);
  const synced = caches.whenSynced().then(() => {
    for (const { work, queue } of lanes) for (const wake of work.wakes) wake.connect(queue);
  });
  const worker = await createBridgeWorker(
    {
      ...options,
      interceptors: [
        nameActivities(aboutActivity),
        ...traceActivities(tracing, { placeOf: traceOf, about: aboutActivity, failureOf }),
      ],
    },
    rows,
  );
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
    await webhook.start({ kube, log, kinds, rules: () => reviewsOf(rows, tracing), metrics, tracing });
  });
  admitting.catch((error: unknown) => {
    log.error({ err: error }, 'cannot start the admission webhook');
  });

  return {
    notReady() {
      const closed = gate.closed();
      const missing = [...(closed === undefined ? [] : [closed]), ...caches.missing()];
      if (missing.length === 0 && worker.getState() !== 'RUNNING')
        missing.push(`Temporal worker: ${worker.getState()}`);
      const unserved = webhook.missing();
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
      await webhook.stop();
      await Promise.all([running, sweeping, gating]);
    },
  };
}
