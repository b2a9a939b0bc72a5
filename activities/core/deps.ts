import type { Logger } from 'pino';
import type { Sealer } from '../../api/core/seal.js';
import type { TraceRequest } from '../../api/core/trace-context.js';
import type { KubeClient } from '../../kube/client.js';
import type { EgressPolicy } from './egress.js';
import type { Notes } from './notes.js';

/** What activities are made with. */
export interface ActivityDeps {
  /** The cluster, as the controller. */
  kube: KubeClient;
  /** Where actions may go: HTTP, and other clusters. */
  egress: EgressPolicy;
  /** Shows requests in the trace of their action (default: in none). */
  traceRequest?: TraceRequest;
  log: Logger;
  /** Verifies what comes by way of Temporal, and vouches for what is kept. */
  sealer: Sealer;
  /** Shows what actions wait for while they do. */
  notes: Notes;
  /** Until then runs that were begun by a release without seals go on. */
  acceptUnsealedUntil?: Date | undefined;
  /**
   * Whether a plan without `serviceAccountName` acts with the controller's own identity (S1.5). False:
   * its actions fail with `NoServiceAccount`.
   */
  controllerIdentity: boolean;
}
