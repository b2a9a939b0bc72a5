import { formatDuration } from '../../api/core/duration.js';
import type { KubeClient } from '../../kube/client.js';
import { isConflict } from '../../kube/error.js';
import { describeKey } from '../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../kube/object.js';
import { waitUntilGone } from './object-wait.js';
import { lookUp } from './objects.js';

/** How a delete ended. */
export type Deletion =
  | { kind: 'deleted' }
  /** It was not there, or another object has taken its name since. */
  | { kind: 'absent'; replacedBy?: KubeObject }
  /** `final`: the whole time for finalizers is over. */
  | { kind: 'terminating'; message: string; final: boolean };

/** What a delete needs. */
export interface DeletionOptions {
  signal: AbortSignal;
  /** Longest wait for finalizers, counted from the server's deletion timestamp, in milliseconds. */
  finalizerWaitMs: number;
  /** Milliseconds since the epoch after which nothing is waited for. */
  deadline: number;
  /** Called just before the object is deleted. */
  beforeEffect: () => void;
}

/** An attempt ends this long before its deadline, so that it can still say what happened. */
const MARGIN_MS = 1500;

/**
 * Deletes one very object and waits until it is gone. With a uid, an object that was created later under the same name
 * is left alone; NotFound is success. Dependents go in the background: the API's default for Jobs would orphan Pods.
 */
export async function deleteObject(
  kube: KubeClient,
  object: { key: ObjectKey; uid?: string | undefined },
  options: DeletionOptions,
): Promise<Deletion> {
  const { key } = object;
  const { signal } = options;
  const found = await lookUp(kube, key, signal);
  if (found === undefined) return { kind: 'absent' };
  const uid = object.uid ?? found.metadata.uid ?? '';
  if (found.metadata.uid !== uid) return { kind: 'absent', replacedBy: found };

  let since = Date.parse(found.metadata.deletionTimestamp ?? '');
  if (Number.isNaN(since)) {
    options.beforeEffect();
    since = kube.now();
    try {
      const existed = await kube.delete(key, { uid, propagationPolicy: 'Background', signal });
      if (!existed) return { kind: 'deleted' };
    } catch (error) {
      // The uid no longer matched: somebody deleted and created the object between the two calls.
      const now = isConflict(error) ? await kube.get(key, { signal }) : undefined;
      if (!isConflict(error) || now?.metadata.uid === uid) throw error;
      return { kind: 'absent', ...(now !== undefined && { replacedBy: now }) };
    }
  }
  // The server has written when the delete began, and its clock says how long ago that is.
  const waitedMs = (): number => kube.now() - since;
  const timeoutMs = Math.min(options.finalizerWaitMs - waitedMs(), options.deadline - MARGIN_MS - Date.now());
  const result = await waitUntilGone(kube, { key, uid }, { signal, timeoutMs });
  if (result.gone) return { kind: 'deleted' };
  const waited = waitedMs();
  return {
    kind: 'terminating',
    message: terminating(key, result.left, waited),
    final: waited >= options.finalizerWaitMs,
  };
}

function terminating(key: ObjectKey, left: KubeObject, waitedMs: number): string {
  const finalizers = left.metadata.finalizers ?? [];
  const why =
    finalizers.length === 0
      ? 'its grace period or its dependents are not over'
      : `finalizers: ${finalizers.join(', ')}`;
  return `the delete of ${describeKey(key)} was accepted, but after ${formatDuration(waitedMs)} it is still Terminating, ${why}; see that the controller that owns them runs, then retry the action`;
}

/** What is said of an object that took the name of a deleted one. */
export function replacedMessage(key: ObjectKey, by: KubeObject): string {
  return `${describeKey(key)} was created anew by someone else at ${by.metadata.creationTimestamp ?? 'an unknown time'} (uid ${by.metadata.uid ?? 'unknown'}) and is left alone`;
}
