import { setTimeout as sleep } from 'node:timers/promises';
import type { RunMemo, Runs } from '../../client/runs.js';
import type { Log } from './log.js';

/** What the sweep is made of. */
export interface OrphanSweepOptions {
  runs: Runs;
  /** Every run of this cluster has an id that begins so; no other run is ever touched. */
  idPrefix: string;
  /** Whether the cache holds the object: then it is not asked for. */
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
  /** One sweep. */
  sweep(): Promise<void>;
  /** Sweeps until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * A run goes on although its object was deleted when a finalizer was taken away by force. It is cancelled, never
 * terminated, so that it settles what it has begun; and only after two live answers, some time apart, that the object
 * is not there: an API server that is restored, or a cache that is late, must not stop a failover.
 */
export function createOrphanSweep(options: OrphanSweepOptions): OrphanSweep {
  const { runs, log } = options;
  const now = options.now ?? Date.now;
  const missingSince = new Map<string, number>();

  async function look(workflowId: string, memo: RunMemo): Promise<void> {
    if (options.isKnown(memo) || (await options.exists(memo))) {
      missingSince.delete(workflowId);
      return;
    }
    const since = missingSince.get(workflowId);
    if (since === undefined) {
      missingSince.set(workflowId, now());
      return;
    }
    if (now() - since < options.confirmMs) return;
    const sent = await runs.signalCancel(workflowId, {
      via: 'Delete',
      reason: `${memo.namespace}/${memo.name} does not exist any more`,
    });
    log.warn(
      { workflowId, object: `${memo.namespace}/${memo.name}`, uid: memo.uid, sent },
      'cancelled an orphaned run',
    );
  }

  async function sweep(): Promise<void> {
    const seen = new Set<string>();
    for await (const { workflowId, memo } of runs.listOpen(options.idPrefix)) {
      seen.add(workflowId);
      if (memo === undefined) continue;
      try {
        await look(workflowId, memo);
      } catch (error) {
        missingSince.delete(workflowId);
        log.warn({ workflowId, err: error }, 'could not check whose run this is');
      }
    }
    for (const workflowId of missingSince.keys()) if (!seen.has(workflowId)) missingSince.delete(workflowId);
  }

  return {
    sweep,
    async run(signal) {
      while (!signal.aborted) {
        await sleep(options.intervalMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        await sweep().catch((error: unknown) => {
          log.warn({ err: error }, 'could not list open runs');
        });
      }
    },
  };
}
