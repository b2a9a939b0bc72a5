import { defineSignal, setHandler } from '@temporalio/workflow';
import { SIGNALS } from './contract.js';

/** Says that an execution which a nested plan runs in has changed. */
export const lookSignal = defineSignal(SIGNALS.look);

/** What signals have told a stage about its nested executions. */
export interface Nudges {
  /** How often it was told to look. */
  count: () => number;
  /** Whether a cancel is meant for rollbacks too. */
  forced: () => boolean;
  /** Records that a cancel is meant for rollbacks too. */
  force: () => void;
}

/**
 * Listens for changes of nested executions. They are only hints: a change that is missed is seen at the next regular
 * look.
 */
export function createNudges(): Nudges {
  const state = { count: 0, forced: false };
  setHandler(lookSignal, () => {
    state.count += 1;
  });
  return {
    count: () => state.count,
    forced: () => state.forced,
    force: () => {
      state.forced = true;
      state.count += 1;
    },
  };
}
