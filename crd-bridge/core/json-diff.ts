import { isObject } from '../../api/core/json.js';

/** One operation of a JSON patch (RFC 6902). */
export type PatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value: unknown }
  | { op: 'remove'; path: string };

/** Whether two values are the same JSON. A field that is undefined counts as absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => sameJson(own(a, key), own(b, key)));
}

/**
 * Operations that turn one object into another. They replace whole fields of the first level, but in lists that keep
 * their length only the items that changed. A write then costs as much as has changed, not as much as is stored.
 */
export function diffFields(path: string, from: object, to: object): PatchOperation[] {
  const before = from as Record<string, unknown>;
  const after = to as Record<string, unknown>;
  const operations: PatchOperation[] = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = own(before, key);
    const value = own(after, key);
    if (sameJson(old, value)) continue;
    const at = `${path}/${escape(key)}`;
    if (value === undefined) {
      operations.push({ op: 'remove', path: at });
    } else if (Array.isArray(old) && Array.isArray(value) && old.length === value.length) {
      value.forEach((item: unknown, index) => {
        if (!sameJson(old[index], item))
          operations.push({ op: 'replace', path: `${at}/${index}`, value: item });
      });
    } else {
      operations.push({ op: 'add', path: at, value });
    }
  }
  return operations;
}

/** A field of the object itself: data may be named like something that every object inherits. */
const own = (object: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

const escape = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
