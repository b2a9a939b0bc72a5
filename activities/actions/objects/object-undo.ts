/**
 * The automatic inverse for one object: what the action made is deleted, what it changed is put back, and never
 * anything that others have written since (S3.16, S5.47). Each can be repeated.
 */
import { FIELD_MANAGER } from '../../../api/core/group.js';
import { isObject } from '../../../api/core/json.js';
import { isAlreadyExists, isConflict } from '../../../kube/error.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import type { Attempt } from '../../core/handler.js';
import { isMarkWrittenBy } from './managed-fields.js';
import { isMarkedBy, withMarksOf, withoutMarks } from '../../core/marks.js';
import { deleteObject, replacedMessage } from '../../core/object-delete.js';
import type { Deletion } from '../../core/object-delete.js';
import { waitUntilGone } from '../../core/object-wait.js';
import { isWithin, lookUp, withoutServerFields } from '../../core/objects.js';
import type { AfterDocument } from '../../core/prior.js';
import { isMergeable, jsonPatchOf, mergePatchOf, planRestore } from './restore.js';
import type { RestoreConflict } from './restore.js';
import { intended, writtenFields } from './written-fields.js';
import type { Recorded } from './written-fields.js';

/** How the undo for one object ended. `KubeError`s are thrown. */
export type UndoEffect =
  | { kind: 'undone'; message: string }
  /** Nothing of the action is left to undo. */
  | { kind: 'already'; message: string }
  | { kind: 'failed'; reason: string; message: string }
  | { kind: 'retry'; reason: string; message: string };

/** What the undo of an object is done with. */
export interface UndoContext {
  attempt: Attempt;
  /** Key of the forward action in any round, to recognise its marks. */
  forwardKey: string;
  finalizerWaitMs: number;
  /** Called with an object that is about to be deleted; what it returns is said of the deletion. */
  beforeDelete?: ((object: KubeObject) => Promise<string | undefined>) | undefined;
}

const WRITE_TRIES = 5;

/**
 * Deletes an object that the action made; one that took its name since is left alone, unless an undo has put it in the
 * place of the action's own, which a later action of the run had deleted.
 */
export async function deleteCreated(
  created: { key: ObjectKey; uid: string },
  context: UndoContext,
): Promise<UndoEffect> {
  const { attempt } = context;
  const { key } = created;
  let note: string | undefined;
  const remove = async (uid: string): Promise<Deletion> => {
    if (context.beforeDelete !== undefined) {
      const found = await attempt.kube.get(key, { signal: attempt.signal });
      if (found?.metadata.uid === uid && found.metadata.deletionTimestamp === undefined) {
        note = await context.beforeDelete(found);
      }
    }
    return deleteObject(
      attempt.kube,
      { key, uid },
      {
        signal: attempt.signal,
        deadline: attempt.deadline,
        finalizerWaitMs: context.finalizerWaitMs,
        beforeEffect: () => attempt.beforeEffect(),
      },
    );
  };
  let result = await remove(created.uid);
  const other = result.kind === 'absent' ? result.replacedBy : undefined;
  if (other?.metadata.uid !== undefined && isPutBack(other, context)) {
    result = await remove(other.metadata.uid);
  }
  switch (result.kind) {
    case 'deleted':
      return {
        kind: 'undone',
        message: `${describeKey(key)} deleted${note === undefined ? '' : `; ${note}`}`,
      };
    case 'absent':
      return {
        kind: 'already',
        message:
          result.replacedBy === undefined
            ? `${describeKey(key)} is gone already`
            : replacedMessage(key, result.replacedBy),
      };
    case 'terminating':
      return { kind: result.final ? 'failed' : 'retry', reason: 'StillTerminating', message: result.message };
  }
}

/** Whether an object is the action's own, created again by an undo. */
const isPutBack = (object: KubeObject, { forwardKey }: UndoContext): boolean =>
  isMarkedBy(object, forwardKey) && isMarkWrittenBy(object, FIELD_MANAGER);

/**
 * Puts an object back to its recorded state.
 *
 * @param after what the action left behind; undefined when the action ended without a word: then the object is compared
 *   with what was to be written, and nothing is done where the action's mark is missing
 */
export async function restoreObject(
  prior: Recorded,
  after: AfterDocument | undefined,
  context: UndoContext,
): Promise<UndoEffect> {
  const { attempt } = context;
  const { key } = prior;
  for (let tries = 1; ; tries += 1) {
    const current = await lookUp(attempt.kube, key, attempt.signal);
    if (prior.operation === 'Delete' || current === undefined) {
      const mayCreate = prior.operation === 'Delete' || removesFirst(prior);
      if (current !== undefined) return await bringBack(prior, current, context);
      if (mayCreate) return await recreate(prior, context);
      return {
        kind: 'failed',
        reason: 'Conflict',
        message: `${describeKey(key)}, which the action changed, was deleted by someone else since, so nothing can be restored; create it again, or leave it`,
      };
    }
    if (after === undefined && !isMarkedBy(current, context.forwardKey)) {
      return { kind: 'already', message: `${describeKey(key)} was not changed by the action` };
    }
    const plan = planObjectRestore(prior, after, current, context.forwardKey);
    switch (plan.kind) {
      case 'nothing':
        return { kind: 'already', message: `${describeKey(key)} has its earlier values already` };
      case 'conflict':
        return {
          kind: 'failed',
          reason: 'Conflict',
          message: `${describeKey(key)} was changed by someone else since: ${describe(plan.conflicts, key.kind === 'Secret')}. Nothing was restored; set these fields by hand to what they shall be, then revert again`,
        };
      case 'patch':
        break;
    }
    attempt.beforeEffect();
    try {
      await attempt.kube.patch(key, plan.patch, {
        kind: plan.type,
        fieldManager: FIELD_MANAGER,
        signal: attempt.signal,
      });
      return { kind: 'undone', message: `${describeKey(key)} restored` };
    } catch (error) {
      if (!isConflict(error) || tries >= WRITE_TRIES) throw error;
    }
  }
}

/** How an object is put back. */
export type ObjectRestore =
  | Exclude<ReturnType<typeof planRestore>, { kind: 'change' }>
  | { kind: 'patch'; type: 'merge' | 'json'; patch: unknown };

/** The restore of one object as a patch that holds only for the state that was read. */
export function planObjectRestore(
  prior: Recorded,
  after: AfterDocument | undefined,
  current: KubeObject,
  forwardKey: string,
): ObjectRestore {
  const plan = planRestore({
    prior: comparable(prior.object),
    after: comparable(after?.object ?? intended(prior, current)),
    current: comparable(current),
    mask: writtenFields(prior),
    exact: after?.exact,
  });
  if (plan.kind === 'conflict') return plan;
  const values = plan.kind === 'change' ? (plan.desired as KubeObject) : comparable(current);
  // The marks are those of before, or another action's, which has written since.
  const desired = withMarksOf(values, isMarkedBy(current, forwardKey) ? prior.object : current);
  const now = withoutServerFields(current);
  const { resourceVersion, uid } = current.metadata;
  if (!isMergeable(now, desired)) {
    const operations = jsonPatchOf(now, desired);
    const pins = Object.entries({ resourceVersion, uid }).map(([field, value]) => ({
      op: 'replace' as const,
      path: `/metadata/${field}`,
      value,
    }));
    return { kind: 'patch', type: 'json', patch: [...operations, ...pins] };
  }
  const patch = mergePatchOf(now, desired) as Record<string, unknown>;
  if (Object.keys(patch).length === 0) return { kind: 'nothing' };
  const metadata = isObject(patch.metadata) ? patch.metadata : {};
  return {
    kind: 'patch',
    type: 'merge',
    patch: { ...patch, metadata: { ...metadata, resourceVersion, uid } },
  };
}

/** A Replace that deletes and creates leaves nothing behind when it is cut in between. */
const removesFirst = (prior: Recorded): boolean =>
  prior.operation === 'Replace' && prior.key.kind === 'Subscription';

/** The object of a Delete is there: still, again, or as somebody else's. */
async function bringBack(prior: Recorded, current: KubeObject, context: UndoContext): Promise<UndoEffect> {
  const { key } = prior;
  const { attempt } = context;
  const uid = prior.object.metadata.uid ?? '';
  if (current.metadata.deletionTimestamp !== undefined) {
    const gone = await waitUntilGone(
      attempt.kube,
      { key, uid: current.metadata.uid ?? uid },
      {
        signal: attempt.signal,
        timeoutMs: Math.min(context.finalizerWaitMs, attempt.deadline - Date.now() - 1500),
      },
    );
    if (gone.gone) return recreate(prior, context);
    return {
      kind: 'retry',
      reason: 'StillTerminating',
      message: `${describeKey(key)} is still being deleted (finalizers: ${(gone.left.metadata.finalizers ?? []).join(', ') || 'none'}); it can be created again when it is gone`,
    };
  }
  if (current.metadata.uid === uid) {
    return { kind: 'already', message: `${describeKey(key)} was not deleted` };
  }
  if (isWithin(comparable(recreatable(prior.object)), comparable(current))) {
    return { kind: 'already', message: `${describeKey(key)} is there again` };
  }
  return {
    kind: 'failed',
    reason: 'Conflict',
    message: `${describeKey(key)}, which the action deleted, was created by someone else since and differs from what it was; delete it to have the earlier one restored, or leave it`,
  };
}

async function recreate(prior: Recorded, context: UndoContext): Promise<UndoEffect> {
  const { attempt } = context;
  attempt.beforeEffect();
  try {
    await attempt.kube.create(recreatable(prior.object), {
      fieldManager: FIELD_MANAGER,
      signal: attempt.signal,
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return {
      kind: 'retry',
      reason: 'Conflict',
      message: `${describeKey(prior.key)} appeared while it was to be created again`,
    };
  }
  const content = prior.key.kind === 'Namespace' ? '; what it held is not restored' : '';
  return { kind: 'undone', message: `${describeKey(prior.key)} created again${content}` };
}

/** An object as it can be created once more. */
export function recreatable(object: KubeObject): KubeObject {
  const body = withoutServerFields(object);
  if (object.kind !== 'Job' || !isObject(body.spec) || body.spec.manualSelector === true) return body;
  // The Job controller generates these; they belong to the old uid.
  const { selector: _, ...spec } = body.spec;
  const template = isObject(spec.template) ? spec.template : {};
  const metadata = isObject(template.metadata) ? template.metadata : {};
  const labels = Object.fromEntries(
    Object.entries(isObject(metadata.labels) ? metadata.labels : {}).filter(
      ([label]) => !/(^|\/)(controller-uid|job-name)$/.test(label),
    ),
  );
  return { ...body, spec: { ...spec, template: { ...template, metadata: { ...metadata, labels } } } };
}

const comparable = (object: KubeObject): KubeObject => withoutMarks(withoutServerFields(object));

const NAMED_CONFLICTS = 5;

/** Values of a Secret stay out of messages. */
function describe(conflicts: RestoreConflict[], hidden: boolean): string {
  const show = hidden ? () => 'a hidden value' : shown;
  const named = conflicts
    .slice(0, NAMED_CONFLICTS)
    .map(
      ({ field, expected, found }) =>
        `${field} was ${show(expected)} after the action and is ${show(found)} now`,
    )
    .join('; ');
  return conflicts.length > NAMED_CONFLICTS
    ? `${named}; and ${conflicts.length - NAMED_CONFLICTS} fields more`
    : named;
}

function shown(value: unknown): string {
  if (value === undefined) return 'absent';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
