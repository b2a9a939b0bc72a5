/** The bodies of writes. Pure. */
import { isObject } from '../../../api/core/json.js';
import type { KubeObject } from '../../../kube/object.js';

/** What a merge patch says: everything but what the object is found by. */
export function patchBody(object: KubeObject): Record<string, unknown> {
  const { apiVersion: _v, kind: _k, metadata, ...rest } = object;
  const { name: _n, namespace: _s, ...meta } = metadata;
  return { ...rest, ...(Object.keys(meta).length > 0 && { metadata: meta }) };
}

/** The object without field managers, which an apply may not name. */
export function withoutManagedFields(object: KubeObject): KubeObject {
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

/** A body that holds for one state of its object only. */
export function withPin<T extends { metadata?: unknown }>(body: T, pin: string | undefined): T {
  if (pin === undefined) return body;
  return { ...body, metadata: { ...(isObject(body.metadata) ? body.metadata : {}), resourceVersion: pin } };
}
