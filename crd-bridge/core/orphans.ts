import type { SignalResult } from '../../client/runs/calls.js';
import type { RunMemo, Runs } from '../../client/runs/runs.js';
import type { Cacheable, Informer } from '../../kube/informer.js';
import type { CancelRequest } from '../../workflows/core/contract.js';
import type { Log } from './log.js';
import { pause } from './pause.js';
import type { Services } from './services.js';

/** Asks a workflow whose object is gone to end. */
type Stop = (workflowId: string, why: CancelRequest, memo: RunMemo) => Promise<SignalResult>;

/** What the sweep is made of. */
export interface OrphanSweepOptions {
  runs: Pick<Runs, 'listOpen'> & { stop: Stop };
  /** Type of the runs in Temporal. */
  workflowType: string;
  /** Prefix of the ids of all runs of this cluster; no other run is ever touched. */
  idPrefix: string;
  /** Whether the cache holds the object; if so, the API server is not asked. */
  isKnown: (memo: RunMemo) => boolean;
  /** Asks the API server itself. Rejects when it does not answer. */
  exists: (memo: RunMemo) => Promise<boolean>;
  /** Time between two sweeps, in milliseconds. */
  intervalMs: number;
  /** Least time between the two looks that must both find nothing. */
  confirmMs: number;
  log: Log;
  now?: () => number;
}

/** Cancels runs whose object is gone. */
export interface OrphanSweep {
  /** Looks at every open run. */
  sweep(): Promise<void>;
  /** Looks again at those runs whose object was not there, once the time between the two looks has passed. */
  confirm(): Promise<void>;
  /** Sweeps at once and then at intervals, and confirms in between, until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

interface Missing {
  memo: RunMemo;
  /** When to look again, in milliseconds since the epoch. */
  confirmAt: number;
}

/**
 * A run outlives its object when the finalizer was removed by force. It is cancelled, never terminated, so that it
 * settles what it has begun; and only after two live answers, some time apart, that the object does not exist: a
 * restored API server or a stale cache must not stop a failover.
 */
export function createOrphanSweep(options: OrphanSweepOptions): OrphanSweep {
  const { runs, log } = options;
  const now = options.now ?? Date.now;
  const missing = new Map<string, Missing>();

  async function look(workflowId: string, memo: RunMemo): Promise<void> {
    try {
      if (options.isKnown(memo) || (await options.exists(memo))) {
        missing.delete(workflowId);
        return;
      }
      const known = missing.get(workflowId);
      if (known === undefined) missing.set(workflowId, { memo, confirmAt: now() + options.confirmMs });
      else if (now() >= known.confirmAt) await cancel(workflowId, known);
    } catch (error) {
      missing.delete(workflowId);
      log.warn({ workflowId, err: error }, 'could not check whose run this is');
    }
  }

  /** Stays on the list until the run has closed, so that a cancel that was lost is sent again. */
  async function cancel(workflowId: string, known: Missing): Promise<void> {
    const { memo } = known;
    const object = `${memo.namespace}/${memo.name}`;
    const sent = await runs.stop(
      workflowId,
      { via: 'Delete', reason: `${object} does not exist any more` },
      memo,
    );
    log.warn({ workflowId, object, uid: memo.uid, sent }, 'cancelled an orphaned run');
    if (sent === 'notRunning') missing.delete(workflowId);
    else known.confirmAt = now() + options.intervalMs;
  }

  async function sweep(): Promise<void> {
    const seen = new Set<string>();
    for await (const { workflowId, memo } of runs.listOpen(options)) {
      seen.add(workflowId);
      if (memo !== undefined) await look(workflowId, memo);
    }
    for (const workflowId of missing.keys()) if (!seen.has(workflowId)) missing.delete(workflowId);
  }

  async function confirm(): Promise<void> {
    for (const [workflowId, { memo, confirmAt }] of [...missing])
      if (now() >= confirmAt) await look(workflowId, memo);
  }

  return {
    sweep,
    confirm,
    async run(signal) {
      let sweepAt = now();
      while (!signal.aborted) {
        if (now() >= sweepAt) {
          sweepAt = now() + options.intervalMs;
          await sweep().catch((error: unknown) => {
            log.warn({ err: error }, 'could not list open runs');
          });
        }
        await confirm();
        const next = Math.min(sweepAt, ...[...missing.values()].map(({ confirmAt }) => confirmAt));
        await pause(Math.max(0, next - now()), signal);
      }
    },
  };
}

/**
 * The search for orphans of the kind of a row.
 *
 * @param options.stop asks a workflow whose object is gone to end (default: cancels its run)
 */
export function orphansOf(
  { config, kube, log, runs }: Pick<Services, 'config' | 'kube' | 'log' | 'runs'>,
  options: Pick<OrphanSweepOptions, 'idPrefix' | 'workflowType'> & {
    cache: Pick<Informer, 'apiVersion' | 'get' | 'kind'>;
    stop?: Stop;
  },
): OrphanSweep {
  const { cache, idPrefix, workflowType, stop } = options;
  const { apiVersion, kind } = cache;
  return createOrphanSweep({
    runs: {
      listOpen: (of) => runs.listOpen(of),
      stop: stop ?? ((id, why) => runs.signalCancel(id, why)),
    },
    workflowType,
    idPrefix,
    isKnown: ({ namespace, name, uid }) => cache.get(namespace, name)?.metadata.uid === uid,
    exists: async ({ namespace, name, uid }) => {
      const object = await kube.get<Cacheable>({ apiVersion, kind, namespace, name });
      return object?.metadata.uid === uid;
    },
    intervalMs: config['orphan-interval'],
    confirmMs: config['orphan-confirm'],
    log,
  });
}
