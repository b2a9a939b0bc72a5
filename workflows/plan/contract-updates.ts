/** What runs of plans send on its way into status. Part of the contract of plans. */
import type { ActionStatus, StageStatus, WorkflowExecutionStatus } from '../../api/plan/types.js';
import type { CancelRecord, MirrorEnvelope } from '../core/contract.js';
import type { RunIdentity } from './contract.js';
import type { ActionOutcome } from './contract-tasks.js';

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
  /** Interrupted: how actions had ended, as the bridge has found out, although status may not show it. */
  ended?: Settled[];
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

/** What an envelope of a run carries: an update or an end, without what the envelope says itself. */
export type RunSaid<U extends MirrorUpdate | FinishUpdate> = Omit<U, 'from' | 'sequence'>;

/**
 * An envelope of a run of a plan. Its speakers are `run` and `s<index of the stage>`. Runs that a release without envelopes
 * has begun send the update itself, with who says it, so that workers and bridge may be replaced in either order.
 */
export function envelopeOf<C extends object>(
  run: RunIdentity,
  from: MirrorUpdate['from'],
  sequence: number,
  content: C,
): MirrorEnvelope<C & { run: RunIdentity }> {
  const { namespace, name, uid } = run;
  return {
    kind: 'DRPlanExecution',
    object: { namespace, name, uid },
    epoch: 1,
    speaker: from === 'run' ? 'run' : `s${from}`,
    sequence,
    update: { run, ...content },
  };
}
