/** What is kept of objects before an action. */
import { keyOf } from '../../../kube/client.js';
import type { KubeObject } from '../../../kube/object.js';
import type { Attempt } from '../../core/handler.js';
import { isAppliedBy } from './managed-fields.js';
import type { ObjectTask } from '../../core/object-task.js';
import { lookUp } from '../../core/objects.js';
import type { PriorDocument } from '../../core/prior.js';

/** What would be recorded of the objects of tasks, as they are now. */
export async function readPrior(
  tasks: readonly ObjectTask[],
  { kube, manager, signal }: Pick<Attempt, 'kube' | 'manager' | 'signal'>,
): Promise<PriorDocument[]> {
  const documents: PriorDocument[] = [];
  for (const { object, operation, patchType } of tasks) {
    const key = keyOf(object);
    const { apiVersion, kind } = key;
    const found = await lookUp(kube, key, signal);
    documents.push({
      key,
      operation,
      object: found === undefined ? null : recordable({ ...found, apiVersion, kind }, manager),
      intent: object,
      ...(patchType === 'strategic' && { patchType }),
    });
  }
  return documents;
}

/** The object as it is kept: of its field managers only what whoever is about to apply owns matters later. */
export function recordable(object: KubeObject, manager: string): KubeObject {
  const { managedFields, ...metadata } = object.metadata;
  const own = managedFields?.filter(isAppliedBy(manager)) ?? [];
  return { ...object, metadata: { ...metadata, ...(own.length > 0 && { managedFields: own }) } };
}
