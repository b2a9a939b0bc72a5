/**
 * What the programs agree on for runs of plans: names and ids, who a run is, the inputs and results of its workflows. It
 * must stay free of anything that cannot run in Temporal's sandbox, and so must its further parts: `contract-tasks.ts`
 * (what activities of a worker are given and answer), `contract-updates.ts` (what goes into status) and
 * `contract-bridge.ts` (what the bridge does for runs).
 */
import type { Nesting } from '../../api/plan/order/nesting.js';
import type { StageInput, UndoStageInput } from '../../api/plan/snapshot/run.js';
import type { StageStatus } from '../../api/plan/types.js';
import type { EffectTrace } from '../../api/plan/undo/trace.js';
import type { CancelRecord, EffectBounds, MirrorOptions, MirrorPace } from '../core/contract.js';

/** Temporal workflow types (S6.1). */
export const WORKFLOW_TYPES = {
  execution: 'drPlanExecution',
  stage: 'drStage',
  stageRollback: 'drStageRollback',
  stageSettlement: 'drStageSettlement',
} as const;

/** Signals that only runs of plans have, besides those that every workflow has. */
export const PLAN_SIGNALS = {
  retry: 'retry',
  skip: 'skip',
  abort: 'abort',
  /** To a stage: an `ApprovalAnswer`. */
  answer: 'answer',
  /** To a stage, its rollback, or the run that settles what one has left: an `AttemptNote`. Shown, never acted on. */
  note: 'note',
} as const;

/**
 * Query names. `progress` answers {@link RunProgress} on a run, `waitsFor` a text, or nothing, on a settlement: what it
 * waits for.
 */
export const QUERIES = { progress: 'progress', waitsFor: 'waitsFor' } as const;

/** Search attributes of a run, all of type Keyword. */
export const SEARCH_ATTRIBUTES = ['DrCluster', 'DrNamespace', 'DrPlan', 'DrOperation', 'DrPhase'] as const;

/** Workflow id of a stage of a run. */
export const stageWorkflowId = (runId: string, stage: number): string => `${runId}/s${stage}`;
/** Workflow id of the rollback of a stage inside a run. */
export const rollbackWorkflowId = (runId: string, stage: number): string => `${runId}/r${stage}`;
/** Workflow id of the settlement of a stage, or of its rollback, whose run was ended from outside. */
export const settlementWorkflowId = (stageId: string): string => `${stageId}${SETTLEMENT_SUFFIX}`;

/** What ids of settlements end with. */
export const SETTLEMENT_SUFFIX = '/settle';

/** Execute or Revert (in the original: operationType). */
export type Operation = 'Execute' | 'Revert';

/** Where the snapshot of a run is kept: `parts` ControllerRevisions named `name`, `name-1`, … */
export interface SnapshotRef {
  name: string;
  namespace: string;
  /** SHA-256 of the snapshot's canonical JSON, hex. */
  digest: string;
  parts: number;
}

/** Who a run is: travels with every activity. */
export interface RunIdentity {
  /** First eight characters of the kube-system namespace's uid. */
  cluster: string;
  namespace: string;
  name: string;
  uid: string;
  plan: { name: string; namespace: string; uid: string };
  operation: Operation;
  /** Absent: the execution sets none. A Revert has Rollback. */
  mode?: string;
  runMode: string;
  /** Who asked for the run, where admission has verified it. */
  requestedBy?: string;
  /** Account in the plan's namespace that actions act as; absent = the controller's own identity. */
  serviceAccountName?: string;
  /** Revert: the execution that is undone. Its uid is part of every undo's key. */
  target?: {
    name: string;
    uid: string;
    /** Of a restored copy: uid of the execution that it is a copy of, which effects and what is kept are marked with. */
    origin?: string;
    mode?: string;
    /** Key that it was sealed under; absent of one that a release without seals has begun. */
    sealKey?: string;
  };
  /** The action of another run that this one is part of. */
  nesting?: Nesting;
  snapshot: SnapshotRef;
  /**
   * Workflow id of the run: only it, its stages and their rollbacks act for the run. This and the fields below are
   * absent in runs that a release without seals began.
   */
  workflowId?: string;
  /**
   * SHA-256 of the run's input without this identity and the actions' bodies, hex: it fixes stages, order and deadline.
   */
  inputDigest?: string;
  /** A failure is rolled back: only then does an Execute undo anything. */
  rollsBack?: true;
  /** The bridge's seal of all of the above (docs/security.md#seals). */
  seal?: string;
}

/**
 * The uid that marks what an undo of this run undoes: that of the target, or of the execution that the target is a
 * restored copy of (S5.60); inside a run that rolls back, its own.
 */
export const undoneUid = ({ uid, target }: Pick<RunIdentity, 'uid' | 'target'>): string =>
  target?.origin ?? target?.uid ?? uid;

/** How often the progress of a run is mirrored, and in which form. */
export interface RunMirrorOptions extends MirrorOptions {
  /** Whether the bridge that began the run reads envelopes. Absent in runs that an earlier release began. */
  envelope?: true;
}

/** Input of `drPlanExecution`. */
export interface RunInput {
  run: RunIdentity;
  /** RFC 3339. The first workflow task after this moment ends the run without starting anything. */
  startDeadline: string;
  failurePolicy: 'Stop' | 'Continue';
  onFailure: 'Stop' | 'Pause' | 'Rollback';
  maxConcurrentStages: number;
  /** Execute: the plan's stages. Revert: empty. */
  stages: StageInput[];
  /** Revert: the stages to undo, in the order to undo them. */
  undo: UndoStageInput[];
  /** Revert: initial state of the target's stages, by index; those without an undo are Skipped, others only named. */
  undoStatuses?: StageStatus[];
  mirror: RunMirrorOptions;
  bounds: RunBounds;
  /** Whether the search attributes are registered; upserting others would fail the workflow task. */
  searchAttributes: boolean;
}

/** Time bounds of a run; all are flags of the bridge (S5.55). */
export interface RunBounds extends EffectBounds {
  /** Longest time of one undo step with all its attempts (default 15 min). */
  undoStepMs: number;
  /** Time between two reminders of a paused stage (default 10 min). */
  pauseReminderMs: number;
  /**
   * By when an attempt of a stage that was ended from outside has given up (default 10 s): less than it takes for a lost
   * attempt to be noticed is for tests alone. Absent in runs that an earlier release began.
   */
  lastAttemptMs?: number;
}

/** Input of `drStage`. */
export interface StageRunInput {
  run: RunIdentity;
  stage: StageInput;
  /** Phases of stages so far that `when` asks for, by name. */
  phases: Record<string, string>;
  /** Phases of all stages so far, by position, as `packedPhases` of a task. */
  packedPhases?: string;
  /** Whether a failure that would stop the plan waits for a person. */
  pauseOnFailure: boolean;
  /**
   * How many more actions the clusters that the stage finds may add to the run; concurrent stages see the same number.
   * Absent in runs that an earlier release began: any number.
   */
  clustersLeft?: number;
  mirror: RunMirrorOptions;
  bounds: RunBounds;
}

/** Result of `drStage` and `drStageRollback`. */
export interface StageResult {
  status: StageStatus;
  /** All detail is in status already; `status` has only what a rollback needs. */
  told?: true;
  /** The cancel that cut the stage short; it may have reached the stage's own workflow only. */
  cancelled?: CancelRecord;
  /** What the bridge has last asked it for. */
  pace?: MirrorPace;
  /** In a run that rolls back: the workers' vouchers for what the stage has done. */
  vouchers?: StageVouchers;
}

/** Input of `drStageRollback`. */
export interface StageRollbackInput {
  run: RunIdentity;
  undo: UndoStageInput;
  /** Inside a run that rolls back: the workers' vouchers for what the stage has done. */
  vouchers?: StageVouchers;
  mirror: RunMirrorOptions;
  bounds: RunBounds;
}

/** Input of `drStageSettlement`. What it settles is read from the history of the stage, and is vouched for there. */
export interface SettlementInput {
  /** First eight characters of the kube-system namespace's uid. */
  cluster: string;
  /** Workflow id of the stage, or rollback, that has ended. */
  workflowId: string;
  /** The run of that id. Absent where an earlier release has asked. */
  runId?: string;
  bounds: RunBounds;
  /** The bridge's seal of all that: by it, it knows its own settlement from a stranger's under the same id. */
  seal?: string;
}

/** A worker's word for what an action has left behind. */
export interface EffectVoucher {
  seal: string;
  /** What the seal covers, where that is not all that is known of the action. */
  trace?: EffectTrace;
}

/** Vouchers of a stage, by `workflow/action`, and `workflow/action@cluster` for the part in one cluster. */
export interface StageVouchers {
  effects: Record<string, EffectVoucher[]>;
  /** Seals of the clusters of actions per cluster. */
  clusters: Record<string, string>;
}

/** Argument of signals `retry`, `skip` and `abort`: what a paused stage should do. Absent stage = every paused one. */
export interface Resolution {
  stage?: string;
  reason?: string;
  requestedBy?: string;
}

/** Answer of query `progress`, and what a closed run is projected from. */
export interface RunProgress {
  phase: 'Running' | 'Succeeded' | 'Failed' | 'Cancelled';
  startTime: string;
  message?: string;
  stages: StageStatus[];
  cancelRequest?: CancelRecord;
}

/** Result of `drPlanExecution`. */
export interface RunResult {
  phase: 'Succeeded' | 'Failed' | 'Cancelled';
  reason: string;
  message: string;
  startTime: string;
  completionTime: string;
}
