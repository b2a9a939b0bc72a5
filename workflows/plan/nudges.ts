import { defineSignal, setHandler } from '@temporalio/workflow';
import { SIGNALS } from './contract.js';

/** Says that an execution which a nested plan runs in has changed. */
export const lookSignal = defineSignal(SIGNALS.look);

/** What a stage was told about its nested executions. */
export interface Nudges {
  /** How often it was told to look. */
  count: () => number;
  /** Whether a cancel is meant for rollbacks too. */
  forced: () => boolean;
  /** Says so. */
  force: () => void;
}

/** Listens for changes of nested executions. They are hints only: who misses one looks again a while later. */
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
