import { isObject } from './json.js';

/**
 * The objects of rendered documents: a `List` counts as its items, as for kubectl. An item of a list of one kind
 * (`ConfigMapList`) that names no kind has that one.
 */
export function objectsIn(documents: readonly unknown[]): unknown[] {
  return documents.flatMap((document): unknown[] => {
    if (!isObject(document) || !isList(document)) return [document];
    const { apiVersion } = document;
    const kind = document.kind.slice(0, -LIST.length);
    const own = kind === '' ? {} : { apiVersion, kind };
    return objectsIn(document.items.map((item) => (isObject(item) ? { ...own, ...item } : item)));
  });
}

const LIST = 'List';

const isList = (
  document: Record<string, unknown>,
): document is Record<string, unknown> & { kind: string; items: unknown[] } =>
  typeof document.kind === 'string' && document.kind.endsWith(LIST) && Array.isArray(document.items);
