import type { Sealer } from '../../api/core/seal.js';
import type { DRPolicy } from '../../api/plan/schema/policy.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../api/plan/types.js';
import type { Runs } from '../../client/runs/runs.js';
import type { KubeClient } from '../../kube/client.js';
import type { Informer } from '../../kube/informer.js';
import type { Tracing } from '../../runtime/tracing/tracing.js';
import type { MirrorOptions, MirrorPace } from '../../workflows/core/contract.js';
import type { RunBounds } from '../../workflows/plan/contract.js';
import type { EventRecorder } from '../core/events.js';
import type { Log } from '../core/log.js';
import type { KeyedMutex } from '../core/mutex.js';
import type { StatusWriter } from '../core/status-writer.js';
import type { AuthorizationMode } from './review/authority.js';
import type { AnswerTrust } from './status/answers.js';
import type { GitOpsExecutions } from './start/checks.js';
import type { SnapshotStore } from './start/snapshot-store.js';

/**
 * An execution as the cache keeps it. Of one that has ended it keeps only a stub, so that memory hardly grows with
 * ended executions: read the live object where more of it matters.
 */
export type CachedExecution = DRPlanExecution & {
  /** Only on one that has ended: what was read from it before the rest was dropped. */
  stub?: ExecutionStub;
};

/** What is kept beside a few fields of an execution that has ended. */
export interface ExecutionStub {
  /** Whether the run did something that no revert or rollback has undone yet. */
  hasEffects: boolean;
  /** Whether a revert or a rollback has undone something of it. */
  isTouched?: true;
  /** Why it is never removed without a person, if so. */
  kept?: KeptFor;
}

/**
 * Why an execution that has ended is never removed without a person:
 *
 * - `Declared`: it was applied from a file or by a GitOps tool, which would create, and so start, it again
 * - `StopUnconfirmed`: its status names what may still run, and where
 * - `Foreign`: another controller has ended it, and it is no record of ours
 */
export type KeptFor = 'Declared' | 'StopUnconfirmed' | 'Foreign';

/** What the DR kinds are configured with. */
export interface DrSettings {
  /** Plans without a service account act with the controller's own rights. */
  controllerIdentity: boolean;
  /** Service account, in the plan's namespace, of plans that name none. */
  defaultServiceAccount?: string;
  mirror: MirrorOptions;
  /** Least time between mirrors of a run of more than 1,000 actions. */
  largeMirrorIntervalMs: number;
  bounds: RunBounds;
  /** Whose answers to approvals count, and whether stamps of users can be believed. */
  answers: AnswerTrust;
  /** What admission does about requests that somebody may not make. */
  authorization: AuthorizationMode;
  /** What is asked of executions that a GitOps tool keeps. */
  gitOps: GitOpsExecutions;
  /** How long to wait for a plan that was not checked yet. */
  planWaitMs: number;
  /** A task that no worker has taken for this long is shown, in milliseconds (S5.50). */
  taskWaitMs: number;
}

/** What the DR kinds are built from. */
export interface DrDeps {
  kube: KubeClient;
  log: Log;
  /** What is made in a trace goes on with it. */
  tracing: Pick<Tracing, 'current'>;
  events: EventRecorder;
  writer: StatusWriter;
  mutex: KeyedMutex;
  runs: Runs;
  /** Vouches for what passes through Temporal. */
  sealer: Sealer;
  snapshots: SnapshotStore;
  caches: {
    workflows: Informer<DRWorkflow>;
    plans: Informer<DRPlan>;
    executions: Informer<CachedExecution>;
  };
  /** First eight characters of the kube-system namespace's uid. */
  cluster: string;
  temporal: {
    namespace: string;
    namespaceId: string;
    /** Absent where the server does not report it. */
    clusterId?: string;
    searchAttributes: boolean;
  };
  settings: DrSettings;
  /** How often runs may report their progress at present. */
  pace: () => MirrorPace;
  /** All policies there are. */
  policies(): readonly DRPolicy[];
  /** Whether admission looks at what is in a namespace, so that its stamps can be believed there. */
  isAdmitted: (namespace: string) => boolean;
  /**
   * What is missing before the webhooks review what is new; undefined where nothing is, or where there are no webhooks.
   */
  admissionMissing: () => string | undefined;
}
