import { pendingApprovals } from '../../../../api/plan/actions/approval-answers.js';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { Condition, DRPlanExecution } from '../../../../api/plan/types.js';

/** Conditions that are good when True; all others, when True, ask for attention. */
const GOOD_WHEN_TRUE = new Set([
  'Succeeded',
  'Finished',
  'Progressing',
  'FullyReverted',
  'RolledBack',
  'Ready',
]);
/** Conditions whose False only says what the phase says too. */
const SAID_BY_PHASE = new Set(['Succeeded', 'Finished', 'Ready']);

/**
 * Conditions that a person should look at, such as Progressing=False (no worker) or FullyReverted=False. On a run that
 * has ended, that it does not progress is no news.
 */
export function attentionOf(conditions: readonly Condition[], ended: boolean): Condition[] {
  return conditions.filter(({ type, status }) => {
    if (SAID_BY_PHASE.has(type)) return false;
    if (type === 'Progressing' && ended) return false;
    return GOOD_WHEN_TRUE.has(type) ? status === 'False' : status === 'True';
  });
}

/** A condition in one line: `Progressing=False NoWorker: no worker has asked for work for 30 s`. */
export function describeCondition({ type, status, reason, message }: Condition): string {
  return `${type}=${status} ${[reason, message].filter((part) => part !== '').join(': ')}`.trim();
}

/** What to type when a run waits for a person (onFailure: Pause, Approval); undefined when it does not. */
export function pauseHint(execution: DRPlanExecution, say: (command: string) => string): string | undefined {
  if (isTerminalExecution(execution.status?.phase)) return undefined;
  const isPaused = execution.status?.conditions?.some(
    ({ type, status, reason }) => type === 'Progressing' && status === 'False' && reason === 'Paused',
  );
  if (pendingApprovals(execution.status?.stageStatuses ?? []).length > 0) {
    return `to answer: ${say(`approve ${execution.metadata.name}`)} (or reject)`;
  }
  return isPaused === true
    ? `to go on: ${say(`retry ${execution.metadata.name}`)} (or skip, or abort)`
    : undefined;
}
