import type { ActionStatus, StageStatus } from '../types.js';
import { positionOf } from './undo.js';

/** Whether anything that was done is still there to be undone. */
export function hasEffects(
  stages: readonly StageStatus[] | undefined,
  undone: readonly string[] = [],
): boolean {
  const gone = new Set(undone);
  return (stages ?? []).some((stage, s) =>
    stage.workflowExecutions?.some((workflow, w) =>
      workflow.actionStatuses?.some(
        (action, a) => mayHaveEffect(action) && !gone.has(positionOf({ stage: s, workflow: w, action: a })),
      ),
    ),
  );
}

/** Also a skipped action may have one: a person skips an action that has failed. */
const mayHaveEffect = ({ phase, effect }: ActionStatus): boolean =>
  phase === 'Succeeded' ||
  effect === 'Done' ||
  effect === 'Unknown' ||
  (phase === 'Failed' && effect !== 'None');
