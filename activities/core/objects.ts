/** Small things about objects that all handlers of Kubernetes objects share. */
import { isObject } from '../../api/core/json.js';
import type { ObjectReference } from '../../api/plan/types.js';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { KubeObject, ObjectKey } from '../../kube/object.js';

/** Metadata that the server owns. */
const SERVER_METADATA = new Set([
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
]);

/** An object as somebody could have written it: without status and without what the server fills in. */
export function withoutServerFields(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object;
  const metadata = Object.fromEntries(
    Object.entries(object.metadata).filter(([field]) => !SERVER_METADATA.has(field)),
  );
  return { ...rest, metadata: metadata as unknown as KubeObject['metadata'] };
}

/** Whether two keys name the same object. */
export const isSameKey = (a: ObjectKey, b: ObjectKey): boolean =>
  a.apiVersion === b.apiVersion && a.kind === b.kind && a.namespace === b.namespace && a.name === b.name;

/** A reference for outputs. */
export function referenceTo(key: ObjectKey, uid?: string): ObjectReference {
  return { ...pickKey(key), ...(uid !== undefined && { uid }) };
}

/** The key in a reference that was recorded; undefined when the record is incomplete. */
export function keyIn(reference: ObjectReference): ObjectKey | undefined {
  const { apiVersion, kind } = reference;
  return apiVersion === undefined || kind === undefined
    ? undefined
    : pickKey({ ...reference, apiVersion, kind });
}

function pickKey({ apiVersion, kind, name, namespace }: ObjectKey): ObjectKey {
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}

/** Whether everything in `part` stands in `whole` too; lists must be equal. */
export function isWithin(part: unknown, whole: unknown): boolean {
  if (!isObject(part)) return JSON.stringify(part) === JSON.stringify(whole);
  if (!isObject(whole)) return false;
  return Object.entries(part).every(([key, value]) => isWithin(value, whole[key]));
}

/** The object, or undefined when it is not there; of a kind that is not served (any more) there is none. */
export async function lookUp(
  kube: KubeClient,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await kube.get(key, { signal });
  } catch (error) {
    if (error instanceof KubeError && error.reason === 'KindNotFound') return undefined;
    throw error;
  }
}
