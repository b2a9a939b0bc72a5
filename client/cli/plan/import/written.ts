import { isObject, parseJson } from '../../../../api/core/json.js';
import type { Written } from './finding.js';

/** Where kubectl keeps what a person applied, without anything that was filled in later. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Whether an object has been in a cluster: then defaults may have been filled in. */
export function isStored(object: Record<string, unknown>): boolean {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  return typeof metadata.uid === 'string' || typeof metadata.resourceVersion === 'string';
}

/**
 * Says for each field of an object whether a person wrote it. In a file everything is written; in an object of a
 * cluster kubectl's record of what was applied decides, and without one nothing is known.
 */
export function writtenIn(object: Record<string, unknown>): (path: readonly (string | number)[]) => Written {
  if (!isStored(object)) return () => 'yes';
  const applied = appliedOf(object);
  if (applied === undefined) return () => 'unknown';
  return (path) => {
    let node: unknown = applied;
    for (const segment of path) {
      if (Array.isArray(node) && typeof segment === 'number') node = (node as unknown[])[segment];
      else if (isObject(node) && Object.hasOwn(node, segment)) node = node[segment];
      else return 'no';
    }
    return node === undefined ? 'no' : 'yes';
  };
}

function appliedOf(object: Record<string, unknown>): unknown {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const annotations = isObject(metadata.annotations) ? metadata.annotations : {};
  const text = annotations[LAST_APPLIED];
  if (typeof text !== 'string') return undefined;
  const applied = parseJson(text);
  // The record must be of this very list of actions or stages, or positions would not match.
  return isObject(applied) && sameLists(applied.spec, object.spec) ? applied : undefined;
}

function sameLists(applied: unknown, stored: unknown): boolean {
  return (['actions', 'stages'] as const).every((field) => {
    const names = (spec: unknown): string =>
      JSON.stringify(
        isObject(spec) && Array.isArray(spec[field])
          ? (spec[field] as unknown[]).map((item) => (isObject(item) ? item.name : item))
          : [],
      );
    return names(applied) === names(stored);
  });
}
