import { KubeError } from '../../kube/error.js';
import { createQueue } from './queue.js';
import type { WorkQueue } from './queue.js';
import type { Work } from './row.js';
import type { Services } from './services.js';

const BACKOFF = { minMs: 100, maxMs: 60_000 };

/** The queue of one row: objects of a kind are brought forward side by side, each of them in order. */
export function createRowQueue(
  kind: string,
  work: Pick<Work, 'logFields' | 'rank' | 'reconcile'>,
  { config, log, metrics, mutex }: Pick<Services, 'config' | 'log' | 'metrics' | 'mutex'>,
): WorkQueue {
  const queue = createQueue({
    concurrency: config.concurrency,
    backoff: BACKOFF,
    atLeastMs: (error) => (error instanceof KubeError ? error.retryAfterMs : undefined),
    ...(work.rank !== undefined && { rank: work.rank.bind(work) }),
    handle: (key) => {
      const stop = metrics.reconcile.startTimer({ kind });
      return mutex.run(`${kind} ${key}`, () => work.reconcile(key)).finally(stop);
    },
    onError: (key, error, attempt) => {
      metrics.errors.inc({ kind });
      log.warn(
        { kind, object: key, ...work.logFields?.(key), attempt, err: error },
        'could not bring an object forward; trying again',
      );
    },
  });
  metrics.watchDepth(kind, () => queue.depth);
  return queue;
}
