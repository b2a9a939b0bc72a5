/** What errors mean in the middle of what is done with several objects. */
import { nonTexts } from '../../../api/plan/validate/text-maps.js';
import { keyOf } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject } from '../../../kube/object.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { StaleAttempt } from '../../core/handler.js';
import { fromKubeError, isSchemaFault } from '../../core/kube-errors.js';
import type { ObjectTask } from '../../core/object-task.js';

/** What an exception in the middle means. Without a trace of an effect it is left to the frame. */
export function afterError(
  error: unknown,
  task: ObjectTask | undefined,
  attempt: Attempt,
  soFar: 'Done' | 'None' | 'Unknown',
): Extract<AttemptResult, { kind: 'retry' | 'failed' | 'interrupted' }> {
  if (error instanceof StaleAttempt) throw error;
  if (attempt.signal.aborted) return { kind: 'interrupted', effect: soFar };
  if (!(error instanceof KubeError)) throw error;
  // A refused write had no effect; a refused look after an accepted delete says nothing about the delete.
  const deletes = task?.operation === 'Delete' || task?.operation === 'Replace';
  const isRefused = isSchemaFault(error) || (!deletes && !isUnanswered(error));
  const isCertain = soFar === 'Unknown' && isRefused;
  const effect = isCertain ? 'None' : soFar;
  const told = task === undefined ? error : aboutObject(error, task.object);
  return fromKubeError(told, { identity: attempt.identity, effect });
}

const isUnanswered = (error: KubeError): boolean => error.code === 0 || error.code >= 500;

/** Most fields that are named. */
const NAMED_FIELDS = 5;

/**
 * Adds the object to an error that does not name it, and fields that should be text, which the API server names badly.
 */
export function aboutObject(error: KubeError, object: KubeObject): KubeError {
  const { code, reason, retryAfterMs, details } = error;
  const shown = error.message.includes(object.metadata.name) ? [] : [`${describeKey(keyOf(object))}: `];
  const fields = isSchemaFault(error) ? nonTexts(object).map(({ path }) => path) : [];
  const named = fields.length === 0 ? [] : [` (no text: ${fields.slice(0, NAMED_FIELDS).join(', ')})`];
  if (shown.length + named.length === 0) return error;
  return new KubeError([...shown, error.message, ...named].join(''), {
    code,
    reason,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(details !== undefined && { details }),
    cause: error,
  });
}
