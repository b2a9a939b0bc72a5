/** What activities of a worker are given by runs of plans, and what they answer. Part of the contract of plans. */
import type { ActivityName } from '../../api/plan/actions/traits.js';
import type { ApprovalAnswer } from '../../api/plan/actions/approval-answers.js';
import type { ActionAddress, ActionBody, OutputViews, Retry } from '../../api/plan/snapshot/run.js';
import type {
  ActionOutputs,
  ActionStatus,
  ActionType,
  ApprovalAction,
  Scalar,
} from '../../api/plan/types.js';
import type { SameOutput } from '../../api/plan/undo/lean-outputs.js';
import type { EffectVoucher, RunIdentity } from './contract.js';

/** One attempt series of one action: input of every action activity. */
export interface ActionTask {
  run: RunIdentity;
  at: ActionAddress;
  direction: 'forward' | 'undo';
  /** First round of this series; a definite failure of an attempt raises it (S3.8). */
  round: number;
  name: string;
  /** Type that is executed: for an undo with a custom rollback the rollback's. */
  type: ActionType;
  timeoutMs: number;
  totalTimeoutMs?: number;
  /** Absent: the default (see `DEFAULT_RETRY`). */
  retry?: Retry;
  body?: ActionBody;
  /** What the action reads of the outputs of others, by action name. */
  outputs: OutputViews;
  /** Phases that its `when` asks for, by action name. */
  phases: Record<string, string>;
  /**
   * Phases of all actions of the workflow, by position, where `when` iterates over them and they are too many to send
   * by name (see `packPhases`): names are in the snapshot.
   */
  packedPhases?: string;
  /**
   * The outcome may name its objects only once (see `leanOutputs`): a workflow of an earlier release cannot read that.
   */
  lean?: true;
  /** What `capture` recorded. */
  prior?: PriorRef;
  /** Undo: what the forward run recorded. */
  forward?: ActionStatus;
  /** With `at.cluster`: the clusterId of that ManagedCluster. */
  clusterId?: string;
  /** How a Job is stopped. Absent in runs that an earlier release began. */
  stop?: StopBounds;
  seals?: TaskSeals;
}

/** Type of the failure of an attempt that timed out and could not stop what it had begun: `settle` follows. */
export const UNSETTLED = 'TimeoutUnsettled';

/** Bounds on stopping a Job. */
export interface StopBounds {
  /** How long past the end of their grace its pods are waited for, in milliseconds. */
  waitMs: number;
  /** Consecutive attempts to settle that may fail before settling is given up. Waiting for pods is no failure. */
  tries: number;
  /** To settle: why. For messages alone. */
  because?: SettleCause;
}

/** Why a task is settled. `interrupted`: it ended without an answer. `stageEnded`: its stage was ended from outside. */
export type SettleCause = 'cancelled' | 'timedOut' | 'interrupted' | 'stageEnded';

/** Seals of a task by bridge and worker, besides that of its run; `workflows/plan/sealed.ts` says what each covers. */
export interface TaskSeals {
  /** Of `body`, by the bridge. */
  body?: string;
  /** Of a step of a revert, by the bridge. */
  step?: string;
  /** Of `at.cluster` and `clusterId`, by the worker that found them. */
  cluster?: string;
  /** Of what an undo inside the run relies on, by the workers that did what is undone. */
  effects?: EffectVoucher[];
}

/** A cluster that an action is carried out in by itself. */
export interface ClusterTarget {
  /** `namespace/name` of the ManagedCluster. */
  cluster: string;
  clusterId: string;
  /** The worker's seal: the action is carried out in no other cluster. */
  seal?: string;
}

/** How an action ends that something kept from beginning. */
export type NotBegun =
  | { kind: 'skipped'; reason: string; message: string }
  | { kind: 'failed'; reason: string; message: string };

/** Clusters of an action per cluster, or how the action ends without them. */
export type TargetsOutcome = { kind: 'clusters'; clusters: ClusterTarget[]; message?: string } | NotBegun;

/**
 * What a worker says of an action that has not ended: how its last attempt failed and when it goes on, or what a running
 * attempt waits for.
 */
export interface AttemptNote {
  at: ActionAddress;
  message: string;
  /** Attempts of this series that have failed; absent while the first one runs. */
  retryCount?: number;
}

/** Where prior state is kept: a key of a Secret owned by the execution. */
export interface PriorRef {
  name: string;
  key: string;
  digest: string;
}

/** How an action ended. */
export type ActionOutcome =
  | {
      phase: 'Succeeded';
      message?: string;
      outputs?: ActionOutputs;
      /** Fields that the outputs leave out on their way here (see `leanOutputs`). */
      same?: SameOutput[];
      /** Seal of what the outputs say was left behind. */
      seal?: string;
      round: number;
      retryCount: number;
    }
  | { phase: 'Skipped'; reason: string; message: string; round: number; retryCount: number }
  | {
      phase: 'Failed';
      reason: string;
      message: string;
      outputs?: ActionOutputs;
      same?: SameOutput[];
      seal?: string;
      /** Whether the effect may be there. */
      effect: 'Done' | 'None' | 'Unknown';
      round: number;
      retryCount: number;
    };

/** How `capture` ended. */
export type CaptureOutcome =
  | { kind: 'captured'; prior: PriorRef }
  /** Nothing to record: the rendered operation is Create. */
  | { kind: 'none' }
  | NotBegun;

/** Input of `cleanUp`: a hook's objects are deleted. */
export interface CleanupTask extends ActionTask {
  /** `before`: what is in the way of what the action creates. `after`: what it has created. */
  moment: 'before' | 'after';
  /** After: the action's outputs. */
  made?: ActionOutputs;
  /** The worker's seal of what that says was left behind. */
  madeSeal?: string;
}

/** How `cleanUp` ended. */
export type CleanupOutcome =
  | {
      kind: 'done';
      message?: string;
      /** What was in the way is deleted, and may still run. */
      stopUnconfirmed?: string[];
    }
  | NotBegun;

/** What has to be known before workflow code carries a step out itself; or how the action ends without it. */
export type Decision =
  | { kind: 'timer'; ms: number }
  | {
      kind: 'approval';
      message: string;
      approvers: ApprovalAction['approvers'];
      quorum: number;
      excludeRequester: boolean;
      /** Absent: there is no limit. */
      timeoutMs?: number;
      defaultOutcome: 'Reject' | 'Approve';
    }
  | { kind: 'skipped'; reason: string; message: string }
  | { kind: 'failed'; reason: string; message: string };

/** Input of `evaluate`: a stage's `when`. */
export interface EvaluateTask {
  run: RunIdentity;
  /** Index of the stage; absent in what an earlier release has asked for. */
  stage?: number;
  expression: string;
  /** Absent where they are too large to travel: then they are in the snapshot. */
  params?: Record<string, Scalar>;
  /** Phases of stages that the condition asks for, by name. */
  phases: Record<string, string>;
  /** Phases of all stages, by position, as {@link ActionTask.packedPhases}. */
  packedPhases?: string;
}

/** How `evaluate` ended. */
export type EvaluateOutcome = { value: boolean } | { error: string };

/** Input of `vouch`: an answer to an approval of a stage. */
export interface VouchTask {
  run: RunIdentity;
  /** Index of the stage. */
  stage: number;
  answer: ApprovalAnswer;
}

/** How `vouch` ended. */
export type VouchOutcome = { kind: 'vouched' } | { kind: 'refused'; message: string };

/** Activities that carry out actions: one for each type that workflow code does not carry out itself. */
export type ActionActivities = Record<ActivityName, (task: ActionTask) => Promise<ActionOutcome>>;

/** Activities that the worker offers. */
export interface WorkerActivities extends ActionActivities {
  /** Evaluates `when` and fills in the placeholders of a step that workflow code carries out itself. */
  decide: (task: ActionTask) => Promise<Decision>;
  /** Evaluates `when` of an action per cluster, and finds its clusters. */
  targets: (task: ActionTask) => Promise<TargetsOutcome>;
  /** Records the state before the effect. */
  capture: (task: ActionTask) => Promise<CaptureOutcome>;
  /** Deletes what a hook leaves behind, before or after it (`hookCleanup`). */
  cleanUp: (task: CleanupTask) => Promise<CleanupOutcome>;
  /** Finds an effect whose attempt ended without an outcome, stops it, and says what became of it. */
  settle: (task: ActionTask) => Promise<ActionOutcome>;
  evaluate: (task: EvaluateTask) => Promise<EvaluateOutcome>;
  /** Whether the bridge has sent an answer. A local activity: nobody outside a worker can say so in its place. */
  vouch: (task: VouchTask) => Promise<VouchOutcome>;
}
