/**
 * The five operations on one object: Create, Apply, Patch, Replace, Delete. Each can be repeated after an answer was
 * lost, and says what it made, so that an undo removes no more than that (plan semantics, §3).
 */
import { ANNOTATIONS, FIELD_MANAGER, LABELS } from '../api/group.js';
import { isObject } from '../api/json.js';
import type { ObjectReference } from '../api/types.js';
import { isAlreadyExists, isConflict, isNotFound, KubeError } from '../kube/error.js';
import { describeKey } from '../kube/object.js';
import type { KubeObject, ObjectKey } from '../kube/object.js';
import { keyOf } from '../kube/client.js';
import type { Attempt } from './handler.js';
import { isMarkedBy, withMarks } from './marks.js';
import { deleteObject, replacedMessage } from './object-delete.js';
import { referenceTo } from './objects.js';
import type { PriorDocument } from './prior-store.js';

/** What is done with an object. */
export type ObjectOperation = 'Create' | 'Apply' | 'Patch' | 'Replace' | 'Delete';

/** One object and what to do with it. */
export interface ObjectTask {
  operation: ObjectOperation;
  /** As it was rendered, with its namespace; without our marks. */
  object: KubeObject;
  /** Apply: false makes a conflict of ownership an error. */
  force?: boolean | undefined;
  /** Recorded before the effect, where there is something to restore. */
  prior?: PriorDocument | undefined;
}

/** How it ended. `KubeError`s are thrown. */
export type ObjectEffect =
  | {
      kind: 'done';
      reference: ObjectReference;
      /** Whether the object did not exist before. */
      created: boolean;
      /** As the server stored it; null when it was deleted. */
      stored: KubeObject | null;
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
 * Why an object that is there keeps a Create from running; undefined when it does not. An object of this very action is
 * adopted.
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

async function create({ object }: ObjectTask, attempt: Attempt): Promise<ObjectEffect> {
  const { kube, signal } = attempt;
  const key = keyOf(object);
  attempt.beforeEffect();
  try {
    const stored = await kube.create(withMarks(object, attempt), { signal, fieldManager: FIELD_MANAGER });
    return done(key, stored, true);
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
  return collision(found, key, attempt) ?? done(key, found, true, 'found as an earlier attempt had made it');
}

async function apply(task: ObjectTask, attempt: Attempt): Promise<ObjectEffect> {
  const { kube, signal } = attempt;
  const key = keyOf(task.object);
  const before = await existedBefore(task, key, attempt);
  const body = withMarks(withoutManagedFields(task.object), attempt);
  const send = (force: boolean): Promise<KubeObject> =>
    kube.patch(key, body, { kind: 'apply', fieldManager: FIELD_MANAGER, force, signal });
  attempt.beforeEffect();
  try {
    return done(key, await send(false), !before);
  } catch (error) {
    const conflicts = ownershipConflicts(error);
    if (conflicts === undefined) throw error;
    // Our own earlier patches and replaces are entries of their own; they are nobody else's.
    const others = conflicts.filter(({ manager }) => manager !== FIELD_MANAGER);
    if (task.force === false && others.length > 0) {
      return {
        kind: 'failed',
        reason: 'Conflict',
        message: `${describeKey(key)} was not applied: ${describeConflicts(others)}, and force is false. Leave these fields out, let their manager give them up, or set force to true`,
        effect: 'None',
      };
    }
    const stored = await send(true);
    const note = others.length === 0 ? undefined : `took over from others: ${describeConflicts(others)}`;
    return done(key, stored, !before, note);
  }
}

async function patch({ object }: ObjectTask, attempt: Attempt): Promise<ObjectEffect> {
  const { kube, signal } = attempt;
  const key = keyOf(object);
  attempt.beforeEffect();
  try {
    const stored = await kube.patch(key, patchBody(withMarks(object, attempt)), {
      kind: 'merge',
      fieldManager: FIELD_MANAGER,
      signal,
    });
    return done(key, stored, false);
  } catch (error) {
    if (isNotFound(error)) return notThere(key, 'patched', 'Apply');
    throw error;
  }
}

async function replace({ object }: ObjectTask, attempt: Attempt): Promise<ObjectEffect> {
  const { kube, signal } = attempt;
  const key = keyOf(object);
  for (let tries = 1; ; tries += 1) {
    const current = await kube.get(key, { signal });
    if (current === undefined) return notThere(key, 'replaced', 'Apply or Create');
    attempt.beforeEffect();
    try {
      const stored = await kube.replace(replacement(withMarks(object, attempt), current), {
        fieldManager: FIELD_MANAGER,
        signal,
      });
      return done(key, stored, false);
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

/** Whether the object was there before this action, as far as it can be known after a lost attempt. */
async function existedBefore(task: ObjectTask, key: ObjectKey, attempt: Attempt): Promise<boolean> {
  if (task.prior !== undefined && task.prior.object !== null) return true;
  const current = await attempt.kube.get(key, { signal: attempt.signal });
  if (current === undefined) return false;
  // Recorded as absent: what carries our mark was made by an earlier attempt; anything else came in between.
  return task.prior === undefined || !isMarkedBy(current, attempt.key);
}

function done(key: ObjectKey, stored: KubeObject, created: boolean, note?: string): ObjectEffect {
  return {
    kind: 'done',
    reference: referenceTo(key, stored.metadata.uid),
    created,
    stored,
    ...(note !== undefined && { note: `${describeKey(key)}: ${note}` }),
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

/** What a merge patch says: everything but what the object is found by. */
export function patchBody(object: KubeObject): Record<string, unknown> {
  const { apiVersion: _v, kind: _k, metadata, ...rest } = object;
  const { name: _n, namespace: _s, ...meta } = metadata;
  return { ...rest, ...(Object.keys(meta).length > 0 && { metadata: meta }) };
}

function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/**
 * The body of a PUT. Finalizers and owners stay unless they are written, and so does what the server or a controller
 * has assigned once and for all; a PUT without it would be refused or cut the object off from what it stands for.
 */
export function replacement(object: KubeObject, current: KubeObject): KubeObject {
  const { finalizers, ownerReferences, uid, resourceVersion } = current.metadata;
  const body: KubeObject = {
    ...object,
    metadata: {
      ...(finalizers !== undefined && { finalizers }),
      ...(ownerReferences !== undefined && { ownerReferences }),
      ...object.metadata,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
  };
  const assigned = ASSIGNED[`${object.apiVersion}/${object.kind}`] ?? [];
  if (assigned.length === 0 || !isObject(current.spec)) return body;
  const kept = Object.fromEntries(
    assigned.flatMap((field) => {
      const value = (current.spec as Record<string, unknown>)[field];
      return value === undefined ? [] : [[field, value]];
    }),
  );
  return { ...body, spec: { ...kept, ...(isObject(object.spec) ? object.spec : {}) } };
}

const ASSIGNED: Record<string, readonly string[]> = {
  'v1/Service': ['clusterIP', 'clusterIPs', 'healthCheckNodePort'],
  'v1/PersistentVolumeClaim': ['volumeName', 'storageClassName', 'volumeMode'],
};

/** A field that somebody else manages. */
export interface OwnershipConflict {
  manager: string;
  field: string;
}

/** The conflicts of a server-side apply, by manager and field; undefined for any other error. */
export function ownershipConflicts(error: unknown): OwnershipConflict[] | undefined {
  if (!(error instanceof KubeError) || error.code !== 409) return undefined;
  const causes = (error.details?.causes ?? []).filter((cause) => cause.reason === 'FieldManagerConflict');
  if (causes.length === 0) return undefined;
  return causes.map((cause) => ({
    manager: /conflict with "([^"]*)"/.exec(cause.message ?? '')?.[1] ?? 'unknown',
    field: (cause.field ?? '').replace(/^\./, ''),
  }));
}

/** At most this many fields of one manager are named. */
const NAMED_FIELDS = 8;

/** Managers with their fields, for a message. */
export function describeConflicts(conflicts: OwnershipConflict[]): string {
  const byManager = new Map<string, string[]>();
  for (const { manager, field } of conflicts) {
    byManager.set(manager, [...(byManager.get(manager) ?? []), field]);
  }
  return [...byManager]
    .map(([manager, fields]) => {
      const more = fields.length > NAMED_FIELDS ? ` and ${fields.length - NAMED_FIELDS} more` : '';
      return `"${manager}" owns ${fields.slice(0, NAMED_FIELDS).join(', ')}${more}`;
    })
    .join('; ');
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
