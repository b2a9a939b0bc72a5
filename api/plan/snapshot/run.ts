/**
 * What a run is made of once a plan, its workflows and all parameters have been put together. Types only: workflow
 * code, the bridge and activities read them.
 */
import type { StepInput } from '../actions/step-input.js';
import type { HookPosition } from '../order/hooks.js';
import type { Action, ActionOutputs, ActionStatus, ActionType, Scalar, StageStatus } from '../types.js';

/** What `outputs.<action>` shows: the outputs and the phase. */
export type OutputViews = Record<string, ActionOutputs & { phase: string }>;

/** Position of an action in a run; everything is keyed by it, never by name (S4.14). */
export interface ActionAddress {
  stage: number;
  workflow: number;
  action: number;
  /** The part of an action per cluster that belongs to one cluster, by `namespace/name` of its ManagedCluster. */
  cluster?: string;
}

/** How an action is carried out separately in each of its clusters. */
export interface PerCluster {
  /** Clusters at once; absent: as many as there are, within bounds. */
  limit?: number;
  /** Every cluster goes on whatever happens in another one, also with FailFast (hooks). */
  independent?: true;
}

/** Retry policy with every default filled in. */
export interface Retry {
  /** Retries after the first attempt. */
  limit: number;
  intervalMs: number;
  backoffMultiplier: number;
  maxIntervalMs: number;
  /**
   * Job only: a Job that used up its own backoff is run again, in a new round, while the limit allows. Absent: such a
   * failure is final and the limit covers errors of the API only (S3.5).
   */
  rerunJob?: boolean;
}

/** What an action needs to be executed. */
export interface ActionBody {
  action: Action;
  /** Merged parameters, only those that the action uses. */
  params: Record<string, Scalar>;
  /**
   * What the field manager of the action ends in; absent where it writes no objects, and in runs of earlier releases.
   * See `managerDigest`.
   */
  manager?: string;
}

/** A custom rollback as workflow code sees it. */
export interface RollbackInput {
  type: ActionType;
  timeoutMs: number;
  totalTimeoutMs?: number;
  retry: Retry;
  step?: StepInput;
  optional?: true;
  perCluster?: PerCluster;
}

/** What an action reads of the others of its workflow; what is read of no action is absent. */
export interface Reads {
  /**
   * Paths into what `outputs.<action>` shows, such as `httpResponse.statusCode`, by name of the action; `''` is all of it.
   * None: its phase alone, which is always there.
   */
  outputs?: Record<string, string[]>;
  /** Actions whose phase a condition asks for. */
  phases?: string[];
  /** A condition goes through all actions: it has their phases, and these paths of each. */
  every?: string[];
}

/** An action as workflow code sees it: what decides order, time and retries. */
export interface ActionInput {
  name: string;
  type: ActionType;
  dependsOn: string[];
  timeoutMs: number;
  totalTimeoutMs?: number;
  retry: Retry;
  /** Whether prior state is recorded before the effect (Apply, Patch, Replace, Delete, or a templated operation). */
  capture: boolean;
  interruptible: boolean;
  /**
   * Other actions of the same workflow that are read, by the action, its `when` or its custom rollback. Runs begun by
   * earlier releases carry all outputs of these; others use `reads` and `undoReads`, and leave this out where it would
   * be too long.
   */
  uses?: string[];
  /** What is read when the action is carried out. */
  reads?: Reads;
  /** What is read when it is undone: by the custom rollback, which may read the action itself, or else by the action. */
  undoReads?: Reads;
  /** Absent when the run is too large to carry bodies; then the activity reads the snapshot. */
  body?: ActionBody;
  /** The bridge's seal of the body, for the direction that it is carried out in. */
  bodySeal?: string;
  /** The custom rollback, when there is one: what decides its time and retries. */
  rollback?: RollbackInput;
  /** Absent: an activity carries it out. */
  step?: StepInput;
  /** Absent: it is carried out once, for all clusters. */
  perCluster?: PerCluster;
  /** Its failure is reported and passed over: Skipped, `NotDelivered` (a Notify that is not required). */
  optional?: true;
  /** Where the action stands as a hook. */
  hook?: HookPosition;
  hookType?: string;
  /** When the objects of a hook are deleted. */
  cleanup?: { beforeCreate?: true; onSuccess?: true; onFailure?: true };
  /** Not carried out in this run: a hook of another mode, or what mode Delete leaves alone. It is Skipped. */
  skip?: { reason: string; message: string };
  /** Changes nothing (an HTTP read, a wait, a message), so that there is nothing to undo. */
  harmless?: true;
}

/** A use of a workflow. */
export interface WorkflowInput {
  ref: { name: string; namespace: string };
  failurePolicy: 'FailFast' | 'Continue';
  actions: ActionInput[];
}

/** A stage. */
export interface StageInput {
  index: number;
  name: string;
  parallel: boolean;
  maxConcurrency?: number;
  dependsOn: string[];
  /** CEL condition over global parameters, modes and the phases of other stages. */
  when?: string;
  /** Merged global parameters that `when` uses; absent where they are too large to travel: then they are in the snapshot. */
  whenParams?: Record<string, Scalar>;
  /** Stages whose phases `when` asks for; absent in runs begun by earlier releases, which carry all. */
  whenReads?: Pick<Reads, 'phases' | 'every'>;
  /** Own value, else the plan's. */
  failurePolicy: 'Stop' | 'Continue' | 'FailFast';
  workflows: WorkflowInput[];
}

/** One action to undo. */
export interface UndoStep {
  at: ActionAddress;
  input: ActionInput;
  /** What the forward run recorded. */
  forward: ActionStatus;
  /** What the rollback reads of the recorded outputs of actions of the same workflow. */
  outputs: OutputViews;
  /** More of it, by action name: places in the `views` of the stage. */
  shared?: Record<string, number>;
  /** A rollback hook: the action is carried out, not undone. */
  hook?: true;
  /** Of a hook: recorded phases that its `when` asks for, as a task has them. */
  phases?: Record<string, string>;
  packedPhases?: string;
  /** Of a revert: the bridge's seal of what is undone, and by what. */
  seal?: string;
  /** The same for the part in each cluster, by `namespace/name` of its ManagedCluster. */
  partSeals?: Record<string, string>;
}

/** A stage to undo. */
export interface UndoStageInput {
  index: number;
  name: string;
  /** The stage's status with every action in its initial phase for the undo: Pending, or Skipped with a reason. */
  status: StageStatus;
  /** Steps, newest effect first. */
  steps: UndoStep[];
  /** What several steps read, where it would be too long to repeat in each of them. */
  views?: OutputViews[string][];
}
