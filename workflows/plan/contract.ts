/**
 * What bridge, client, worker, activities and workflows agree on: names, ids, inputs, results. The one file
 * that all of them import; it must stay free of anything that cannot run in Temporal's sandbox.
 */
import type { ApprovalAnswer } from '../../api/plan/actions/approval.js';
import type { SameOutput } from '../../api/plan/undo/lean-outputs.js';
import type { Nesting } from '../../api/plan/order/nesting.js';
import type {
  ActionAddress,
  ActionBody,
  OutputViews,
  Retry,
  StageInput,
  UndoStageInput,
} from '../../api/plan/snapshot/run.js';
import type { EffectTrace } from '../../api/plan/undo/undo.js';
import type {
  ActionOutputs,
  ActionStatus,
  ActionType,
  ApprovalAction,
  Scalar,
  StageStatus,
  WorkflowExecutionStatus,
} from '../../api/plan/types.js';

/** Temporal workflow types (S6.1). */
export const WORKFLOW_TYPES = {
  execution: 'drPlanExecution',
  stage: 'drStage',
  stageRollback: 'drStageRollback',
} as const;

/** Signal names. `cancel` takes nothing, a string, or a {@link CancelRequest}. */
export const SIGNALS = {
  cancel: 'cancel',
  retry: 'retry',
  skip: 'skip',
  abort: 'abort',
  /** To a stage: an `ApprovalAnswer`. */
  answer: 'answer',
  /** To a stage or its rollback: an execution that a nested plan runs in has changed. */
  look: 'look',
  /** To a stage, its rollback, or the run that settles what one has left: an {@link AttemptNote}. Shown, never acted on. */
  note: 'note',
} as const;

/** Query names. `progress` answers {@link RunProgress} on a run. */
export const QUERIES = { progress: 'progress' } as const;

/** Search attributes of a run, all of type Keyword. */
export const SEARCH_ATTRIBUTES = ['DrCluster', 'DrNamespace', 'DrPlan', 'DrOperation', 'DrPhase'] as const;

/** Task queues of one cluster; two clusters may share a Temporal namespace. */
export interface TaskQueues {
  /** Workflow tasks, and what has an effect. */
  worker: string;
  /** Waits for objects, which may last for days: they have slots of their own. */
  waits: string;
  /** Work that must never queue behind other actions: recording, settling, deciding, undoing. */
  urgent: string;
  /** What the bridge does for runs. */
  bridge: string;
}

/** The task queues of a cluster, by the first eight characters of its id. */
export function taskQueues(cluster: string): TaskQueues {
  const worker = `drover-${cluster}`;
  return { worker, waits: `${worker}-waits`, urgent: `${worker}-urgent`, bridge: `drover-bridge-${cluster}` };
}

/** Workflow id of a stage of a run. */
export const stageWorkflowId = (runId: string, stage: number): string => `${runId}/s${stage}`;
/** Workflow id of the rollback of a stage inside a run. */
export const rollbackWorkflowId = (runId: string, stage: number): string => `${runId}/r${stage}`;

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

/** How often progress is mirrored. */
export interface MirrorOptions {
  /** How long a change waits for further ones: a stage that ends sooner is mirrored once. */
  debounceMs: number;
  /** Least time between two mirrors of one workflow. */
  intervalMs: number;
  /** What the bridge has last asked for; absent = nothing. */
  pace?: MirrorPace;
}

/** How slow the bridge wants mirrors to be for now, given the number of live runs: its answer to every mirror. */
export interface MirrorPace {
  /** Least time from the start of a workflow to its first mirror, in milliseconds. */
  beginMs: number;
  /** Least time between two mirrors of one workflow, in milliseconds. */
  intervalMs: number;
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
  mirror: MirrorOptions;
  bounds: RunBounds;
  /** Whether the search attributes are registered; upserting others would fail the workflow task. */
  searchAttributes: boolean;
}

/** Time bounds of a run; all are flags of the bridge (S5.55). */
export interface RunBounds {
  /** Longest time of one undo step with all its attempts (default 15 min). */
  undoStepMs: number;
  /** Longest time of one settle step with all its attempts (default 5 min). */
  settleMs: number;
  /**
   * How long past the end of their grace the pods of a Job that was stopped are waited for (default 5 min). Absent in runs
   * that an earlier release began.
   */
  stopWaitMs?: number;
  /** Time between two reminders of a paused stage (default 10 min). */
  pauseReminderMs: number;
}

/** Input of `drStage`. */
export interface StageRunInput {
  run: RunIdentity;
  stage: StageInput;
  /** Phases of stages so far that `when` asks for, by name. */
  phases: Record<string, string>;
  /** Phases of all stages so far, by position, as {@link ActionTask.packedPhases}. */
  packedPhases?: string;
  /** Whether a failure that would stop the plan waits for a person. */
  pauseOnFailure: boolean;
  /**
   * How many more actions the clusters that the stage finds may add to the run; concurrent stages see the same number.
   * Absent in runs that an earlier release began: any number.
   */
  clustersLeft?: number;
  mirror: MirrorOptions;
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
  mirror: MirrorOptions;
  bounds: RunBounds;
}

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
  { kind: 'skipped'; reason: string; message: string } | { kind: 'failed'; reason: string; message: string };

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

/** Activities that the worker offers. Each action type is one activity, so that the Web UI names it. */
export interface WorkerActivities {
  http: (task: ActionTask) => Promise<ActionOutcome>;
  job: (task: ActionTask) => Promise<ActionOutcome>;
  localization: (task: ActionTask) => Promise<ActionOutcome>;
  globalization: (task: ActionTask) => Promise<ActionOutcome>;
  helmChart: (task: ActionTask) => Promise<ActionOutcome>;
  subscription: (task: ActionTask) => Promise<ActionOutcome>;
  kubernetesResource: (task: ActionTask) => Promise<ActionOutcome>;
  wait: (task: ActionTask) => Promise<ActionOutcome>;
  notify: (task: ActionTask) => Promise<ActionOutcome>;
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

/** Types that workflow code carries out itself; no activity of a worker does. */
export const STEP_TYPES = ['Approval', 'Plan'] as const;
/** One of {@link STEP_TYPES}. */
export type StepType = (typeof STEP_TYPES)[number];

/** Whether workflow code carries a type out itself. */
export const isStepType = (type: ActionType): type is StepType =>
  (STEP_TYPES as readonly ActionType[]).includes(type);

/** Activity that executes a type. */
export const ACTIVITY_BY_TYPE = {
  HTTP: 'http',
  Job: 'job',
  Localization: 'localization',
  Globalization: 'globalization',
  HelmChart: 'helmChart',
  Subscription: 'subscription',
  KubernetesResource: 'kubernetesResource',
  Wait: 'wait',
  Notify: 'notify',
} as const satisfies Record<Exclude<ActionType, StepType>, keyof WorkerActivities>;

/** A stage on its way into status. */
export interface StageUpdate {
  index: number;
  status: StageStatus;
  /**
   * The stage was ended from outside and its own detail is lost: keep the workflows and actions that status shows,
   * and close what is unfinished (running: Failed, `Interrupted`; pending: Skipped, `Interrupted`).
   */
  interrupted?: true;
  /** Interrupted: what became of actions that had not ended, as it was found out afterwards. */
  settled?: Settled[];
  /** Interrupted: actions that had begun, as the bridge has found out, although status may not show it. */
  begun?: { workflow: number; action: number }[];
  /** `status` is without workflows: these are all that changed since the speaker's last update. */
  changes?: WorkflowChange[];
  /** `status` is without workflows: the stage's own updates have already written them all. */
  told?: true;
}

/** How an action ended whose stage could not wait for its end. */
export interface Settled {
  workflow: number;
  action: number;
  outcome: ActionOutcome;
}

/** A workflow of a stage that changed. */
export interface WorkflowChange {
  index: number;
  /** Without its actions. */
  status: WorkflowExecutionStatus;
  actions: { index: number; status: ActionStatus }[];
}

/** A subtree of a run's state on its way into status. */
export interface MirrorUpdate {
  run: RunIdentity;
  /** `run` for the parent, else the index of the stage that speaks. */
  from: 'run' | number;
  /** Rises with every update of the same speaker. */
  sequence: number;
  /** Stages that changed; a final one carries a terminal phase. */
  stages: StageUpdate[];
  /** From the parent only. */
  message?: string;
  /** A stage that waits for a person; `reminder` counts up with every reminder. */
  paused?: { stage: string; message: string; reminder: number };
  cancelRequest?: CancelRecord;
}

/** The last word of a run. */
export interface FinishUpdate {
  run: RunIdentity;
  /** Id of this run in Temporal: after a reset it is not the one that was started. */
  runId?: string;
  sequence: number;
  phase: 'Succeeded' | 'Failed' | 'Cancelled';
  reason: string;
  message: string;
  startTime: string;
  completionTime: string;
  /** Stages whose last state was not yet mirrored. */
  stages: StageUpdate[];
  cancelRequest?: CancelRecord;
  /** Revert: what was undone and what was not, as stage/workflow/action positions. */
  undone?: string[];
  unreverted?: string[];
  /** onFailure: Rollback: whether everything was undone. */
  rolledBack?: {
    complete: boolean;
    message: string;
    /** Member clusters, as `namespace/name`, and pods in which what the rollback removed may still run. */
    stopUnconfirmed?: string[];
  };
}

/** The execution of a nested plan, as it was last seen. */
export type NestedRef = NonNullable<ActionOutputs['planExecutionRef']>;

/** A look at a nested plan, which also does whatever has to be done next. */
export interface NestedTask {
  task: ActionTask;
  /** What an earlier look has seen: when it is gone, it is not created again. */
  known?: NestedRef;
  /** Creates no execution, and ends the one that exists. */
  stop?: true;
  /** With `stop`: a rollback that is under way is ended too. */
  force?: true;
}

/** What a look at a nested plan has found. */
export type NestedState =
  { kind: 'waiting'; ref: NestedRef; message: string } | { kind: 'ended'; outcome: NestedOutcome };

/** How a nested plan ended. */
export type NestedOutcome = WithoutCounts<ActionOutcome>;
type WithoutCounts<T> = T extends unknown ? Omit<T, 'round' | 'retryCount'> : never;

/** What a stage that was ended from outside has begun and not ended. */
export interface Unfinished {
  /** Tasks of activities that have no outcome. */
  actions: ActionTask[];
  /** Tasks of nested plans, whether they have ended or not. */
  plans: ActionTask[];
}

/** Activities that the bridge offers on its own queue. */
export interface BridgeActivities {
  mirror: (update: MirrorUpdate) => Promise<MirrorPace | undefined>;
  finish: (update: FinishUpdate) => Promise<void>;
  /** Reads from the history of a stage, or of its rollback, what it has left half done. */
  unfinished: (ended: { workflowId: string; run?: RunIdentity }) => Promise<Unfinished>;
  /** Brings the execution of a nested plan forward, and says how far it is. Level-triggered: safe to repeat. */
  nestedPlan: (look: NestedTask) => Promise<NestedState>;
}

/** Argument of signal `cancel`. */
export interface CancelRequest {
  reason?: string;
  requestedBy?: string;
  via?: 'Annotation' | 'Signal' | 'CancelRequest' | 'Delete';
  /** Also aborts a rollback that runs. */
  force?: boolean;
}

/** A cancel as it was recorded. */
export interface CancelRecord {
  reason?: string;
  requestedBy?: string;
  via: string;
  time: string;
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
