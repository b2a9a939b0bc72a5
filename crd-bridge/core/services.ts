import { LABELS } from '../../api/core/group.js';
import type { KindDescriptor } from '../../api/core/kind-descriptor.js';
import type { Sealer } from '../../api/core/seal.js';
import type { Runs } from '../../client/runs/runs.js';
import type { Workflows } from '../../client/runs/workflows.js';
import type { KubeClient } from '../../kube/client.js';
import type { Tracing } from '../../runtime/tracing/tracing.js';
import type { BridgeConfig } from '../config.js';
import { createCaches } from './caches.js';
import type { CacheMaker, Caches } from './caches.js';
import { createEventRecorder } from './events.js';
import type { EventRecorder } from './events.js';
import type { Gate } from './gate.js';
import type { Log } from './log.js';
import type { BridgeMetrics } from './metrics.js';
import { createKeyedMutex } from './mutex.js';
import type { KeyedMutex } from './mutex.js';
import { startGate } from './start-gate.js';
import { createStatusWriter } from './status-writer.js';
import type { StatusWriter } from './status-writer.js';
import type { TemporalIdentity } from './temporal-identity.js';

/**
 * What the bridge offers to the rows of its table.
 *
 * Seam: a kind with an account of its own gets `kube.as` that account here, in place of the bridge's own client.
 */
export interface Services {
  kube: KubeClient;
  runs: Runs;
  workflows: Workflows;
  /** Vouches for what passes through Temporal. */
  sealer: Sealer;
  /** First eight characters of the kube-system namespace's uid. */
  cluster: string;
  /** The connected Temporal; read anew at each use. */
  temporal: TemporalIdentity & {
    namespace: string;
    namespaceId: string;
    /** Whether the search attributes are registered. */
    searchAttributes: boolean;
  };
  config: BridgeConfig;
  log: Log;
  metrics: BridgeMetrics;
  tracing: Tracing;
  events: EventRecorder;
  writer: StatusWriter;
  /** Orders writes by object: keys are `Kind namespace/name`. */
  mutex: KeyedMutex;
  /** Closed while another controller would begin the same work, and while definitions lack what the bridge writes. */
  gate: Gate;
  /** Whether admission looks at what is in a namespace, so that its stamps can be believed there. */
  isAdmitted: (namespace: string) => boolean;
  /**
   * What is missing before the webhooks review what is new; undefined where nothing is, or where there are no webhooks.
   */
  admissionMissing: () => string | undefined;
  /** A copy of all objects of a kind. Call it while rows are made: caches made later are not run. */
  cache: CacheMaker;
}

/** What the services are made from. */
export interface ServiceParts extends Pick<
  Services,
  'cluster' | 'config' | 'kube' | 'log' | 'metrics' | 'runs' | 'sealer' | 'temporal' | 'tracing' | 'workflows'
> {
  /** Tells replicas apart in events. */
  instance: string;
}

/** Makes what the rows share. The caches run once the bridge runs them. */
export function createServices(
  parts: ServiceParts,
  { admissionMissing, kinds }: Pick<Services, 'admissionMissing'> & { kinds: readonly KindDescriptor[] },
): { services: Services; caches: Caches } {
  const { kube, config, log, metrics } = parts;
  const caches = createCaches({ kube, checkMs: config['cache-check'], log, metrics: metrics.caches });
  // Which namespaces have no admission matters only where admission is served.
  const unadmitted =
    config['webhook-port'] === undefined
      ? undefined
      : caches.cache({ apiVersion: 'v1', kind: 'Namespace', labelSelector: `${LABELS.admission}=disabled` });
  const mutex = createKeyedMutex();
  metrics.watchLocks(() => mutex.load());
  const services: Services = {
    ...parts,
    events: createEventRecorder({
      kube,
      controller: 'drover-bridge',
      instance: parts.instance,
      onWrite: metrics.onWrite,
      onError: (error) => {
        log.warn({ err: error }, 'could not write an event');
      },
    }),
    writer: createStatusWriter(kube, metrics.onWrite),
    mutex,
    gate: startGate({ config, kube, kinds, log }),
    isAdmitted: (namespace) => unadmitted?.get(undefined, namespace) === undefined,
    admissionMissing,
    cache: caches.cache,
  };
  return { services, caches };
}
