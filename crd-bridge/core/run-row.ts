import type { Cacheable, Informer } from '../../kube/informer.js';
import type { RunKind } from './kind.js';
import type { MirrorRow } from './mirror-endpoint.js';
import { orphansOf } from './orphans.js';
import type { QueueRank } from './queue.js';
import { keyOf } from './object-ref.js';
import { objectOf, wakeOn } from './row.js';
import type { Row, Wake } from './row.js';
import { createRunController } from './run-controller.js';
import type { Services } from './services.js';
import { createStartRoom } from './start-room.js';

/** A kind of which each object is one piece of work that ends. */
export interface RunRowOptions<T extends Cacheable> extends Pick<Row, 'activities' | 'review' | 'sweeps'> {
  cache: Informer<T>;
  kind: RunKind<T>;
  /** How runs get into status. */
  mirror: Omit<MirrorRow, 'heard'>;
  /** How long a run sends nothing even if it is taken up at once, in milliseconds. */
  quietMs: () => number;
  rank: (object: T) => QueueRank;
  /** What brings an object up beside its own changes. */
  wakes?: readonly Wake[];
}

/** A run that no worker takes up keeps others from being started for at most this long. */
const START_HOLD_MS = 60_000;

/** Makes a row of such a kind, with its controller, its start room and the search for orphans. */
export function runRow<T extends Cacheable>(services: Services, options: RunRowOptions<T>): Row {
  const { config, runs, log, gate, tracing } = services;
  const { cache, kind, rank, review } = options;
  let wake: (key: string) => void = () => undefined;
  const room = createStartRoom({
    places: config['start-window'],
    holdMs: START_HOLD_MS,
    quietMs: options.quietMs,
    wake: (key) => {
      wake(key);
    },
  });
  services.metrics.watchWaiting(() => room.waiting);
  const controller = createRunController({
    kind,
    room,
    runs,
    temporal: services.temporal,
    times: {
      silenceMs: config.silence,
      firstLookMs: Math.min(30_000, config.silence),
      deleteWaitMs: config['delete-wait'],
    },
    log,
    tracing,
    onStart: () => {
      services.metrics.starts.inc();
    },
    mayBegin: () => gate.closed() === undefined,
  });
  const orphans = orphansOf(services, { cache, idPrefix: kind.idPrefix, workflowType: kind.workflowType });

  /** Objects that are over cost nothing here, however many are kept. */
  const needsNothing = (object: T): boolean => {
    const { ended, deleting, inherited } = kind.state(object);
    return ended && !deleting && !inherited;
  };
  const own = wakeOn(cache, ({ kind: change, object }) => {
    if (change === 'gone' || kind.state(object).ended) controller.forget(object.metadata.uid ?? '');
    return change === 'gone' || needsNothing(object) ? [] : [keyOf(object)];
  });
  const connectRoom: Wake = {
    connect(queue) {
      wake = (key) => {
        queue.add(key);
      };
    },
  };
  return {
    cache: cache,
    work: {
      async reconcile(key) {
        const object = objectOf(cache, key);
        return object === undefined ? undefined : controller.reconcile(object);
      },
      rank(key) {
        const object = objectOf(cache, key);
        return object === undefined ? 1 : rank(object);
      },
      logFields(key) {
        const object = objectOf(cache, key);
        return object === undefined ? {} : kind.logFields(object);
      },
      wakes: [connectRoom, own, ...(options.wakes ?? [])],
      due: () =>
        cache
          .list()
          .filter((object) => !needsNothing(object))
          .map(keyOf),
    },
    mirror: {
      ...options.mirror,
      heard: ({ object }) => {
        controller.heard(object.uid);
      },
    },
    ...(options.activities !== undefined && { activities: options.activities }),
    sweeps: [orphans, ...(options.sweeps ?? [])],
    ...(review !== undefined && { review }),
  };
}
