/**
 * What every action on Kubernetes objects does around its effect: capture, outputs also of what is half done, undo and
 * settle. The action types differ in what they write, and in what they wait for.
 */
import { idempotencyKey } from '../../../api/plan/naming.js';
import type { ActionOutputs, ObjectReference } from '../../../api/plan/types.js';
import { keyOf } from '../../../kube/client.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import type { CaptureOutcome } from '../../../workflows/plan/contract-tasks.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { isMarkedBy } from '../../core/marks.js';
import type { Refusal } from '../../core/refusal.js';
import type { EffectBounds, ObjectEffect } from './object-effect.js';
import type { ObjectTask } from '../../core/object-task.js';
import { readPrior } from './object-capture.js';
import { afterError } from './object-errors.js';
import { deleteCreated, restoreObject } from './object-undo.js';
import type { UndoContext, UndoEffect } from './object-undo.js';
import { isSameKey, keyIn, lookUp, referenceTo, withoutServerFields } from '../../core/objects.js';
import type { PriorOwner } from '../../core/prior-secret.js';
import type { AfterDocument, PriorState } from '../../core/prior.js';

/** What handlers of objects are made with. */
export type ObjectHandlerOptions = EffectBounds;

/** Longest wait for finalizers, unless the installation sets another (S5.55). */
export const FINALIZER_WAIT_MS = 300_000;

/** How outputs are laid out. */
export type OutputsOf = (references: ObjectReference[], created: ObjectReference[]) => ActionOutputs;

/** What was carried out so far, and how it ended. */
export interface Performed {
  effects: Extract<ObjectEffect, { kind: 'done' }>[];
  outputs: ActionOutputs;
  /** Notes for a person, joined; undefined when there are none. */
  notes: string | undefined;
  /** Set when not everything could be carried out. */
  stopped?: AttemptResult;
  /** Prior state, where it was captured. */
  state: PriorState | undefined;
}

/** A result for bad input. */
export const refused = (refusal: Refusal): Extract<AttemptResult, { kind: 'failed' }> => ({
  kind: 'failed',
  ...refusal,
  effect: 'None',
});

/** Carries tasks out in order, up to the first that fails. */
export async function performAll(
  tasks: ObjectTask[],
  attempt: Attempt,
  options: {
    outputsOf: OutputsOf;
    /** Carries out one task. */
    perform: (task: ObjectTask, attempt: Attempt) => Promise<ObjectEffect>;
  },
): Promise<Performed> {
  const { perform } = options;
  let began = false;
  const tracked: Attempt = {
    ...attempt,
    beforeEffect() {
      attempt.beforeEffect();
      began = true;
    },
  };
  const store = attempt.priors;
  const owner = forwardOwner(attempt);
  const ref = attempt.task.direction === 'forward' ? attempt.task.prior : undefined;
  const effects: Performed['effects'] = [];
  let state: PriorState | undefined;
  const performed = (stopped?: AttemptResult): Performed => {
    const created = effects.filter((effect) => effect.created).map((effect) => effect.reference);
    const notes = effects.flatMap((effect) => effect.note ?? []);
    return {
      effects,
      outputs: {
        ...options.outputsOf(
          effects.map((effect) => effect.reference),
          created,
        ),
        ...(ref !== undefined && { priorRef: ref }),
      },
      notes: notes.length === 0 ? undefined : notes.join('; '),
      state,
      ...(stopped !== undefined && { stopped }),
    };
  };

  if (ref !== undefined) {
    const found = await store.find(owner, ref, { byDigest: isUnsealed(attempt) });
    if (!found.ok) return performed(refused(found));
    state = found.state;
  }
  for (const task of tasks) {
    const key = keyOf(task.object);
    const prior = state?.documents.find((document) => isSameKey(document.key, key));
    let effect: ObjectEffect;
    try {
      attempt.signal.throwIfAborted();
      effect = await perform({ ...task, prior }, tracked);
    } catch (error) {
      const stopped = afterError(
        error,
        task,
        attempt,
        effects.length > 0 ? 'Done' : began ? 'Unknown' : 'None',
      );
      await keepAfter();
      return performed(complete(stopped, effects, performed().outputs, tasks.length));
    }
    if (effect.kind === 'done') {
      effects.push(effect);
      continue;
    }
    await keepAfter();
    const happened = effects.length > 0 ? 'Done' : effect.effect;
    const stopped: AttemptResult =
      effect.kind === 'failed'
        ? { ...effect, effect: happened }
        : { ...effect, effect: happened, round: 'Unclear' };
    return performed(complete(stopped, effects, performed().outputs, tasks.length));
  }
  await keepAfter();
  return performed();

  async function keepAfter(): Promise<void> {
    if (state === undefined || ref === undefined) return;
    const after = effects.map(({ reference, stored, exact }): AfterDocument => ({
      key: keyIn(reference) ?? unreachable(reference),
      object: stored === null ? null : withoutServerFields(stored),
      ...(exact === true && { exact }),
    }));
    if (after.length > 0) await store.addAfter(owner, ref, after);
  }
}

/** Records objects, or their absence, before tasks are carried out. */
export async function captureAll(tasks: ObjectTask[], attempt: Attempt): Promise<CaptureOutcome> {
  if (tasks.every((task) => task.operation === 'Create')) return { kind: 'none' };
  const documents = await readPrior(tasks, attempt);
  attempt.signal.throwIfAborted();
  const recorded = await attempt.priors.record(forwardOwner(attempt), documents, {
    isRepeated: attempt.isRepeated,
  });
  return recorded.ok
    ? { kind: 'captured', prior: recorded.prior }
    : { kind: 'failed', reason: recorded.reason, message: recorded.message };
}

/**
 * Undoes what the forward run did, last object first, up to the first that cannot be undone.
 *
 * @param forwardTasks renders what the action was to do; asked only when it ended without saying what it did
 */
export async function undoAll(
  attempt: Attempt,
  options: {
    bounds: EffectBounds;
    forwardTasks: () => Promise<ObjectTask[]>;
    beforeDelete?: (object: KubeObject) => Promise<string | undefined>;
    /** Called with an object as it was before, which an undo is about to bring back; what it returns stands in the way. */
    beforeRestore?: (object: KubeObject) => Promise<UndoEffect | undefined>;
  },
): Promise<AttemptResult> {
  const { task } = attempt;
  const forward = task.forward;
  const owner = undoneOwner(attempt);
  const forwardKey = idempotencyKey({
    uid: owner.execution.uid,
    at: task.at,
    direction: 'forward',
    round: forward?.round ?? 0,
  });
  const context: UndoContext = {
    attempt,
    forwardKey,
    finalizerWaitMs: options.bounds.finalizerWaitMs,
    beforeDelete: options.beforeDelete,
  };

  const ref = task.prior ?? forward?.outputs?.priorRef;
  const isCertain = forward?.phase === 'Succeeded';
  let state: PriorState | undefined;
  if (ref !== undefined || !isCertain) {
    // The reference is the run's own, or the status's that the bridge keeps: it is vouched for.
    const keyId = task.run.target?.sealKey ?? task.run.seal?.split('.', 1)[0];
    const found = await attempt.priors.find(owner, ref, { byDigest: true, keyId });
    if (!found.ok) return refused(found);
    state = found.state;
  }
  const steps = await undoSteps(state);
  if (steps.length === 0) {
    return {
      kind: 'skipped',
      reason: 'NothingToUndo',
      message: 'the action left nothing that is to be undone',
    };
  }
  const messages: string[] = [];
  let undone = 0;
  for (const step of steps.reverse()) {
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

  async function undoSteps(recorded: PriorState | undefined): Promise<(() => Promise<UndoEffect>)[]> {
    const created = (forward?.outputs?.created ?? []).flatMap((reference) => {
      const key = keyIn(reference);
      return key === undefined || reference.uid === undefined ? [] : [{ key, uid: reference.uid }];
    });
    const isKnown = (key: ObjectKey): boolean => created.some((one) => isSameKey(one.key, key));
    const documents = recorded?.documents ?? [];
    if (!isCertain) {
      // What a lost attempt made carries its mark; what is recorded as absent may be such an object.
      const candidates = documents.filter(({ object }) => object === null).map(({ key }) => key);
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
    }
    const restores = documents.flatMap((document) => {
      const { object, key } = document;
      if (object === null) return [];
      const after = recorded?.after.find((one) => isSameKey(one.key, key));
      return [
        async () =>
          (await options.beforeRestore?.(object)) ?? restoreObject({ ...document, object }, after, context),
      ];
    });
    return [...restores, ...created.map((one) => () => deleteCreated(one, context))];
  }
}

/** Says whether tasks were carried out, by the marks of their objects. Nothing runs, so nothing is stopped. */
export async function settleAll(
  tasks: ObjectTask[],
  attempt: Attempt,
  outputsOf: OutputsOf,
): Promise<AttemptResult> {
  const { task } = attempt;
  const store = attempt.priors;
  const owner = forwardOwner(attempt);
  const ref = task.direction === 'forward' ? task.prior : undefined;
  const found =
    ref === undefined ? undefined : await store.find(owner, ref, { byDigest: isUnsealed(attempt) });
  const state = found?.ok === true ? found.state : undefined;

  const references: ObjectReference[] = [];
  const created: ObjectReference[] = [];
  const after: AfterDocument[] = [];
  const open: string[] = [];
  let lost = false;
  for (const { object, operation } of tasks) {
    const key = keyOf(object);
    const prior = state?.documents.find((document) => isSameKey(document.key, key));
    const current = await lookUp(attempt.kube, key, attempt.signal);
    if (operation === 'Delete') {
      const uid = prior?.object?.metadata.uid;
      const isDone =
        current === undefined ||
        prior?.object === null ||
        (uid !== undefined && current.metadata.uid !== uid) ||
        current.metadata.deletionTimestamp !== undefined;
      if (!isDone) {
        open.push(describeKey(key));
        continue;
      }
      references.push(referenceTo(key, uid));
      after.push({ key, object: null });
      continue;
    }
    if (current === undefined || !isMarkedBy(current, attempt.key)) {
      open.push(describeKey(key));
      // A replace that deletes first may have come no further.
      lost ||=
        operation !== 'Create' && current === undefined && prior !== undefined && prior.object !== null;
      continue;
    }
    const reference = referenceTo(key, current.metadata.uid);
    references.push(reference);
    if (operation === 'Create' || prior?.object === null) created.push(reference);
    after.push({ key, object: withoutServerFields(current) });
  }
  const isNew = (one: AfterDocument): boolean =>
    state?.after.every((other) => !isSameKey(other.key, one.key)) === true;
  const missing = after.filter(isNew);
  if (missing.length > 0 && ref !== undefined) await store.addAfter(owner, ref, missing);

  const outputs = { ...outputsOf(references, created), ...(ref !== undefined && { priorRef: ref }) };
  if (open.length === 0) {
    return { kind: 'succeeded', outputs, message: 'the effect is there, although its answer was lost' };
  }
  return {
    kind: 'failed',
    reason: 'Interrupted',
    message: references.length === 0 && !lost ? 'it had no effect' : `not done: ${open.join(', ')}`,
    outputs,
    effect: references.length > 0 ? 'Done' : lost ? 'Unknown' : 'None',
  };
}

/** In a run that a release without seals has begun, what is recorded is known by the digest that the run has. */
const isUnsealed = ({ task }: Attempt): boolean => task.run.seal === undefined;

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

function forwardOwner({ task }: Attempt): PriorOwner {
  const { namespace, name, uid } = task.run;
  return { namespace, execution: { name, uid }, at: task.at };
}

function undoneOwner({ task }: Attempt): PriorOwner {
  const { namespace, name, uid, target } = task.run;
  return { namespace, execution: target ?? { name, uid }, at: task.at };
}

/** Adds to a result what was done before it. */
function complete(
  stopped: AttemptResult,
  effects: Performed['effects'],
  outputs: ActionOutputs,
  total: number,
): AttemptResult {
  if (stopped.kind === 'succeeded' || stopped.kind === 'skipped') return stopped;
  if (effects.length === 0) return { ...stopped, outputs };
  const names = effects.map(({ reference }) => describeKey({ kind: '', ...reference }));
  const message = [
    stopped.message,
    `done before it: ${effects.length} of ${total} (${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''})`,
  ];
  return {
    ...stopped,
    outputs,
    message: message.filter((part) => part !== undefined).join('; '),
  };
}

function unreachable(reference: ObjectReference): never {
  throw new Error(`reference to ${reference.name} has no kind`);
}
