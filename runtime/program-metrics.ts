/** What all programs tell of themselves. Label `program` says which of them it is. */
import { totalmem } from 'node:os';
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import { createHistogram, ExemplarRegistry } from './histogram.js';
import type { Exemplar } from './histogram.js';
import { joinOpenMetrics } from './open-metrics.js';
import { packageVersion } from './package-version.js';
import type { Ring } from './ring.js';
import type { SdkMetrics } from './sdk-metrics.js';

/** A program of Drover. */
export type ProgramName = 'bridge' | 'worker' | 'server';

/** An exchange with the API server, as it is counted. */
interface ApiExchange {
  verb: string;
  resource: string;
  code: string;
  seconds: number;
}

/** The keys of seals at one moment; times in milliseconds since the epoch. */
interface RingState {
  keys: number;
  /** When the newest was made. */
  newestAt: number;
  /** When the ring was last read well. */
  readAt: number;
}

/** What a program counts of itself. */
export interface ProgramMetrics {
  registry: Registry;
  /** Counts an exchange with the API server. */
  onExchange: (exchange: ApiExchange) => void;
  /**
   * The ring of seals could be read; looked at at each scrape.
   *
   * @param madeAt when a key was made; the first of the ring is the newest
   */
  watchSealRing: <K>(
    ring: Pick<Ring<readonly [K, ...K[]]>, 'current' | 'knownAt'>,
    madeAt: (key: K) => Date,
  ) => void;
  /** All metrics as Prometheus text, with those of Temporal's SDK. */
  page: () => Promise<{ text: string; contentType: string }>;
}

/** Makes a gauge that is read at each scrape. */
type MakeGauge = (name: string, help: string, collect: (this: Gauge<'program'>) => void) => void;

/** Actions may be about any kind that the cluster serves; beyond this many resources all others are one. */
const MAX_RESOURCES = 200;

/**
 * Metrics in a registry of their own, with those of Node and of the process.
 *
 * @param options.isReady whether `/readyz` says so, asked at each scrape
 * @param options.sdk what Temporal's SDK counts, where that is exported
 * @param options.exemplar lets histograms name traces, in the format of OpenMetrics; absent: no exemplars
 */
export function createProgramMetrics(options: {
  program: ProgramName;
  isReady: () => boolean;
  sdk?: Pick<SdkMetrics, 'text'>;
  exemplar?: Exemplar | undefined;
}): ProgramMetrics {
  const { program, isReady, sdk, exemplar } = options;
  const registry = exemplar === undefined ? new Registry() : new ExemplarRegistry(exemplar);
  collectDefaultMetrics({ register: registry });
  const own = { program };
  const gauge: MakeGauge = (name, help, collect) => {
    registry.registerMetric(
      new Gauge({ name, help, labelNames: ['program'] as const, registers: [], collect }),
    );
  };

  new Gauge({
    name: 'drover_build_info',
    help: 'Always 1; the version is a label.',
    labelNames: ['program', 'version'] as const,
    registers: [registry],
  }).set({ program, version: packageVersion() }, 1);
  gauge('drover_ready', 'Whether the program is ready, as /readyz says: 1 or 0.', function () {
    this.set(own, isReady() ? 1 : 0);
  });
  gauge(
    'drover_memory_limit_bytes',
    'Memory that the program may use: the limit of its container, else that of the machine.',
    function () {
      this.set(own, memoryLimit());
    },
  );
  return {
    registry,
    onExchange: countExchanges(registry, program),
    // The server holds no keys of seals.
    watchSealRing: program === 'server' ? () => undefined : sealRingGauges(gauge, own),
    async page() {
      const [ours, theirs] = await Promise.all([registry.metrics(), sdk?.text()]);
      const text = exemplar === undefined ? ours + (theirs ?? '') : joinOpenMetrics(ours, theirs ?? '');
      return { text, contentType: registry.contentType };
    },
  };
}

function countExchanges(registry: Registry, program: ProgramName): ProgramMetrics['onExchange'] {
  const registers = [registry];
  const requests = new Counter({
    name: 'drover_api_requests_total',
    help: 'Requests to the Kubernetes API, by what was asked of which resource, and by the HTTP status (or unreachable, aborted).',
    labelNames: ['program', 'verb', 'resource', 'code'] as const,
    registers,
  });
  const latency = createHistogram(registry, {
    name: 'drover_api_request_seconds',
    help: 'Time from a request to the Kubernetes API to the head of its answer.',
    labelNames: ['program', 'verb'] as const,
    buckets: [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
  });
  const resources = new Set<string>();
  return ({ verb, resource, code, seconds }) => {
    const isCounted = resources.has(resource) || resources.size < MAX_RESOURCES;
    if (isCounted) resources.add(resource);
    requests.inc({ program, verb, resource: isCounted ? resource : 'other', code });
    latency.observe({ program, verb }, seconds);
  };
}

/** Until the ring can be read, there are no keys. */
function sealRingGauges(gauge: MakeGauge, own: { program: ProgramName }): ProgramMetrics['watchSealRing'] {
  let read: (() => RingState) | undefined;
  gauge('drover_seal_keys', 'Keys in the ring of seals; 0 until it could be read.', function () {
    this.set(own, read?.().keys ?? 0);
  });
  gauge(
    'drover_seal_newest_key_timestamp_seconds',
    'When the newest key of seals was made; absent until the ring could be read.',
    function () {
      if (read !== undefined) this.set(own, read().newestAt / 1000);
    },
  );
  gauge(
    'drover_seal_last_read_timestamp_seconds',
    'When the ring of seals was last read well; absent until then.',
    function () {
      if (read !== undefined) this.set(own, read().readAt / 1000);
    },
  );
  return (ring, madeAt) => {
    read = () => {
      const keys = ring.current();
      return { keys: keys.length, newestAt: madeAt(keys[0]).getTime(), readAt: ring.knownAt() };
    };
  };
}

/** Without a limit, the system reports none, or one beyond all memory there is. */
function memoryLimit(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
