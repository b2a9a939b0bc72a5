/**
 * One write as the API server would take it, by server-side dry run: nothing is stored, and admission of the cluster is
 * asked as it would be. Says what the action itself would say.
 */
import { FIELD_MANAGER } from '../api/group.js';
import { keyOf } from '../kube/client.js';
import type { KubeClient } from '../kube/client.js';
import { isNotFound, isRetryable, KubeError } from '../kube/error.js';
import { describeKey } from '../kube/object.js';
import type { KubeObject } from '../kube/object.js';
import { describeConflicts, ownershipConflicts, patchBody, replacement } from './object-effect.js';
import type { ObjectTask } from './object-effect.js';
import { fromKubeError } from './kube-errors.js';

/** What was found about one object, or about an action as a whole. */
export interface Finding {
  /**
   * `problem`: the action would fail. `warning`: it would go on, with what the message says. `untried`: nothing can be
   * said yet.
   */
  level: 'ok' | 'warning' | 'problem' | 'untried';
  /** The reason that the action would fail with; `Accepted`, `TakesOver` and `NotTried` are those of the other levels. */
  reason: string;
  message: string;
}

/** Who tries. */
export interface DryRunOptions {
  kube: KubeClient;
  identity: string;
  signal: AbortSignal;
  /** Whether Replace deletes and creates (Subscription), rather than to put. */
  replaceDeletes: boolean;
}

/** Tries one write. The object carries its marks. */
export async function dryRun(task: ObjectTask, options: DryRunOptions): Promise<Finding> {
  const key = keyOf(task.object);
  const shown = describeKey(key);
  try {
    return await attemptWrite(task, options);
  } catch (error) {
    if (options.signal.aborted || !(error instanceof KubeError)) throw error;
    if (isRetryable(error) && error.code !== 409) {
      return { level: 'problem', reason: error.reason, message: `${shown}: ${error.message}` };
    }
    const { reason, message } = fromKubeError(error, { identity: options.identity, effect: 'None' });
    return {
      level: 'problem',
      reason,
      message: message.includes(key.name) ? message : `${shown}: ${message}`,
    };
  }
}

async function attemptWrite(task: ObjectTask, options: DryRunOptions): Promise<Finding> {
  const { kube, signal } = options;
  const { object } = task;
  const key = keyOf(object);
  const shown = describeKey(key);
  const write = { dryRun: true, fieldManager: FIELD_MANAGER, signal };
  const ok = (what: string): Finding => ({ level: 'ok', reason: 'Accepted', message: `${shown} ${what}` });
  const missing = (verb: string): Finding => ({
    level: 'problem',
    reason: 'NotFound',
    message: `${shown} does not exist, so it cannot be ${verb}`,
  });
  switch (task.operation) {
    case 'Create':
      await kube.create(object, write);
      return ok('would be created');
    case 'Apply': {
      const current = await kube.get(key, { signal });
      const what = current === undefined ? 'would be created' : 'would be changed';
      const apply = (force: boolean): Promise<unknown> =>
        kube.patch(key, object, { kind: 'apply', force, ...write });
      try {
        await apply(false);
        return ok(what);
      } catch (error) {
        const others = ownershipConflicts(error)?.filter(({ manager }) => manager !== FIELD_MANAGER);
        if (others === undefined) throw error;
        const conflicts = describeConflicts(others);
        if (task.force === false && others.length > 0) {
          return {
            level: 'problem',
            reason: 'Conflict',
            message: `${shown} would not be applied: ${conflicts}, and force is false`,
          };
        }
        await apply(true);
        return others.length === 0
          ? ok(what)
          : {
              level: 'warning',
              reason: 'TakesOver',
              message: `${shown} ${what}, and taken over from others: ${conflicts}`,
            };
      }
    }
    case 'Patch':
      // Read first, as the action records the state before it changes it.
      if ((await kube.get(key, { signal })) === undefined) return missing('patched');
      await kube.patch(key, patchBody(object), { kind: 'merge', ...write });
      return ok('would be patched');
    case 'Replace': {
      const current = await kube.get(key, { signal });
      if (options.replaceDeletes) return replaceByDelete(object, current, options);
      if (current === undefined) return missing('replaced');
      await kube.replace(replacement(object, current), write);
      return ok('would be replaced');
    }
    case 'Delete': {
      const current = await kube.get(key, { signal });
      if (current === undefined) return ok('is not there, so nothing would be deleted');
      const { uid } = current.metadata;
      try {
        await kube.delete(key, { dryRun: true, signal, ...(uid !== undefined && { uid }) });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      return ok('would be deleted');
    }
  }
}

async function replaceByDelete(
  object: KubeObject,
  current: KubeObject | undefined,
  { kube, signal }: DryRunOptions,
): Promise<Finding> {
  const key = keyOf(object);
  const write = { dryRun: true, fieldManager: FIELD_MANAGER, signal };
  if (current === undefined) {
    await kube.create(object, write);
    return { level: 'ok', reason: 'Accepted', message: `${describeKey(key)} would be created` };
  }
  await kube.patch(key, object, { kind: 'apply', force: true, ...write });
  await kube.delete(key, { dryRun: true, signal });
  return {
    level: 'ok',
    reason: 'Accepted',
    message: `${describeKey(key)} would be deleted and created again`,
  };
}
