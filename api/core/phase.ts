/** Phases of an execution. */
export const EXECUTION_PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const;
/** Phase of an execution. */
export type ExecutionPhase = (typeof EXECUTION_PHASES)[number];

/** Phases of a stage, a workflow or an action inside an execution. */
export const ITEM_PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Skipped'] as const;
/** Phase of a stage, a workflow or an action. */
export type ItemPhase = (typeof ITEM_PHASES)[number];

/** Phase of a plan. */
export const PLAN_PHASES = ['Ready', 'Executed', 'Invalid'] as const;
/** Phase of a plan. */
export type PlanPhase = (typeof PLAN_PHASES)[number];

/** Phase of a workflow (`Validating` is never written: S1.10). */
export const WORKFLOW_PHASES = ['Ready', 'Invalid'] as const;
/** Phase of a workflow. */
export type WorkflowPhase = (typeof WORKFLOW_PHASES)[number];

/**
 * Whether an execution has ended. Reads the later spelling `Canceled` of the original controller as
 * `Cancelled` (S1.3).
 */
export function isTerminalExecution(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Cancelled' || phase === 'Canceled';
}

/** Whether a stage, workflow or action has ended. */
export function isTerminalItem(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Skipped';
}

/** The transitions that an item may make; anything else is a bug or a stale write. */
const ITEM_TRANSITIONS: Record<ItemPhase, readonly ItemPhase[]> = {
  Pending: ['Running', 'Skipped', 'Failed'],
  // Running → Pending never happens: a retry stays Running.
  Running: ['Succeeded', 'Failed', 'Skipped'],
  // A person may retry a failed item while its stage is held open (onFailure: Pause).
  Failed: ['Running'],
  Succeeded: [],
  Skipped: [],
};

/** Whether an item may go from one phase to the other. Staying is always allowed. */
export function canTransition(from: ItemPhase, to: ItemPhase): boolean {
  return from === to || ITEM_TRANSITIONS[from].includes(to);
}
