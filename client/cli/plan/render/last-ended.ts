import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanStatus, ExecutionRecord } from '../../../../api/plan/types.js';

/**
 * The execution of a plan that ended last, however it ended. `lastExecutionRef` names the last that succeeded; it is all
 * there is of a plan whose history is empty.
 */
export function lastEnded(
  status: DRPlanStatus = {},
): Pick<ExecutionRecord, 'name' | 'phase' | 'completionTime'> | undefined {
  // Newest first, and a plan has one run at a time.
  const last = status.executionHistory?.find(({ phase }) => isTerminalExecution(phase));
  if (last !== undefined) return last;
  const { lastExecutionRef: name, lastExecutionTime: completionTime } = status;
  return name === undefined
    ? undefined
    : { name, phase: 'Succeeded', ...(completionTime !== undefined && { completionTime }) };
}
