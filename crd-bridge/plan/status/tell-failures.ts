import type { DRPlanExecutionStatus } from '../../../api/plan/types.js';
import type { Cacheable } from '../../../kube/informer.js';
import type { EventRecorder } from '../../core/events.js';
import { newFailures } from './projection.js';

/** Records an Event for each action that one status shows as failed and the one before did not. */
export function tellFailures(
  events: EventRecorder,
  execution: Cacheable,
  { before, after }: { before: DRPlanExecutionStatus | undefined; after: DRPlanExecutionStatus | undefined },
): void {
  for (const { key, stage, workflow, action } of newFailures(before, after ?? {})) {
    events.record(execution, {
      type: 'Warning',
      reason: 'ActionFailed',
      action: 'Execute',
      message: `action "${action.name}" of workflow "${workflow}" in stage "${stage}" failed: ${action.reason ?? ''}: ${action.message ?? ''}`,
      key,
    });
  }
}
