import type { CancellationScope } from '@temporalio/workflow';
import type { StageStatus } from '../../api/plan/types.js';
import type { Cause } from '../core/outcome.js';
import type {
  RunInput,
  RunMirrorOptions,
  RunResult,
  StageResult,
  StageRollbackInput,
  StageRunInput,
  StageVouchers,
} from './contract.js';
import type { FinishUpdate, Settled } from './contract-updates.js';

/** What the parts of a run share. */
export interface RunContext {
  input: RunInput;
  /** State of every stage, by index. */
  stages: StageStatus[];
  /** Cancelled by any cancel: whatever goes forward, and a Revert. */
  forward: CancellationScope;
  /** Cancelled only by a cancel with `force`: the rollback inside a run. */
  rollback: CancellationScope;
  isCancelled: () => boolean;
  /** The workers' vouchers for stages that have ended, by index: a rollback inside the run relies on them. */
  vouchers: Map<number, StageVouchers>;
  /** Next rank in the order of completion. */
  nextOrder: () => number;
  /** Shows in one line what the run is doing. */
  announce: (message: string | undefined) => void;
  /**
   * Takes a stage's last word over. `interrupted`: its own detail is lost, status keeps what it shows and closes it;
   * `told`: status has the detail already.
   */
  settle: (
    index: number,
    status: StageStatus,
    detail?: 'interrupted' | 'told',
    /** Interrupted: what became of actions that had not ended. */
    settled?: Settled[],
  ) => void;
  /** Skips a stage with everything in it that has not ended. */
  skip: (index: number, cause: Cause) => void;
  /** How a stage that is started now mirrors its progress. */
  mirrorOptions: () => RunMirrorOptions;
  /** Runs a stage, or its rollback, as a child workflow. */
  runChild: (request: ChildRequest) => Promise<StageResult | InterruptedChild>;
}

/** A child workflow that has left no result. */
export interface InterruptedChild {
  /** Why, for a person. */
  interrupted: string;
  /** What became of actions that had not ended; absent when it has begun nothing. */
  settled?: Settled[];
}

/** A child workflow to run. */
export interface ChildRequest {
  type: string;
  workflowId: string;
  index: number;
  input: StageRunInput | StageRollbackInput;
}

/** What a run came to, before it is written to status. */
export interface Verdict {
  phase: RunResult['phase'];
  reason: string;
  message: string;
  rolledBack?: FinishUpdate['rolledBack'];
  /** Positions that a rollback has undone: a later revert leaves them out. */
  undone?: string[];
}
