import type { Cacheable, Informer } from '../../kube/informer.js';
import { keyOf } from './object-ref.js';
import { objectOf, wakeOn } from './row.js';
import type { Row, Wake } from './row.js';
import type { Services } from './services.js';

/** A kind whose objects are checked and have a status, and no runs. */
export interface StatusRowOptions<T extends Cacheable> extends Pick<Row, 'review'> {
  cache: Informer<T>;
  /** @returns after how many milliseconds to look again, if at all */
  reconcile: (object: T) => Promise<number | undefined>;
  /** What brings an object up beside its own changes. */
  wakes?: readonly Wake[];
  /** The object is gone for good. */
  gone?: (object: T) => void;
}

/** Makes a row of such a kind. */
export function statusRow<T extends Cacheable>(
  { gate }: Pick<Services, 'gate'>,
  options: StatusRowOptions<T>,
): Row {
  const { cache, reconcile, wakes = [], gone, review } = options;
  const own = wakeOn(cache, (change) => {
    if (change.kind === 'set') return [keyOf(change.object)];
    gone?.(change.object);
    return [];
  });
  return {
    cache: cache,
    work: {
      async reconcile(key) {
        const object = objectOf(cache, key);
        return object === undefined || gate.closed() !== undefined ? undefined : reconcile(object);
      },
      wakes: [own, ...wakes],
      due: () => cache.list().map(keyOf),
    },
    ...(review !== undefined && { review }),
  };
}
