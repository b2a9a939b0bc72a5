import type { ActionInput } from '../../api/plan/snapshot/run.js';
import type { ActionOutputs } from '../../api/plan/types.js';
import type { Nudges } from '../core/nudges.js';
import type { Approvals } from './approvals.js';
import type { RunBounds } from './contract.js';
import type { ActionTask } from './contract-tasks.js';

/** What a series of attempts needs: all that one activity tries for one action. */
export interface SeriesSetup {
  input: ActionInput;
  /** The task without what `capture` records. */
  task: ActionTask;
  bounds: RunBounds;
  /** Bound on all attempts of an undo, in milliseconds. */
  totalMs?: number;
  /** Shows what a step waits for while it does. */
  say?: (message: string, outputs?: ActionOutputs) => void;
  /** Hears answers to approvals; absent in an undo. */
  approvals?: Approvals;
  /** Hears of changes of nested executions. */
  nudges?: Nudges;
}
