import { condition, defineSignal, patched, setHandler } from '@temporalio/workflow';
import type { CancellationScope } from '@temporalio/workflow';
import { isTerminalItem } from '../../api/core/phase.js';
import type { WorkflowExecutionStatus } from '../../api/plan/types.js';
import { PLAN_SIGNALS } from './contract.js';
import type { Resolution, RunBounds } from './contract.js';
import type { MirrorUpdate } from './contract-updates.js';
import { isMeantSkip } from './outcome.js';

/** A person's decision about what is paused. */
export const retrySignal = defineSignal<[Resolution?]>(PLAN_SIGNALS.retry);
export const skipSignal = defineSignal<[Resolution?]>(PLAN_SIGNALS.skip);
export const abortSignal = defineSignal<[Resolution?]>(PLAN_SIGNALS.abort);

/** Of a stage, and of all its pauses together (S4.12). */
const MAX_REMINDERS = 100;
/** Runs begun before 0.2 may have sent more. */
const REMINDERS_BOUNDED = 'reminders-bounded';

interface Ruling {
  kind: 'retry' | 'skip' | 'abort';
  resolution: Resolution;
}

/** What pausing needs of its stage. */
export interface PauseSetup {
  stage: string;
  bounds: RunBounds;
  /** Ends every pause when it is cancelled. */
  scope: CancellationScope;
  touch: () => void;
}

/** The pauses of a stage: several workflows of a parallel stage may wait at once. */
export interface Pauses {
  /** What status says while something waits. */
  current: () => MirrorUpdate['paused'];
  /** Waits for a person. `again`: the workflow's failed actions are Pending or passed over; `end`: it stays failed. */
  wait: (workflow: WorkflowExecutionStatus) => Promise<'again' | 'end'>;
}

/** Listens for decisions. One decision is for everything in the stage that waits when it comes. */
export function createPauses(setup: PauseSetup): Pauses {
  const waiting = new Map<WorkflowExecutionStatus, { message: string; ruling?: Ruling }>();
  // Counts pauses and reminders, so that each is reported once.
  let reminder = 0;
  const rule = (kind: Ruling['kind']) => (resolution?: Resolution) => {
    for (const entry of waiting.values()) entry.ruling ??= { kind, resolution: resolution ?? {} };
  };
  setHandler(retrySignal, rule('retry'));
  setHandler(skipSignal, rule('skip'));
  setHandler(abortSignal, rule('abort'));

  return {
    current: () => {
      const messages = [...waiting.values()].map((entry) => entry.message);
      return messages.length === 0
        ? undefined
        : { stage: setup.stage, message: messages.join('; '), reminder };
    },
    async wait(workflow) {
      const entry: { message: string; ruling?: Ruling } = { message: workflow.message ?? '' };
      waiting.set(workflow, entry);
      reopen(workflow, `paused: ${entry.message}; retry, skip or abort`);
      const decided = (): boolean => entry.ruling !== undefined || setup.scope.consideredCancelled;
      while (!decided()) {
        reminder += 1;
        setup.touch();
        // Every reminder adds to the history; after this many, only status shows the pause.
        if (reminder >= MAX_REMINDERS && patched(REMINDERS_BOUNDED)) await condition(decided);
        else await condition(decided, setup.bounds.pauseReminderMs, { summary: 'waits for a decision' });
      }
      waiting.delete(workflow);
      delete workflow.message;
      setup.touch();
      const { ruling } = entry;
      if (ruling === undefined || ruling.kind === 'abort') return 'end';
      resolveFailures(workflow, ruling);
      return 'again';
    },
  };
}

function reopen(workflow: WorkflowExecutionStatus, message: string): void {
  workflow.phase = 'Running';
  workflow.message = message;
  delete workflow.completionTime;
  delete workflow.duration;
  delete workflow.reason;
}

/** Failed actions are tried again or passed over; what was skipped because of them gets its turn. */
function resolveFailures(workflow: WorkflowExecutionStatus, { kind, resolution }: Ruling): void {
  const by = resolution.requestedBy === undefined ? '' : ` by ${resolution.requestedBy} (not verified)`;
  const why = resolution.reason === undefined ? '' : `: ${resolution.reason}`;
  for (const action of workflow.actionStatuses ?? []) {
    if (!isTerminalItem(action.phase)) continue;
    if (action.phase === 'Failed' && kind === 'skip') {
      action.message = `skipped${by}${why}; it had failed: ${action.message ?? action.reason ?? ''}`;
      action.phase = 'Skipped';
      action.reason = 'SkippedByUser';
    } else if (action.phase === 'Failed' || (action.phase === 'Skipped' && !isMeantSkip(action.reason))) {
      action.phase = 'Pending';
      delete action.completionTime;
      delete action.reason;
      delete action.message;
    }
  }
}
