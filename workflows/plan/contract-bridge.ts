/** What the bridge does for runs of plans, on its own queue. Part of the contract of plans. */
import type { ActionOutputs } from '../../api/plan/types.js';
import type { MirrorEnvelope, SharedBridgeActivities } from '../core/contract.js';
import type { RunIdentity } from './contract.js';
import type { ActionOutcome, ActionTask } from './contract-tasks.js';
import type { FinishUpdate, MirrorUpdate, RunSaid } from './contract-updates.js';

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
  | { kind: 'waiting'; ref: NestedRef; message: string }
  | { kind: 'ended'; outcome: NestedOutcome };

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

/** Activities that the bridge offers to runs of plans. */
export interface BridgeActivities extends SharedBridgeActivities<
  MirrorEnvelope<RunSaid<MirrorUpdate>> | MirrorUpdate,
  MirrorEnvelope<RunSaid<FinishUpdate>> | FinishUpdate
> {
  /**
   * Reads from the history of a stage, or of its rollback, what it has left half done: of the run of that workflow id, or
   * of the newest that the run which asks has started.
   */
  unfinished: (ended: { workflowId: string; runId?: string; run?: RunIdentity }) => Promise<Unfinished>;
  /** Brings the execution of a nested plan forward, and says how far it is. Level-triggered: safe to repeat. */
  nestedPlan: (look: NestedTask) => Promise<NestedState>;
}
