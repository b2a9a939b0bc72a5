import { hasEffects } from '../../../api/plan/undo/effects.js';
import { idempotencyKey, nestedExecutionName } from '../../../api/plan/naming.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecution, DRPlanExecutionSpec } from '../../../api/plan/types.js';
import { undoneUid } from '../../../workflows/plan/contract.js';
import type { NestedState, NestedTask } from '../../../workflows/plan/contract-bridge.js';
import { findCondition } from '../../core/conditions.js';
import type { CachedExecution } from '../types.js';
import { isOurs, nameTaken } from './objects.js';
import type { NestedObjects } from './objects.js';
import { failed, lookAt, nameOf, nestedRef, waiting } from './outcome.js';

/** What undoing one nested execution takes, or has led to. */
type Undo =
  /** Not over yet, or failed. */
  | { kind: 'state'; state: NestedState }
  | { kind: 'nothing' }
  /** Somebody else has undone it. */
  | { kind: 'already'; message: string }
  | { kind: 'undone'; message: string; revert: DRPlanExecution }
  | { kind: 'partly'; message: string }
  | { kind: 'gone'; message: string };

/**
 * Undoes what an action of type Plan did: a Revert of each execution that the action has made, newest first, one step
 * at a time. There are several when a person had the action tried again.
 */
export async function lookAtInverse(objects: NestedObjects, look: NestedTask): Promise<NestedState> {
  const ends: Exclude<Undo, { kind: 'state' }>[] = [];
  // An action that was interrupted in a further round has not recorded that round.
  for (let round = lastRound(look) + 1; round >= 0; round -= 1) {
    const undo = await undoRound(objects, look, round);
    if (undo.kind === 'state') return undo.state;
    ends.push(undo);
  }
  return conclude(ends);
}

const lastRound = ({ task }: NestedTask): number => task.forward?.round ?? 0;

async function undoRound(objects: NestedObjects, look: NestedTask, round: number): Promise<Undo> {
  const { task, stop = false } = look;
  const force = stop && look.force === true;
  const { run, at, forward } = task;
  const undone = run.target ?? { name: run.name, uid: run.uid };
  const key = idempotencyKey({ uid: undoneUid(run), at, direction: 'forward', round });
  const name = nestedExecutionName({ executionName: undone.name, actionName: task.name, key });
  const found = await objects.find(run, name);
  const nested = found !== undefined && isOurs(found, { ...run, uid: undone.uid }, key) ? found : undefined;
  if (nested === undefined) {
    // Earlier rounds that have failed may never have made an execution.
    const recorded = forward?.outputs?.planExecutionRef?.name === name;
    const lost = round === lastRound(look) && forward?.effect === 'Done' && forward.outputs === undefined;
    if (!recorded && !lost) return { kind: 'nothing' };
    const message = `execution "${name}" is not there any more, so that what it did cannot be undone automatically`;
    return { kind: 'gone', message };
  }
  if (!isTerminalExecution(nested.status?.phase)) {
    await objects.cancel(run, nested, { force });
    return { kind: 'state', state: waiting(nested) };
  }
  const own = await findRevert(objects, look, round);
  if (own.revert === undefined) {
    if (nested.status?.revertedBy !== undefined) {
      const by = nested.status.revertedBy.name;
      return { kind: 'already', message: `${nameOf(nested)} was reverted by "${by}"` };
    }
    if (!hasEffects(nested.status?.stageStatuses, nested.status?.undone)) return { kind: 'nothing' };
    if (stop) {
      return { kind: 'state', state: failed({ reason: 'Cancelled', message: 'not undone' }, 'Unknown') };
    }
    if (own.taken) return { kind: 'state', state: failed(nameTaken(own.name), 'Unknown') };
    const made = await objects.create(task, { ...own, spec: revertOf(nested, look) });
    return { kind: 'state', state: 'reason' in made ? failed(made, 'Unknown') : waiting(made) };
  }
  if (!isTerminalExecution(own.revert.status?.phase)) {
    if (stop) await objects.cancel(run, own.revert, { force });
    return { kind: 'state', state: waiting(own.revert) };
  }
  return judge(nested, own.revert);
}

async function findRevert(
  objects: NestedObjects,
  { task }: NestedTask,
  round: number,
): Promise<{ name: string; key: string; revert?: CachedExecution; taken: boolean }> {
  const { run, at } = task;
  const key = idempotencyKey({ uid: run.uid, at, direction: 'undo', round });
  const name = nestedExecutionName({ executionName: run.name, actionName: task.name, key });
  const found = await objects.find(run, name);
  if (found === undefined) return { name, key, taken: false };
  return isOurs(found, run, key) ? { name, key, revert: found, taken: false } : { name, key, taken: true };
}

function revertOf(nested: DRPlanExecution, { task }: NestedTask): DRPlanExecutionSpec {
  return {
    planRef: nested.spec.planRef,
    operationType: 'Revert',
    revertExecutionRef: nested.metadata.name,
    runMode: task.run.runMode as NonNullable<DRPlanExecutionSpec['runMode']>,
  };
}

/** What the end of a Revert means for its target. */
function judge(nested: DRPlanExecution, revert: DRPlanExecution): Undo {
  const { phase, reason, message = '' } = revert.status ?? {};
  if (phase === 'Succeeded') {
    const full = findCondition(revert.status?.conditions, 'FullyReverted');
    return full?.status === 'False'
      ? { kind: 'partly', message: `${nameOf(nested)} was reverted in part: ${full.message}` }
      : { kind: 'undone', message: `${nameOf(nested)} was reverted by "${revert.metadata.name}"`, revert };
  }
  // Somebody else reverted it before this revert's own start.
  if (reason === 'AlreadyReverted') return { kind: 'already', message };
  if (reason === 'NothingToUndo') return { kind: 'nothing' };
  const why = `reverting ${nameOf(nested)} by "${revert.metadata.name}" ended ${phase ?? ''}: ${reason ?? ''}: ${message}; ${lookAt(revert.metadata)}`;
  const state = failed({ reason: 'UndoFailed', message: why }, 'Unknown', nestedRef(revert));
  return { kind: 'state', state };
}

function conclude(ends: readonly Exclude<Undo, { kind: 'state' }>[]): NestedState {
  const messages = (kind: Undo['kind']): string[] =>
    ends.flatMap((end) => (end.kind === kind && 'message' in end ? [end.message] : []));
  const skipped = (reason: string, message: string): NestedState => ({
    kind: 'ended',
    outcome: { phase: 'Skipped', reason, message },
  });
  const gone = messages('gone');
  if (gone.length > 0) return skipped('ExecutionGone', gone.join('; '));
  const partly = messages('partly');
  if (partly.length > 0) return skipped('NotFullyReverted', partly.join('; '));
  const last = ends.find((end) => end.kind === 'undone');
  if (last !== undefined) {
    return {
      kind: 'ended',
      outcome: {
        phase: 'Succeeded',
        message: messages('undone').join('; '),
        outputs: { planExecutionRef: nestedRef(last.revert) },
      },
    };
  }
  const already = messages('already');
  return already.length > 0
    ? skipped('AlreadyUndone', already.join('; '))
    : skipped('NothingToUndo', 'the nested plan has left nothing that could be undone');
}
