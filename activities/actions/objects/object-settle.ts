import type { ObjectReference } from '../../../api/plan/types.js';
import { keyOf } from '../../../kube/client.js';
import { describeKey } from '../../../kube/object.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { isMarkedBy } from '../../core/marks.js';
import type { ObjectTask } from '../../core/object-task.js';
import { isSameKey, lookUp, referenceTo, withoutServerFields } from '../../core/objects.js';
import type { AfterDocument } from '../../core/prior.js';
import { forwardOwner, isUnsealed } from './object-action.js';
import type { OutputsOf } from './object-action.js';

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
