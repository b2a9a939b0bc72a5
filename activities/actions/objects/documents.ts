import { isObject } from '../../../api/core/json.js';
import { objectsIn } from '../../../api/core/manifest.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { renderDocuments } from '../../../api/plan/template/render.js';
import type { RenderScope } from '../../../api/plan/template/render.js';
import type { KubeClient } from '../../../kube/client.js';
import type { ResourceType } from '../../../kube/discovery.js';
import { KubeError } from '../../../kube/error.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject } from '../../../kube/object.js';
import type { ObjectOperation } from '../../core/object-task.js';

/** Most objects of one action: as many as its outputs may list. */
export const MAX_OBJECTS = 256;

/** Objects of a manifest, or what is wrong with it. */
export type ManifestObjects = { ok: true; objects: KubeObject[] } | ({ ok: false } & Refusal);

/**
 * The objects of a manifest, in order; a `List` stands for its items.
 *
 * @throws RenderError for YAML that cannot be read and for placeholders without a value
 */
export function readManifest(manifest: string, scope: RenderScope): ManifestObjects {
  const documents = objectsIn(renderDocuments(manifest, scope));
  if (documents.length === 0) return invalid('the manifest holds no object; write at least one');
  if (documents.length > MAX_OBJECTS) {
    return invalid(
      `the manifest holds ${documents.length} objects; at most ${MAX_OBJECTS} are allowed: split it over several actions`,
    );
  }
  const objects: KubeObject[] = [];
  for (const [index, document] of documents.entries()) {
    const problem = problemOf(document);
    if (problem !== undefined) {
      return invalid(documents.length === 1 ? problem : `object ${index + 1} of the manifest: ${problem}`);
    }
    objects.push(document as KubeObject);
  }
  return { ok: true, objects };
}

/**
 * Gives objects their namespace: the default where a namespaced kind names none, none for cluster-wide kinds. All kinds
 * are looked up before anything is done; only one that the manifest itself defines may still be missing.
 *
 * @param options.defined further definitions, which exist by the time the manifest's turn comes
 */
export async function locate(
  kube: KubeClient,
  objects: KubeObject[],
  options: { namespace: string; defined?: readonly KubeObject[] | undefined },
): Promise<ManifestObjects> {
  const located: KubeObject[] = [];
  for (const object of objects) {
    const scope = await scopeOf(kube, object, [...objects, ...(options.defined ?? [])]);
    if (typeof scope !== 'string') return scope;
    const { namespace, ...metadata } = object.metadata;
    located.push({
      ...object,
      metadata:
        scope === 'Namespaced' ? { ...metadata, namespace: namespace || options.namespace } : metadata,
    });
  }
  const seen = new Set<string>();
  for (const { apiVersion = '', kind = '', metadata } of located) {
    const id = JSON.stringify([apiVersion.split('/').slice(0, -1), kind, metadata.namespace, metadata.name]);
    if (seen.has(id)) {
      return invalid(`${describeKey({ kind, ...metadata })} stands twice in the manifest; write it once`);
    }
    seen.add(id);
  }
  return { ok: true, objects: located };
}

type Scope = 'Namespaced' | 'Cluster';

async function scopeOf(
  kube: KubeClient,
  object: KubeObject,
  all: readonly KubeObject[],
): Promise<Scope | ({ ok: false } & Refusal)> {
  const { apiVersion = '', kind = '' } = object;
  try {
    return (await resolveNow(kube, apiVersion, kind)).namespaced ? 'Namespaced' : 'Cluster';
  } catch (error) {
    if (!isKindNotFound(error)) throw error;
    const own = definitionOf(object, all);
    if (own !== undefined) return own.scope === 'Cluster' ? 'Cluster' : 'Namespaced';
    return {
      ok: false,
      reason: 'KindNotFound',
      message: `${describeKey({ kind, ...object.metadata })}: ${error.message}`,
    };
  }
}

/** A kind that was not served a moment ago may have been defined since, by an action of this very run. */
async function resolveNow(kube: KubeClient, apiVersion: string, kind: string): Promise<ResourceType> {
  try {
    return await kube.resolve(apiVersion, kind);
  } catch (error) {
    if (!isKindNotFound(error)) throw error;
    return kube.resolve(apiVersion, kind, { anew: true });
  }
}

/** Whether an error says that the cluster does not serve the kind. */
export const isKindNotFound = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.reason === 'KindNotFound';

/** Whether an object defines a kind. */
export const isDefinition = ({ apiVersion = '', kind }: KubeObject): boolean =>
  kind === 'CustomResourceDefinition' && apiVersion.startsWith('apiextensions.k8s.io/');

/** Spec of the CustomResourceDefinition, among objects, that defines the kind of one of them. */
export function definitionOf(
  object: KubeObject,
  all: readonly KubeObject[],
): Record<string, unknown> | undefined {
  const own = all.find(
    (one) =>
      isDefinition(one) &&
      isObject(one.spec) &&
      one.spec.group === object.apiVersion?.split('/')[0] &&
      isObject(one.spec.names) &&
      one.spec.names.kind === object.kind,
  );
  return own?.spec as Record<string, unknown> | undefined;
}

/**
 * The order in which objects are written: definitions and namespaces first, as others need them; when objects are
 * deleted, last. Otherwise in the order of the manifest.
 */
export function inOrder(operation: ObjectOperation, objects: readonly KubeObject[]): KubeObject[] {
  const isNeeded = (object: KubeObject): boolean =>
    isDefinition(object) || (object.kind === 'Namespace' && object.apiVersion === 'v1');
  const needed = objects.filter(isNeeded);
  const rest = objects.filter((object) => !isNeeded(object));
  return operation === 'Delete' ? [...rest, ...needed] : [...needed, ...rest];
}

function problemOf(document: unknown): string | undefined {
  if (!isObject(document)) return 'it is not an object; write apiVersion, kind and metadata.name';
  for (const field of ['apiVersion', 'kind']) {
    if (typeof document[field] !== 'string' || document[field] === '') return `${field} is missing; write it`;
  }
  const { metadata } = document;
  if (!isObject(metadata)) return 'metadata is missing; write at least metadata.name';
  if (typeof metadata.name !== 'string' || metadata.name === '') {
    return 'metadata.name is missing or not a text; generateName is not enough, since a repeated attempt must find its object again';
  }
  if (metadata.namespace !== undefined && typeof metadata.namespace !== 'string') {
    return 'metadata.namespace is not a text; write the name of a namespace in quotes';
  }
  for (const field of ['labels', 'annotations']) {
    if (metadata[field] !== undefined && metadata[field] !== null && !isObject(metadata[field])) {
      return `metadata.${field} is not a map; write names with texts`;
    }
  }
  return undefined;
}

const invalid = (message: string): { ok: false } & Refusal => ({
  ok: false,
  reason: 'InvalidManifest',
  message,
});
