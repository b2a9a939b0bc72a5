import { FIELD_MANAGER } from '../api/group.js';
import { isObject } from '../api/json.js';
import type { KubeObject, ManagedFields } from '../kube/object.js';
import type { Mask } from './restore.js';

/** Whether an entry is what our own server-side apply owns. */
export const isOwnApply = (entry: ManagedFields): boolean =>
  entry.manager === FIELD_MANAGER && entry.operation === 'Apply' && entry.subresource === undefined;

/**
 * The fields that our own server-side apply owns on an object: a further apply that leaves them out removes them.
 * Undefined when there are none.
 */
export function ownAppliedFields(object: KubeObject): Mask | undefined {
  const fields = object.metadata.managedFields?.find(isOwnApply)?.fieldsV1;
  return fields === undefined ? undefined : maskOfFields(fields);
}

/** Lists are one field, whatever of their elements is owned. */
function maskOfFields(fields: Record<string, unknown>): Mask {
  const inner: { [key: string]: Mask } = {};
  for (const [key, value] of Object.entries(fields)) {
    if (key === '.') continue;
    if (!key.startsWith('f:')) return true;
    inner[key.slice(2)] = isObject(value) ? maskOfFields(value) : true;
  }
  return Object.keys(inner).length === 0 ? true : inner;
}
