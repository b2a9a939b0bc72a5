/** Maps in which Kubernetes accepts only text, where YAML easily makes something else of it. */
import { isObject } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import { error, member, show } from '../../core/fields.js';

/** How text is written that YAML would take for something else. */
export const NO_TEXT_HINT =
  'write it in quotes: without them YAML reads yes, no, on, off, true and false as booleans, and 1.10 or 0755 as numbers';

const IN_METADATA = ['labels', 'annotations'] as const;
/** Groups whose objects hold others' metadata and selectors, and nothing that could be mistaken for them. */
const WITH_TEMPLATES: ReadonlySet<string> = new Set(['', 'apps', 'batch', 'policy', 'networking.k8s.io']);
const SELECTORS: ReadonlySet<string> = new Set(['matchLabels', 'nodeSelector']);
/** Maps of text at the top of an object. */
const BY_KIND: Record<string, readonly string[]> = {
  'v1/ConfigMap': ['data', 'binaryData'],
  'v1/Secret': ['data', 'stringData'],
};

/**
 * Values that are no text in labels, annotations, selectors and the data of ConfigMaps and Secrets: the API server refuses
 * such an object as a whole. Null is let through, as it removes a key in a patch.
 */
export function nonTexts(object: Record<string, unknown>): { path: string; value: unknown }[] {
  const { apiVersion, kind, metadata } = object;
  const maps: [at: string, map: unknown][] = metadataMaps(metadata, 'metadata');
  for (const field of BY_KIND[`${String(apiVersion)}/${String(kind)}`] ?? [])
    maps.push([field, object[field]]);
  const group = typeof apiVersion === 'string' ? apiVersion.split('/').slice(0, -1).join('/') : undefined;
  if (group !== undefined && WITH_TEMPLATES.has(group)) maps.push(...mapsWithin(object.spec, 'spec'));
  return maps.flatMap(([at, map]) =>
    Object.entries(isObject(map) ? map : {}).flatMap(([key, value]) =>
      typeof value === 'string' || value === null ? [] : [{ path: member(at, key), value }],
    ),
  );
}

/**
 * Refuses what {@link nonTexts} finds.
 *
 * @param which what the messages begin with
 * @param path of the field that the object is written in
 */
export const checkTextMaps = (object: Record<string, unknown>, which: string, path: string): Problem[] =>
  nonTexts(object).map(({ path: at, value }) => {
    const found = object.kind === 'Secret' ? 'no text' : show(value);
    return error(path, 'InvalidManifest', `${which}${at} is ${found}; must be text: ${NO_TEXT_HINT}`);
  });

function metadataMaps(metadata: unknown, at: string): [at: string, map: unknown][] {
  return isObject(metadata) ? IN_METADATA.map((field) => [`${at}.${field}`, metadata[field]]) : [];
}

function mapsWithin(value: unknown, at: string): [at: string, map: unknown][] {
  if (Array.isArray(value)) return value.flatMap((item, index) => mapsWithin(item, member(at, index)));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const where = member(at, key);
    if (SELECTORS.has(key)) return [[where, inner] as [string, unknown]];
    return key === 'metadata' ? metadataMaps(inner, where) : mapsWithin(inner, where);
  });
}
