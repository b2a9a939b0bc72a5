import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecutionStatus } from '../../../../api/plan/types.js';

/** How many actions of a run there are, by where they are. */
interface Counts {
  total: number;
  succeeded: number;
  failed: number;
  skipped: number;
}

function countActions({ stageStatuses = [] }: DRPlanExecutionStatus): Counts {
  const phases = stageStatuses.flatMap(({ workflowExecutions = [] }) =>
    workflowExecutions.flatMap(({ actionStatuses = [] }) => actionStatuses.map(({ phase }) => phase)),
  );
  const of = (wanted: string): number => phases.filter((phase) => phase === wanted).length;
  return {
    total: phases.length,
    succeeded: of('Succeeded'),
    failed: of('Failed'),
    skipped: of('Skipped'),
  };
}

/** `status.summary.progress` counts what has ended, so at the end of a cancelled run it says `3/3`, too. */
const endedShort = (phase: string | undefined): boolean =>
  isTerminalExecution(phase) && phase !== 'Succeeded';

/**
 * How far a run is, for a table: `3/7` have ended; of a run that ended without success `1/7 succeeded`. Empty before its
 * actions are known.
 */
export function progressCell(status: DRPlanExecutionStatus = {}): string {
  const { total, succeeded } = countActions(status);
  return endedShort(status.phase) && total > 0
    ? `${succeeded}/${total} succeeded`
    : (status.summary?.progress ?? '');
}

/**
 * How far a run is, in words: `3/7 actions, 1 failed`; of a run that ended without success
 * `1/7 actions succeeded, 1 failed, 5 skipped`. Empty before its actions are known.
 */
export function progressText(status: DRPlanExecutionStatus = {}): string {
  const { total, succeeded, failed, skipped } = countActions(status);
  const progress = status.summary?.progress;
  if (progress === undefined) return '';
  const head =
    endedShort(status.phase) && total > 0 ? `${succeeded}/${total} actions succeeded` : `${progress} actions`;
  return [head, failed === 0 ? '' : `${failed} failed`, skipped === 0 ? '' : `${skipped} skipped`]
    .filter((part) => part !== '')
    .join(', ');
}
