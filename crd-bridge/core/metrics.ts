import { Counter, Gauge, Registry } from 'prom-client';
import type { Histogram } from 'prom-client';
import { createHistogram } from '../../runtime/histogram.js';
import { readGauge } from './read-gauge.js';
import type { MutexLoad } from './mutex.js';
import type { OnWrite } from './status-writer.js';

/** What the bridge counts, whatever kinds there are. A system adds its own to the same registry. */
export interface BridgeMetrics extends QueueMetrics, MirrorMetrics, AdmissionMetrics {
  registry: Registry;
  starts: Counter;
  onWrite: OnWrite;
  caches: CacheMetrics;
  /** Temporal has answered, or has not. */
  temporalAnswered: (answered: boolean) => void;
}

/** Metrics in a registry. */
export function createMetrics(registry: Registry = new Registry()): BridgeMetrics {
  const registers = [registry];
  const writes = new Counter({
    name: 'drover_bridge_api_writes_total',
    help: 'Writes to the Kubernetes API, by kind of object, verb and result (ok, conflict, error).',
    labelNames: ['kind', 'verb', 'result'] as const,
    registers,
  });
  return {
    registry,
    starts: new Counter({
      name: 'drover_bridge_runs_started_total',
      help: 'Runs that were started.',
      registers,
    }),
    onWrite: (write) => {
      writes.inc(write);
    },
    ...queueMetrics(registry),
    ...mirrorMetrics(registry),
    ...admissionMetrics(registry),
    caches: cacheMetrics(registry),
    temporalAnswered: temporalMetrics(registry),
  };
}

/** Objects that wait and are looked at. */
interface QueueMetrics {
  errors: Counter<'kind'>;
  reconcile: Histogram<'kind'>;
  /** Reports how many objects wait to be started, read at each scrape. */
  watchWaiting: (read: () => number) => void;
  /** Reports the depth of a queue, read at each scrape. */
  watchDepth: (kind: string, depth: () => number) => void;
  /** Reports what the mutex has to do, read at each scrape. */
  watchLocks: (load: () => MutexLoad) => void;
}

function queueMetrics(registry: Registry): QueueMetrics {
  const registers = [registry];
  const depths = readGauge(registry, {
    name: 'drover_bridge_queue_depth',
    help: 'Objects that wait to be looked at or are being looked at.',
    labelNames: ['kind'],
  });
  const waits = readGauge(registry, {
    name: 'drover_bridge_starts_waiting',
    help: 'Objects that wait until workers have taken up what was started before them.',
    labelNames: [],
  });
  const locks = readGauge(registry, {
    name: 'drover_bridge_locks',
    help: 'Locks on single objects inside this replica: held, and waited for (waiting).',
    labelNames: ['state'],
  });
  const longest = readGauge(registry, {
    name: 'drover_bridge_lock_longest_held_seconds',
    help: 'How long the lock that is held longest is held already; 0 while none is.',
    labelNames: [],
  });
  return {
    errors: new Counter({
      name: 'drover_bridge_reconcile_errors_total',
      help: 'Looks at an object that failed and were put off.',
      labelNames: ['kind'] as const,
      registers,
    }),
    reconcile: createHistogram(registry, {
      name: 'drover_bridge_reconcile_seconds',
      help: 'Time of one look at an object.',
      labelNames: ['kind'] as const,
      buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    }),
    watchWaiting: (read) => {
      waits.add(() => [[{}, read()]]);
    },
    watchDepth: (kind, read) => {
      depths.add(() => [[{ kind }, read()]]);
    },
    watchLocks: (load) => {
      locks.add(() => {
        const { held, waiting } = load();
        return [
          [{ state: 'held' }, held],
          [{ state: 'waiting' }, waiting],
        ];
      });
      longest.add(() => [[{}, load().longestHeldMs / 1000]]);
    },
  };
}

/** What runs say. */
interface MirrorMetrics {
  updates: Counter<'kind'>;
  /** From the moment when a run asked for an update to be written until it was, by kind of object and what was asked. */
  mirrorLag: Histogram<'kind' | 'verb'>;
}

function mirrorMetrics(registry: Registry): MirrorMetrics {
  const registers = [registry];
  return {
    updates: new Counter({
      name: 'drover_bridge_updates_total',
      help: 'Updates that runs have sent, by kind (mirror, finish).',
      labelNames: ['kind'] as const,
      registers,
    }),
    mirrorLag: createHistogram(registry, {
      name: 'drover_bridge_mirror_lag_seconds',
      help: 'Time from when a run sends an update until it is written, failed attempts included, by kind of object and verb (mirror, finish, record, release).',
      labelNames: ['kind', 'verb'] as const,
      buckets: [0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300],
    }),
  };
}

/** Reviews, and the certificate that they are served with. */
interface AdmissionMetrics {
  reviews: Histogram<'kind' | 'operation' | 'result'>;
  reviewFailures: Counter<'reason'>;
  certificateStart: Gauge;
  certificateExpiry: Gauge;
}

function admissionMetrics(registry: Registry): AdmissionMetrics {
  const registers = [registry];
  return {
    reviews: createHistogram(registry, {
      name: 'drover_bridge_admission_seconds',
      help: 'Time of one admission review, by kind of object, operation and result (allowed, refused, error).',
      labelNames: ['kind', 'operation', 'result'] as const,
      buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3],
    }),
    reviewFailures: new Counter({
      name: 'drover_bridge_admission_failures_total',
      help: 'Admission reviews without a response: busy (too many at once), late (none in time), error (a fault), invalid (no review). The failure policy decides then.',
      labelNames: ['reason'] as const,
      registers,
    }),
    certificateStart: new Gauge({
      name: 'drover_bridge_webhook_certificate_start_timestamp_seconds',
      help: 'Since when the certificate that admission is served with is valid; 0 while none is served.',
      registers,
    }),
    certificateExpiry: new Gauge({
      name: 'drover_bridge_webhook_certificate_expiry_timestamp_seconds',
      help: 'When the certificate that admission is served with runs out; 0 while none is served.',
      registers,
    }),
  };
}

/** The copies of objects that a bridge keeps. */
export interface CacheMetrics {
  /** A list or a watch failed. */
  failed: (kind: string) => void;
  /** Changes that a watch has lost were read anew. */
  repaired: (kind: string, objects: number) => void;
  /** A list is complete, or an event has come. */
  heard: (kind: string, by: 'list' | 'watch') => void;
  /** Reports how many objects there are, read at each scrape. */
  watchSize: (kind: string, size: () => number) => void;
}

function cacheMetrics(registry: Registry): CacheMetrics {
  const registers = [registry];
  const labelNames = ['kind'] as const;
  const failures = new Counter({
    name: 'drover_bridge_cache_failures_total',
    help: 'Lists and watches of a kind that failed; they are tried again.',
    labelNames,
    registers,
  });
  const repairs = new Counter({
    name: 'drover_bridge_cache_repairs_total',
    help: 'Objects of which a watch has lost a change; they were read anew.',
    labelNames,
    registers,
  });
  const sizes = readGauge(registry, {
    name: 'drover_bridge_cache_objects',
    help: 'Objects of a kind that the cache has.',
    labelNames,
  });
  const last = {
    list: new Map<string, number>(),
    watch: new Map<string, number>(),
  };
  const times = (name: string, help: string, of: ReadonlyMap<string, number>): void => {
    readGauge(registry, { name, help, labelNames }).add(() =>
      [...of].map(([kind, at]) => [{ kind }, at / 1000] as const),
    );
  };
  times(
    'drover_bridge_cache_last_list_timestamp_seconds',
    'When a list of all objects of a kind was last complete.',
    last.list,
  );
  times(
    'drover_bridge_cache_last_event_timestamp_seconds',
    'When the watch of a kind last reported something; a quiet API server does about once a minute.',
    last.watch,
  );
  return {
    failed: (kind) => {
      failures.inc({ kind });
    },
    repaired: (kind, objects) => {
      repairs.inc({ kind }, objects);
    },
    heard: (kind, by) => {
      last[by].set(kind, Date.now());
    },
    watchSize: (kind, size) => {
      sizes.add(() => [[{ kind }, size()]]);
    },
  };
}

function temporalMetrics(registry: Registry): BridgeMetrics['temporalAnswered'] {
  const reachable = new Gauge({
    name: 'drover_bridge_temporal_reachable',
    help: 'Whether Temporal has answered the last check, which comes every ten seconds: 1 or 0.',
    registers: [registry],
  });
  return (answered) => {
    reachable.set(answered ? 1 : 0);
  };
}
