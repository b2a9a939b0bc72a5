/** What the steps in the life of an action on Kubernetes objects share: its effect, undo and settle. */
import type { Refusal } from '../../../api/core/refusal.js';
import type { ActionOutputs, ObjectReference } from '../../../api/plan/types.js';
import { undoneUid } from '../../../workflows/plan/contract.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import type { PriorOwner } from '../../core/prior-secret.js';
import type { EffectBounds } from './object-effect.js';

/** What handlers of objects are made with. */
export type ObjectHandlerOptions = EffectBounds;

/** Longest wait for finalizers, unless the installation sets another (S5.55). */
export const FINALIZER_WAIT_MS = 300_000;

/** How outputs are laid out. */
export type OutputsOf = (references: ObjectReference[], created: ObjectReference[]) => ActionOutputs;

/** A result for bad input. */
export const refused = (refusal: Refusal): Extract<AttemptResult, { kind: 'failed' }> => ({
  kind: 'failed',
  ...refusal,
  effect: 'None',
});

/** In a run that a release without seals has begun, what is recorded is known by the digest that the run has. */
export const isUnsealed = ({ task }: Attempt): boolean => task.run.seal === undefined;

/** A settle of an automatic undo: it can be repeated, so nothing has to be found out. */
export const settleUndo = (): AttemptResult => ({
  kind: 'failed',
  reason: 'Interrupted',
  message: 'the undo was cut short; revert again to finish it, what is undone already is left alone',
  effect: 'Unknown',
});

/** Whether an attempt undoes by the automatic inverse, rather than by a custom rollback. */
export const isAutomaticUndo = ({ task, custom }: Attempt): boolean =>
  task.direction === 'undo' && custom !== true;

/** Whose prior state a run that goes forward records. */
export function forwardOwner({ task }: Attempt): PriorOwner {
  const { namespace, name, uid } = task.run;
  return { namespace, execution: { name, uid }, at: task.at };
}

/** Whose prior state an undo reads. */
export function undoneOwner({ task }: Attempt): PriorOwner {
  const { namespace, name, target } = task.run;
  return {
    namespace,
    execution: { name: target?.name ?? name, uid: undoneUid(task.run) },
    at: task.at,
  };
}
