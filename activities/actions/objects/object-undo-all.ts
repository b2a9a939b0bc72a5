import { idempotencyKey } from '../../../api/plan/naming.js';
import { keyOf } from '../../../kube/client.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { isMarkedBy } from '../../core/marks.js';
import type { ObjectTask } from '../../core/object-task.js';
import { isSameKey, keyIn, lookUp } from '../../core/objects.js';
import type { PriorState } from '../../core/prior.js';
import { refused, undoneOwner } from './object-action.js';
import type { EffectBounds } from './object-effect.js';
import { afterError } from './object-errors.js';
import { deleteCreated, restoreObject } from './object-undo.js';
import type { UndoContext, UndoEffect } from './object-undo.js';

/** What undoing needs besides the attempt. */
export interface UndoOptions {
  bounds: EffectBounds;
  /** Renders what the action was to do; asked only when it ended without saying what it did. */
  forwardTasks: () => Promise<ObjectTask[]>;
  beforeDelete?: (object: KubeObject) => Promise<string | undefined>;
  /** Called with an object as it was before, which an undo is about to bring back; what it returns stands in the way. */
  beforeRestore?: (object: KubeObject) => Promise<UndoEffect | undefined>;
}

type Step = () => Promise<UndoEffect>;

/** Undoes what the forward run did, last object first, up to the first that cannot be undone. */
export async function undoAll(attempt: Attempt, options: UndoOptions): Promise<AttemptResult> {
  const recorded = await recordedState(attempt);
  if (!recorded.ok) return refused(recorded);
  const { task } = attempt;
  const context: UndoContext = {
    attempt,
    forwardKey: idempotencyKey({
      uid: undoneOwner(attempt).execution.uid,
      at: task.at,
      direction: 'forward',
      round: task.forward?.round ?? 0,
    }),
    finalizerWaitMs: options.bounds.finalizerWaitMs,
    beforeDelete: options.beforeDelete,
  };
  const created = await createdObjects(recorded.state, context, options);
  const steps: Step[] = [
    ...restores(recorded.state, context, options),
    ...created.map((one) => () => deleteCreated(one, context)),
  ];
  if (steps.length === 0) {
    return {
      kind: 'skipped',
      reason: 'NothingToUndo',
      message: 'the action left nothing that is to be undone',
    };
  }
  return undoInTurn(steps.reverse(), attempt);
}

/** Whether the forward run says itself what it did. */
const isCertain = ({ task: { forward } }: Attempt): boolean => forward?.phase === 'Succeeded';

/** What was recorded before the effect; undefined where there is nothing, and none is needed. */
async function recordedState(
  attempt: Attempt,
): Promise<{ ok: true; state: PriorState | undefined } | { ok: false; reason: string; message: string }> {
  const { task, priors } = attempt;
  const ref = task.prior ?? task.forward?.outputs?.priorRef;
  if (ref === undefined && isCertain(attempt)) return { ok: true, state: undefined };
  // The reference is the run's own, or the status's that the bridge keeps: it is vouched for.
  const keyId = task.run.target?.sealKey ?? task.run.seal?.split('.', 1)[0];
  const found = await priors.find(undoneOwner(attempt), ref, { byDigest: true, keyId });
  return found.ok ? { ok: true, state: found.state } : found;
}

/** What the forward run has made: as it says, and where it could not say all, what carries its mark. */
async function createdObjects(
  recorded: PriorState | undefined,
  { attempt, forwardKey }: UndoContext,
  options: UndoOptions,
): Promise<{ key: ObjectKey; uid: string }[]> {
  const created = (attempt.task.forward?.outputs?.created ?? []).flatMap((reference) => {
    const key = keyIn(reference);
    return key === undefined || reference.uid === undefined ? [] : [{ key, uid: reference.uid }];
  });
  if (isCertain(attempt)) return created;
  const isKnown = (key: ObjectKey): boolean => created.some((one) => isSameKey(one.key, key));
  // What a lost attempt made carries its mark; what is recorded as absent may be such an object.
  const candidates = (recorded?.documents ?? [])
    .filter(({ object }) => object === null)
    .map(({ key }) => key);
  if (recorded === undefined) {
    for (const { object, operation } of await options.forwardTasks()) {
      if (operation === 'Create') candidates.push(keyOf(object));
    }
  }
  for (const key of candidates.filter((one) => !isKnown(one))) {
    const found = await lookUp(attempt.kube, key, attempt.signal);
    if (found?.metadata.uid !== undefined && isMarkedBy(found, forwardKey)) {
      created.push({ key, uid: found.metadata.uid });
    }
  }
  return created;
}

/** Brings objects back as they were recorded. */
function restores(
  recorded: PriorState | undefined,
  context: UndoContext,
  { beforeRestore }: UndoOptions,
): Step[] {
  return (recorded?.documents ?? []).flatMap((document): Step[] => {
    const { object, key } = document;
    if (object === null) return [];
    const after = recorded?.after.find((one) => isSameKey(one.key, key));
    return [
      async () => (await beforeRestore?.(object)) ?? restoreObject({ ...document, object }, after, context),
    ];
  });
}

/** Takes steps one after the other, up to the first that fails. */
async function undoInTurn(steps: readonly Step[], attempt: Attempt): Promise<AttemptResult> {
  const messages: string[] = [];
  let undone = 0;
  for (const step of steps) {
    let effect: UndoEffect;
    try {
      attempt.signal.throwIfAborted();
      effect = await step();
    } catch (error) {
      const stopped = afterError(error, undefined, attempt, undone > 0 ? 'Done' : 'Unknown');
      return 'message' in stopped && stopped.message !== undefined
        ? { ...stopped, message: [stopped.message, ...messages].join('; ') }
        : stopped;
    }
    switch (effect.kind) {
      case 'undone':
      case 'already':
        messages.push(effect.message);
        undone += effect.kind === 'undone' ? 1 : 0;
        break;
      case 'failed':
      case 'retry': {
        const message = [effect.message, ...messages].join('; ');
        const happened = undone > 0 ? 'Done' : 'None';
        return effect.kind === 'failed'
          ? { kind: 'failed', reason: effect.reason, message, effect: happened }
          : { kind: 'retry', reason: effect.reason, message, round: 'Unclear', effect: happened };
      }
    }
  }
  return { kind: 'succeeded', message: messages.join('; ') };
}
