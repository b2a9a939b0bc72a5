import { createInformer } from '../../kube/informer.js';
import type { Cacheable, Informer, InformerOptions } from '../../kube/informer.js';
import type { KubeClient } from '../../kube/client.js';
import type { Log } from './log.js';
import type { CacheMetrics } from './metrics.js';

/** Makes a copy of all objects of a kind. */
export type CacheMaker = <T extends Cacheable>(
  of: Pick<InformerOptions<T>, 'apiVersion' | 'kind' | 'trim' | 'labelSelector'>,
) => Informer<T>;

/** All copies of objects that a bridge keeps. */
export interface Caches {
  /** Makes one. Those that are made after `run` are not run. */
  cache: CacheMaker;
  /** Lists and watches for all of them until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<unknown>;
  /** Resolves once all are complete. */
  whenSynced(): Promise<unknown>;
  /** What is not complete yet, with the last error. */
  missing(): string[];
}

/** Most objects that one log line names. */
const NAMED_OBJECTS = 10;

/** Makes caches that tell the log what goes wrong. */
export function createCaches(options: {
  kube: KubeClient;
  checkMs: number;
  log: Log;
  metrics: CacheMetrics;
}): Caches {
  const { kube, checkMs, log, metrics } = options;
  const informers: Informer[] = [];
  const lastErrors = new Map<string, string>();

  function cache<T extends Cacheable>(of: Parameters<typeof createInformer<T>>[0]): Informer<T> {
    const { kind } = of;
    const informer = createInformer<T>({
      ...of,
      onError: (error) => {
        lastErrors.set(kind, error instanceof Error ? error.message : String(error));
        metrics.failed(kind);
        log.warn({ kind, err: error }, 'watch failed; trying again');
      },
      onHeard: (by) => {
        metrics.heard(kind, by);
      },
      check: {
        everyMs: checkMs,
        onRepair: (objects) => {
          metrics.repaired(kind, objects.length);
          log.warn(
            { kind, count: objects.length, objects: objects.slice(0, NAMED_OBJECTS) },
            'a watch has lost changes; read them anew',
          );
        },
      },
    });
    metrics.watchSize(kind, () => informer.size);
    informers.push(informer);
    return informer;
  }

  return {
    cache: (of) => cache({ ...of, kube }),
    run: (signal) => Promise.all(informers.map((informer) => informer.run(signal))),
    whenSynced: () => Promise.all(informers.map((informer) => informer.whenSynced())),
    missing: () =>
      informers
        .filter(({ synced }) => !synced)
        .map(({ kind }) => {
          const error = lastErrors.get(kind);
          return `${kind}: not listed yet${error === undefined ? '' : ` (${error})`}`;
        }),
  };
}
