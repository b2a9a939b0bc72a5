/** Objects in a child cluster, as Clusternet's deployer applies and removes them. */
import { keyOf, type KubeClient } from '../../kube/client.js';
import { isAlreadyExists, KubeError } from '../../kube/error.js';
import type { TypedObject } from '../../kube/object.js';
import { fieldManager } from './field-manager.js';
import { names } from './labels.js';

/** What one object of a Description is known by. */
export const identityOf = ({ kind, metadata }: TypedObject): string =>
  `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

/**
 * Creates an object, or changes it by what is new and what is gone since the last time.
 *
 * @param owner the Description that it comes with, as `namespace.name`
 * @returns what went wrong
 */
export async function applyObject(
  child: KubeClient,
  object: TypedObject,
  owner: string,
): Promise<string | undefined> {
  try {
    const placed = await place(child, object);
    if (placed === undefined) {
      return `no matches for kind "${object.kind}" in version "${object.apiVersion}"`;
    }
    await createOrChange(child, placed, owner);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Removes an object; one that is not there, or of a kind that is not served, is removed. */
export async function removeObject(child: KubeClient, object: TypedObject): Promise<void> {
  const placed = await place(child, object);
  if (placed !== undefined) await child.delete(keyOf(placed), { propagationPolicy: 'Background' });
}

/** An object in the namespace that it goes to; undefined when the cluster does not serve its kind. */
async function place(child: KubeClient, object: TypedObject): Promise<TypedObject | undefined> {
  try {
    // The kind may have been defined a moment ago.
    const { namespaced } = await child.resolve(object.apiVersion, object.kind, { anew: true });
    if (!namespaced) return object;
    const { namespace = 'default' } = object.metadata;
    return { ...object, metadata: { ...object.metadata, namespace } };
  } catch (error) {
    if (error instanceof KubeError && error.reason === 'KindNotFound') return undefined;
    throw error;
  }
}

async function createOrChange(child: KubeClient, object: TypedObject, owner: string): Promise<void> {
  const owned: TypedObject = {
    ...object,
    metadata: {
      ...object.metadata,
      annotations: { ...object.metadata.annotations, [names.ownedBy]: owner },
    },
  };
  const annotations = { ...owned.metadata.annotations, [names.lastApplied]: JSON.stringify(owned) };
  const body: TypedObject = { ...owned, metadata: { ...owned.metadata, annotations } };
  try {
    await child.create(body, { fieldManager });
    return;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const current = await child.get<TypedObject>(keyOf(object));
  const last = current?.metadata.annotations?.[names.lastApplied];
  const gone = last === undefined ? {} : removedSince(JSON.parse(last) as Tree, owned);
  const kind = isBuiltIn(object.apiVersion) ? 'strategic' : 'merge';
  await child.patch(keyOf(object), merged(gone, body), { kind, fieldManager });
}

interface Tree {
  [key: string]: unknown;
}

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null at every place that was there before and is not there now. */
function removedSince(before: Tree, now: Tree): Tree {
  const gone: Tree = {};
  for (const [key, value] of Object.entries(before)) {
    const present = now[key];
    if (present === undefined) gone[key] = null;
    else if (isTree(value) && isTree(present)) {
      const inner = removedSince(value, present);
      if (Object.keys(inner).length > 0) gone[key] = inner;
    }
  }
  return gone;
}

function merged(a: Tree, b: Tree): Tree {
  const result: Tree = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const under = result[key];
    result[key] = isTree(under) && isTree(value) ? merged(under, value) : value;
  }
  return result;
}

/** Kinds of Kubernetes itself know how their lists are merged. */
function isBuiltIn(apiVersion: string): boolean {
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [''];
  return !group.includes('.') || group.endsWith('.k8s.io');
}
