/** What the parts of the empty run agree on. Must stay free of anything that cannot run in Temporal's sandbox. */

/** Workflow types and task queues of the empty run. */
export const FLOOR = {
  parent: 'floorParent',
  child: 'floorChild',
  workQueue: 'drover-bench-floor',
  statusQueue: 'drover-bench-floor-status',
} as const;

/** Input of the parent. */
export interface FloorInput {
  stages: number;
  actions: number;
  /** How long each activity waits for its answer, in milliseconds. */
  waitMs: number;
}

/** The work of an action, without the work: nothing but the wait for an answer. */
export interface WorkActivities {
  act(waitMs: number): Promise<void>;
}

/** The step that writes the terminal status, without writing. */
export interface StatusActivities {
  finish(): Promise<void>;
}
