/**
 * The five operations on one object: Create, Apply, Patch, Replace, Delete. Each can be repeated after an answer was
 * lost, and says what it made, so that an undo removes no more than that (S3.9, S3.11).
 */
import { ANNOTATIONS, LABELS } from '../../../api/core/group.js';
import { describeLosses, KEEP_THE_REST, lostItems } from '../../../api/core/named-lists.js';
import type { LostItems } from '../../../api/core/named-lists.js';
import type { ObjectTask } from '../../core/object-task.js';
import type { ObjectReference } from '../../../api/plan/types.js';
import type { FieldValidation } from '../../../kube/client.js';
import { isAlreadyExists, isConflict, isNotFound } from '../../../kube/error.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import { keyOf } from '../../../kube/client.js';
import type { Attempt } from '../../core/handler.js';
import { describeTaken, takenAway } from './managed-fields.js';
import { isMarkedBy, withMarks } from '../../core/marks.js';
import { patchBody, replacement, withoutManagedFields, withPin } from './object-body.js';
import { deleteObject, replacedMessage } from '../../core/object-delete.js';
import { referenceTo } from '../../core/objects.js';
import { describeConflicts, ownershipConflicts, withOthers } from './ownership.js';

/** How it ended. `KubeError`s are thrown. */
export type ObjectEffect =
  | {
      kind: 'done';
      reference: ObjectReference;
      /** Whether the object did not exist before. */
      created: boolean;
      /** As the server stored it; null when it was deleted. */
      stored: KubeObject | null;
      /** Nobody else has written between the record of the state before and this. */
      exact?: true;
      /** What a person should know besides. */
      note?: string;
    }
  | { kind: 'failed'; reason: string; message: string; effect: 'Done' | 'None' }
  | { kind: 'retry'; reason: string; message: string; effect: 'Done' | 'None' };

/** Bounds of an effect. */
export interface EffectBounds {
  /** Longest wait for finalizers of a deleted object, in milliseconds. */
  finalizerWaitMs: number;
}

/** Tries of a read-modify-write before it is left to the next attempt. */
const WRITE_TRIES = 5;

/** Carries out one operation. */
export async function carryOut(
  task: ObjectTask,
  attempt: Attempt,
  bounds: EffectBounds,
): Promise<ObjectEffect> {
  try {
    return await operate(task, attempt, bounds);
  } catch (error) {
    const { uid, resourceVersion } = task.object.metadata;
    const isOwnCondition = isConflict(error) && (uid !== undefined || resourceVersion !== undefined);
    if (!isOwnCondition) throw error;
    return {
      kind: 'failed',
      reason: 'Conflict',
      message: `${describeKey(keyOf(task.object))}: ${error.message}. The manifest gives metadata.uid or metadata.resourceVersion, which hold for one state of one object only; remove them, unless that is what is meant`,
      effect: 'None',
    };
  }
}

function operate(task: ObjectTask, attempt: Attempt, bounds: EffectBounds): Promise<ObjectEffect> {
  switch (task.operation) {
    case 'Create':
      return create(task, attempt);
    case 'Apply':
      return apply(task, attempt);
    case 'Patch':
      return patch(task, attempt);
    case 'Replace':
      return replace(task, attempt);
    case 'Delete':
      return remove(task, attempt, bounds);
  }
}

/**
 * Why an existing object prevents a Create; undefined when it does not. This action's own object is adopted.
 */
export function collision(found: KubeObject, key: ObjectKey, attempt: Attempt): ObjectEffect | undefined {
  if (found.metadata.deletionTimestamp !== undefined) {
    return {
      kind: 'retry',
      reason: 'StillTerminating',
      message: `${describeKey(key)} is still being deleted${finalizersOf(found)}; it can be created when it is gone`,
      effect: 'None',
    };
  }
  if (isMarkedBy(found, attempt.key)) return undefined;
  return {
    kind: 'failed',
    reason: 'AlreadyExists',
    message: `${describeKey(key)} exists already and is not this action's (${originOf(found)}); it was left as it is. Remove or rename it, or use operation Apply to take it over`,
    effect: 'None',
  };
}

/** How the fields of a write are checked: an undo is never refused for what was there before. */
export const validationOf = (
  { fieldValidation = 'Strict' }: Pick<ObjectTask, 'fieldValidation'>,
  direction: 'forward' | 'undo',
): FieldValidation | undefined => (direction === 'undo' ? undefined : fieldValidation);

const writeOptions = (task: ObjectTask, { manager, signal, task: { direction } }: Attempt) => ({
  fieldManager: manager,
  fieldValidation: validationOf(task, direction),
  signal,
});

async function create(task: ObjectTask, attempt: Attempt): Promise<ObjectEffect> {
  const { object } = task;
  const { kube, signal } = attempt;
  const key = keyOf(object);
  attempt.beforeEffect();
  try {
    const stored = await kube.create(withMarks(object, attempt), writeOptions(task, attempt));
    return done(key, stored, { created: true });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const found = await kube.get(key, { signal });
  if (found === undefined) {
    return {
      kind: 'retry',
      reason: 'Conflict',
      message: `${describeKey(key)} existed when it was to be created and was gone a moment later`,
      effect: 'None',
    };
  }
  const note = 'found as an earlier attempt had made it';
  return collision(found, key, attempt) ?? done(key, found, { created: true, notes: [note] });
}

async function apply(task: ObjectTask, attempt: Attempt): Promise<ObjectEffect> {
  const { kube, manager } = attempt;
  const key = keyOf(task.object);
  const before = await stateBefore(task, key, attempt);
  const body = withMarks(withoutManagedFields(task.object), attempt);
  const send = (force: boolean): Promise<Written> =>
    pinned(task, (pin) =>
      kube.patch(key, withPin(body, pin), { kind: 'apply', force, ...writeOptions(task, attempt) }),
    );
  attempt.beforeEffect();
  let written: Written;
  let note: string | undefined;
  try {
    written = await send(false);
  } catch (error) {
    const conflicts = ownershipConflicts(error);
    if (conflicts === undefined) throw error;
    const others = withOthers(conflicts, manager);
    if (task.force === false && others.length > 0) {
      return {
        kind: 'failed',
        reason: 'Conflict',
        message: `${describeKey(key)} was not applied: ${describeConflicts(others)}, and force is false. Leave these fields out, let their manager give them up, or set force to true`,
        effect: 'None',
      };
    }
    written = await send(true);
    if (others.length > 0) note = `took over from others: ${describeConflicts(others)}`;
  }
  const taken = takenAway(before.object, written.stored, manager);
  return done(key, written.stored, {
    created: !before.existed,
    exact: written.exact,
    notes: [note, taken.length === 0 ? undefined : takenMessage('took away', describeTaken(taken))],
  });
}

/** What is said of fields that an apply takes away. */
export const takenMessage = (verb: string, fields: string): string =>
  `${verb} what this action had set before and no longer names: ${fields}`;

/** What is said of items of lists that a merge patch takes away. */
export const lossMessage = (losses: readonly LostItems[]): string =>
  `a merge patch replaces whole lists, and what is not written is gone: ${describeLosses(losses)}; ${KEEP_THE_REST}`;

async function patch(task: ObjectTask, attempt: Attempt): Promise<ObjectEffect> {
  const { object, patchType = 'merge', prior } = task;
  const key = keyOf(object);
  const body = patchBody(withMarks(object, attempt));
  attempt.beforeEffect();
  try {
    const { stored, exact } = await pinned(task, (pin) =>
      attempt.kube.patch(key, withPin(body, pin), { kind: patchType, ...writeOptions(task, attempt) }),
    );
    const lost = patchType === 'merge' ? lostItems(patchBody(object), prior?.object, stored) : [];
    const notes = lost.length === 0 ? [] : [lossMessage(lost)];
    return done(key, stored, { created: false, exact, notes });
  } catch (error) {
    if (isNotFound(error)) return notThere(key, 'patched', 'Apply');
    throw error;
  }
}

async function replace(task: ObjectTask, attempt: Attempt): Promise<ObjectEffect> {
  const { object } = task;
  const { kube, signal } = attempt;
  const key = keyOf(object);
  for (let tries = 1; ; tries += 1) {
    const current = await kube.get(key, { signal });
    if (current === undefined) return notThere(key, 'replaced', 'Apply or Create');
    attempt.beforeEffect();
    try {
      const body = replacement(withMarks(object, attempt), current);
      return done(key, await kube.replace(body, writeOptions(task, attempt)), { created: false });
    } catch (error) {
      if (isNotFound(error)) return notThere(key, 'replaced', 'Apply or Create');
      if (!isConflict(error) || tries >= WRITE_TRIES) throw error;
    }
  }
}

async function remove(task: ObjectTask, attempt: Attempt, bounds: EffectBounds): Promise<ObjectEffect> {
  const key = keyOf(task.object);
  const prior = task.prior?.object;
  if (prior === null) {
    const now = await attempt.kube.get(key, { signal: attempt.signal });
    const note = now === undefined ? `${describeKey(key)} was not there` : replacedMessage(key, now);
    return { kind: 'done', reference: referenceTo(key), created: false, stored: null, note };
  }
  const result = await deleteObject(
    attempt.kube,
    { key, uid: prior?.metadata.uid },
    {
      signal: attempt.signal,
      deadline: attempt.deadline,
      finalizerWaitMs: bounds.finalizerWaitMs,
      beforeEffect: () => attempt.beforeEffect(),
    },
  );
  const gone = {
    kind: 'done',
    reference: referenceTo(key, prior?.metadata.uid),
    created: false,
    stored: null,
  } as const;
  switch (result.kind) {
    case 'deleted':
      return gone;
    case 'absent':
      if (result.replacedBy !== undefined) return { ...gone, note: replacedMessage(key, result.replacedBy) };
      return prior === undefined ? { ...gone, note: `${describeKey(key)} was not there` } : gone;
    case 'terminating':
      return {
        kind: result.final ? 'failed' : 'retry',
        reason: 'StillTerminating',
        message: result.message,
        effect: 'Done',
      };
  }
}

/** The object before this action, and whether it was there, as far as it can be known after a lost attempt. */
async function stateBefore(
  task: ObjectTask,
  key: ObjectKey,
  attempt: Attempt,
): Promise<{ object: KubeObject | undefined; existed: boolean }> {
  const recorded = task.prior?.object;
  if (recorded !== undefined && recorded !== null) return { object: recorded, existed: true };
  const object = await attempt.kube.get(key, { signal: attempt.signal });
  // Recorded as absent: what carries our mark was made by an earlier attempt; anything else came in between.
  const existed = object !== undefined && (task.prior === undefined || !isMarkedBy(object, attempt.key));
  return { object, existed };
}

/** What a write has left behind. */
interface Written {
  stored: KubeObject;
  exact: boolean;
}

/**
 * Sends a write on the condition that nobody has written since the state before was recorded: then whatever is different
 * afterwards comes of this write, and its undo can give back the last field. Where somebody has, it is sent without the
 * condition, and the undo keeps to what the action itself names.
 */
async function pinned(
  { prior, object }: ObjectTask,
  send: (pin: string | undefined) => Promise<KubeObject>,
): Promise<Written> {
  const { uid, resourceVersion: pin } = prior?.object?.metadata ?? {};
  // A `resourceVersion` in the manifest is the author's own condition.
  if (pin !== undefined && object.metadata.resourceVersion === undefined) {
    try {
      const stored = await send(pin);
      // An apply creates an object anew that has been deleted since.
      return { stored, exact: stored.metadata.uid === uid };
    } catch (error) {
      const isMoved = (isConflict(error) && ownershipConflicts(error) === undefined) || isNotFound(error);
      if (!isMoved) throw error;
    }
  }
  return { stored: await send(undefined), exact: false };
}

function done(
  key: ObjectKey,
  stored: KubeObject,
  more: { created: boolean; exact?: boolean; notes?: readonly (string | undefined)[] },
): ObjectEffect {
  const notes = (more.notes ?? []).filter((note) => note !== undefined);
  return {
    kind: 'done',
    reference: referenceTo(key, stored.metadata.uid),
    created: more.created,
    stored,
    ...(more.exact === true && { exact: true }),
    ...(notes.length > 0 && { note: `${describeKey(key)}: ${notes.join('; ')}` }),
  };
}

function notThere(key: ObjectKey, verb: string, instead: string): ObjectEffect {
  return {
    kind: 'failed',
    reason: 'NotFound',
    message: `${describeKey(key)} does not exist, so it cannot be ${verb}; correct kind, namespace and name, or use operation ${instead}`,
    effect: 'None',
  };
}

function originOf(found: KubeObject): string {
  const execution = found.metadata.labels?.[LABELS.execution];
  if (execution !== undefined) {
    return `made by execution ${execution}, key ${found.metadata.annotations?.[ANNOTATIONS.key] ?? 'unknown'}`;
  }
  const manager = found.metadata.managedFields?.[0]?.manager;
  return `created ${found.metadata.creationTimestamp ?? 'at an unknown time'}${manager === undefined ? '' : ` by "${manager}"`}`;
}

function finalizersOf(object: KubeObject): string {
  const { finalizers } = object.metadata;
  return finalizers === undefined || finalizers.length === 0 ? '' : ` (finalizers: ${finalizers.join(', ')})`;
}
