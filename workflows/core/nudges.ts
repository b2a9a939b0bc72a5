import { defineSignal, setHandler } from '@temporalio/workflow';
import { SIGNALS } from './contract.js';

/** Says that something which the workflow waits for has changed. */
export const lookSignal = defineSignal(SIGNALS.look);

/** What signals have told a workflow about what it waits for. */
export interface Nudges {
  /** How often it was told to look. */
  count: () => number;
  /** Whether a cancel was forced. */
  forced: () => boolean;
  /** Records that a cancel was forced, which is a reason to look. */
  force: () => void;
}

/** Listens for signal `look`. It is only a hint: a change that is missed is seen at the next regular look. */
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
