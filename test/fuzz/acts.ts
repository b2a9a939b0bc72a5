/**
 * What somebody does with a plan: runs that end well, fail, are cancelled or go on, and reverts of them. What has to become
 * of each is worked out from the rules of reverts as they are written (docs/semantics.md#revert), not from the code.
 */
import type { Dice } from './dice.js';
import type { Fields } from './fields.js';

/** How a run ends. */
export type Ending =
  | { phase: 'Running' }
  | { phase: 'Succeeded' }
  | {
      phase: 'Failed' | 'Cancelled';
      /** Whether an action has gone well before. */
      done: boolean;
      /** What the action that broke has left behind. */
      broken: 'None' | 'Unknown' | 'Done';
    };

/** An execution. */
export interface Act {
  name: string;
  spec: unknown;
  ends: Ending;
  /** Parts of messages, one of which is to be in the refusal. Absent: it is to be let in. */
  refusal?: string[];
}

interface Known {
  name: string;
  operation: 'Execute' | 'Revert';
  ends: Ending;
  isReverted: boolean;
}

/** Acts that are legal in their form; those that the rules forbid say so. */
export function legalActs(dice: Dice, values: Fields): Act[] {
  const known: Known[] = [];
  const acts: Act[] = [];
  for (let left = dice.int(2, 5); left > 0; left -= 1) {
    const isFirst = known.length === 0;
    // Names are taken once, as in a cluster: also those of acts that are to be refused.
    const name = `x${acts.length}`;
    const act = isFirst || dice.chance(25) ? execute(dice, name, known, values) : revert(dice, name, known);
    acts.push(act);
    if (act.refusal === undefined) remember(act, known);
  }
  return acts;
}

function remember({ name, spec, ends }: Act, known: Known[]): void {
  const { operationType, revertExecutionRef } = spec as {
    operationType: Known['operation'];
    revertExecutionRef?: string;
  };
  known.push({ name, operation: operationType, ends, isReverted: false });
  const target = known.find((one) => one.name === revertExecutionRef);
  if (target !== undefined && ends.phase === 'Succeeded') target.isReverted = true;
}

const isBusy = (known: readonly Known[]): boolean => known.some(({ ends }) => ends.phase === 'Running');

/** Whether something may be left of what a run has done. */
const leaves = ({ ends }: Known): boolean =>
  ends.phase === 'Succeeded' || (ends.phase !== 'Running' && (ends.done || ends.broken !== 'None'));

function execute(dice: Dice, name: string, known: readonly Known[], values: Fields): Act {
  const runs = known.filter(({ operation }) => operation === 'Execute');
  const succeeded = runs.filter(({ ends }) => ends.phase === 'Succeeded');
  const isExecuted = succeeded.at(-1)?.isReverted === false;
  // Which of several has made the plan Executed is not for this model to say.
  const rerun = succeeded.length > 0 && (!isExecuted || dice.chance(80));
  const refusal = [
    ...(isBusy(known) ? ['is in use'] : []),
    ...(isExecuted && !rerun ? ['was executed by'] : []),
  ];
  return {
    name,
    spec: { planRef: 'p', operationType: 'Execute', ...(rerun && { rerun: 'Allowed' }), ...values },
    ends: ending(dice),
    ...(refusal.length > 0 && { refusal }),
  };
}

function ending(dice: Dice): Ending {
  if (dice.chance(45)) return { phase: 'Succeeded' };
  if (dice.chance(15)) return { phase: 'Running' };
  return {
    phase: dice.one(['Failed', 'Cancelled'] as const),
    done: dice.chance(50),
    broken: dice.one(['None', 'Unknown', 'Done'] as const),
  };
}

function revert(dice: Dice, name: string, known: readonly Known[]): Act {
  const target = dice.one(known);
  const force = dice.chance(20);
  const since = known.indexOf(target);
  const isLater = (one: Known, index: number): boolean =>
    index > since && one.operation === 'Execute' && !one.isReverted && leaves(one);
  const refusal = [
    ...(isBusy(known) ? ['is in use', 'wait until it has ended'] : []),
    ...(target.operation === 'Revert' ? ['only an Execute can be reverted'] : []),
    ...(target.isReverted ? ['was reverted by'] : []),
    ...(!force && known.some(isLater) ? ['ran later and is not reverted'] : []),
    ...(leaves(target) ? [] : ['has done nothing that could be undone']),
  ];
  return {
    name,
    spec: {
      planRef: 'p',
      operationType: 'Revert',
      revertExecutionRef: target.name,
      ...(force && { force }),
    },
    // One that fails has undone a part, and can be run again.
    ends: dice.chance(70) ? { phase: 'Succeeded' } : { phase: 'Failed', done: false, broken: 'Unknown' },
    ...(refusal.length > 0 && { refusal }),
  };
}
