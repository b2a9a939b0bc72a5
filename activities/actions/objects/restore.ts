/**
 * Puts back what an action changed, and nothing else: only fields that it changed, and only while they hold its values
 * (S3.16). Pure: values in, values out. Maps are compared key by key, lists as a whole.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../../api/core/json.js';

/** A JSON value, or undefined for its absence. */
type Value = unknown;

/** Which fields an action wrote: a whole subtree, or the keys of a map. */
export type Mask = true | { [key: string]: Mask };

/** A field that somebody else has changed since. */
export interface RestoreConflict {
  /** As a person writes it: `spec.replicas`, `metadata.labels["app.kubernetes.io/name"]`. */
  field: string;
  /** What the action had set; undefined = it had removed the field. */
  expected: Value;
  found: Value;
  /** What the field held before the action. */
  prior: Value;
}

/** What has to be done. */
export type RestorePlan =
  | { kind: 'nothing' }
  /** `desired` is what shall stand there. */
  | { kind: 'change'; desired: Value }
  | { kind: 'conflict'; conflicts: RestoreConflict[] };

/** What there was, what the action left behind, and what there is. */
export interface States {
  prior: Value;
  after: Value;
  current: Value;
  /** Fields that the action wrote; absent = all. */
  mask?: Mask | undefined;
  /**
   * Whether nobody but the action wrote between `prior` and `after`. Then what differs outside the mask is what the
   * server has made of the action's write, and goes back too, as long as it still stands. Else it was made by others,
   * and is kept.
   */
  exact?: boolean | undefined;
}

/** Plans the restore of one object. */
export function planRestore(states: States): RestorePlan {
  const conflicts: RestoreConflict[] = [];
  const { prior, after, current, mask = true, exact = false } = states;
  const desired = restore({ prior, after, current, mask }, [], { conflicts, exact });
  if (conflicts.length > 0) return { kind: 'conflict', conflicts };
  if (isDeepStrictEqual(desired, current)) return { kind: 'nothing' };
  return { kind: 'change', desired };
}

/** The fields that a written body names: its maps are followed, everything else is one field. */
export function maskOf(body: Value): Mask {
  if (!isObject(body) || Object.keys(body).length === 0) return true;
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, maskOf(value)]));
}

/** The fields of two masks together. */
export function joinMasks(a: Mask, b: Mask): Mask {
  if (a === true || b === true) return true;
  const joined: { [key: string]: Mask } = { ...a };
  for (const [key, mask] of Object.entries(b)) {
    const known = Object.hasOwn(joined, key) ? joined[key] : undefined;
    joined[key] = known === undefined ? mask : joinMasks(known, mask);
  }
  return joined;
}

/** The value that a JSON merge patch (RFC 7396) makes of another. */
export function applyMergePatch(target: Value, patch: Value): Value {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}

/** The JSON merge patch that turns one value into another. */
export function mergePatchOf(from: Value, to: Value): unknown {
  if (!isObject(from) || !isObject(to)) return to;
  const patch: Record<string, unknown> = {};
  for (const key of keysOf(from, to)) {
    const [a, b] = [at(from, key), at(to, key)];
    if (isDeepStrictEqual(a, b)) continue;
    patch[key] = b === undefined ? null : mergePatchOf(a, b);
  }
  return patch;
}

/** One operation of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { op: 'add' | 'replace'; path: string; value: unknown }
  | { op: 'remove'; path: string };

/**
 * The JSON patch that turns one map into another: for what a merge patch cannot say, which takes a null for a removal.
 */
export function jsonPatchOf(
  from: Record<string, unknown>,
  to: Record<string, unknown>,
  path = '',
): JsonPatchOperation[] {
  return [...keysOf(from, to)].flatMap((key): JsonPatchOperation[] => {
    const [a, b] = [at(from, key), at(to, key)];
    const where = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (isDeepStrictEqual(a, b)) return [];
    if (b === undefined) return [{ op: 'remove', path: where }];
    if (isObject(a) && isObject(b)) return jsonPatchOf(a, b, where);
    return [{ op: a === undefined ? 'add' : 'replace', path: where, value: b }];
  });
}

/** Whether a merge patch turns one value into another: not where the other has a null that the first has not. */
export function isMergeable(from: Value, to: Value): boolean {
  if (isDeepStrictEqual(from, to)) return true;
  if (!isObject(to)) return !holdsNull(to);
  // Put over what is no map, a patch stands as it is, without its nulls.
  if (!isObject(from)) return !holdsNull(to);
  return Object.entries(to).every(([key, value]) => isMergeable(at(from, key), value));
}

function holdsNull(value: Value): boolean {
  if (value === null) return true;
  if (Array.isArray(value)) return (value as unknown[]).some(holdsNull);
  return isObject(value) && Object.values(value).some(holdsNull);
}

/** A field path as a person writes it. */
export function fieldPath(path: readonly string[]): string {
  return path.reduce((text, key) => {
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key)) return `${text}[${JSON.stringify(key)}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}

interface Place {
  prior: Value;
  after: Value;
  current: Value;
  /** Undefined: the action did not write it. */
  mask: Mask | undefined;
}

/** What shall stand at a place. */
function restore(
  { prior, after, current, mask }: Place,
  path: readonly string[],
  context: { conflicts: RestoreConflict[]; exact: boolean },
): Value {
  if (mask === undefined && !context.exact) return current;
  const areMaps = isMapOrAbsent(prior) && isMapOrAbsent(after) && isMapOrAbsent(current);
  const isWhole = mask === undefined || mask === true || !areMaps;
  if (isWhole) {
    if (isDeepStrictEqual(prior, after)) return current;
    if (isDeepStrictEqual(current, after)) return prior;
    if (isDeepStrictEqual(current, prior)) return current;
  }
  if (!areMaps) {
    // A field that the action did not write is put back where possible, and is never a reason to stop.
    if (mask !== undefined) {
      context.conflicts.push({ field: fieldPath(path), expected: after, found: current, prior });
    }
    return current;
  }
  const result: Record<string, unknown> = {};
  for (const key of new Set([...keysOf(prior, after), ...keysOf(current, undefined)])) {
    const inner = typeof mask === 'object' ? (Object.hasOwn(mask, key) ? mask[key] : undefined) : mask;
    const place = { prior: at(prior, key), after: at(after, key), current: at(current, key), mask: inner };
    const value = restore(place, [...path, key], context);
    if (value !== undefined) result[key] = value;
  }
  if (Object.keys(result).length > 0) return result;
  // A map that the action brought in goes with its last key: an empty selector is not the same as none.
  if (prior === undefined) return after === undefined ? current : undefined;
  return current === undefined ? undefined : result;
}

const isMapOrAbsent = (value: Value): value is Record<string, unknown> | undefined =>
  value === undefined || isObject(value);

function keysOf(a: Record<string, unknown> | undefined, b: Record<string, unknown> | undefined): Set<string> {
  return new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})]);
}

const at = (map: Record<string, unknown> | undefined, key: string): Value =>
  map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
