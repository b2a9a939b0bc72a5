import type { Sealer } from '../../api/core/seal.js';
import type { Runs } from '../../client/runs/runs.js';
import type { Workflows } from '../../client/runs/workflows.js';
import type { KubeClient } from '../../kube/client.js';
import type { Cacheable, Informer, InformerOptions } from '../../kube/informer.js';
import type { BridgeConfig } from '../config.js';
import type { EventRecorder } from './events.js';
import type { Gate } from './gate.js';
import type { Log } from './log.js';
import type { BridgeMetrics } from './metrics.js';
import type { KeyedMutex } from './mutex.js';
import type { StatusWriter } from './status-writer.js';
import type { TemporalIdentity } from './temporal-identity.js';

/** What the bridge offers to the rows of its table. */
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
  events: EventRecorder;
  writer: StatusWriter;
  /** Orders writes by object: keys are `Kind namespace/name`. */
  mutex: KeyedMutex;
  /** Closed while another controller would begin the same work. */
  gate: Gate;
  /** Whether admission looks at what is in a namespace, so that its stamps can be believed there. */
  isAdmitted: (namespace: string) => boolean;
  /**
   * What is missing before the webhooks review what is new; undefined where nothing is, or where there are no webhooks.
   */
  admissionMissing: () => string | undefined;
  /** A copy of all objects of a kind. Call it while rows are made: caches made later are not run. */
  cache: <T extends Cacheable>(
    of: Pick<InformerOptions<T>, 'apiVersion' | 'kind' | 'trim' | 'labelSelector'>,
  ) => Informer<T>;
}
