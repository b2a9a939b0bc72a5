/**
 * The rows of the bridge's table. What a system is to the bridge is said here and nowhere else: its objects, how one of
 * them is brought forward, what else brings it up, how its runs get into status, what admission asks.
 */
import type { Cacheable, Change, Informer } from '../../kube/informer.js';
import type { ReviewRequest, ReviewResponse } from './review.js';
import type { MirrorRow } from './mirror-endpoint.js';
import type { QueueRank, WorkQueue } from './queue.js';

/** Brings keys of a row up when something changes. */
export interface Wake {
  /** Called once all caches are complete, with the row's queue. */
  connect(queue: Pick<WorkQueue, 'add' | 'addAfter'>): void;
}

/** What a row does with its objects, by key `namespace/name`. */
export interface Work {
  /**
   * Brings an object forward. Level-triggered: whatever state a crash has left, the same call mends it.
   *
   * @returns after how many milliseconds to look again, if at all
   */
  reconcile(key: string): Promise<number | undefined>;
  /** Default: all keys have the same rank. */
  rank?(key: string): QueueRank;
  /** How lines of the log name what a key stands for, beside the key itself. */
  logFields?(key: string): Readonly<Record<string, string>>;
  wakes: readonly Wake[];
  /** Keys that a look at all objects takes up: those that may need something although nothing has changed. */
  due(): string[];
  /** Called once at the end, for what the row has started itself. */
  stop?(): Promise<void>;
}

/**
 * Something that is looked for from time to time.
 *
 * Seam: a sweep that has to outlive bridges is one workflow for the whole kind; it is started here, by its fixed id.
 */
export interface Sweep {
  /** Works until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** What admission asks about objects of one kind. */
export interface KindReview {
  /** Decides about CREATE, UPDATE and DELETE. */
  validate(request: ReviewRequest): Promise<ReviewResponse> | ReviewResponse;
  /** Says who asked. Absent: objects of this kind are not stamped. */
  stamp?(request: ReviewRequest): Promise<ReviewResponse> | ReviewResponse;
}

/**
 * One row.
 *
 * Seam: a projection of watched objects into status, without waking a workflow, is a further kind of wake: it writes
 * through the status writer instead of adding keys.
 */
export interface Row {
  /** Copy of all objects of the kind. */
  readonly cache: Informer;
  /** Absent: other rows only read the objects. */
  readonly work?: Work;
  /** Absent: no run speaks for an object of this kind. */
  readonly mirror?: MirrorRow;
  /**
   * Further activities on the bridge's queue, by name.
   *
   * Seam: objects that a run asks the bridge to create by deterministic names are such an activity, vouched for as
   * mirrors are.
   */
  readonly activities?: object;
  readonly sweeps?: readonly Sweep[];
  /** Called once, when all caches are complete. Absent: objects of the kind are not reviewed. */
  review?(): KindReview;
}

/**
 * Which changes of the objects of one kind bring up which keys of a row. The function is called for every object there
 * is, and for every change from then on.
 *
 * @param options.afterMs how much later they are brought up, in milliseconds (default at once)
 */
export function wakeOn<T extends Cacheable>(
  informer: Informer<T>,
  keys: (change: Change<T>) => Iterable<string>,
  options: { afterMs?: number } = {},
): Wake {
  const { afterMs } = options;
  return {
    connect(queue) {
      informer.onChange((change) => {
        for (const key of keys(change)) {
          if (afterMs === undefined) queue.add(key);
          else queue.addAfter(key, afterMs);
        }
      });
    },
  };
}

/** The object of a key. */
export function objectOf<T extends Cacheable>(cache: Informer<T>, key: string): T | undefined {
  const [namespace = '', name = ''] = key.split('/');
  return cache.get(namespace, name);
}
