/**
 * Puts back what an action changed, and nothing else: only fields that it changed, and only while they hold its values
 * (plan semantics, §3 prior state). Pure: values in, values out. Maps are compared key by key, lists as a whole.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../api/json.js';

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
  | { kind: 'patch'; patch: unknown }
  | { kind: 'conflict'; conflicts: RestoreConflict[] };

/**
 * Plans the restore of one object.
 *
 * @param states.mask fields that the action wrote; changes outside it were made by others between the two readings
 *   and are kept
 */
export function planRestore(states: {
  prior: Value;
  after: Value;
  current: Value;
  mask?: Mask | undefined;
}): RestorePlan {
  const conflicts: RestoreConflict[] = [];
  const prior = project(states.prior, states.after, states.mask ?? true);
  const desired = restore(prior, states.after, states.current, [], conflicts);
  if (conflicts.length > 0) return { kind: 'conflict', conflicts };
  if (isDeepStrictEqual(desired, states.current)) return { kind: 'nothing' };
  return { kind: 'patch', patch: mergePatchOf(states.current, desired) };
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

/** A field path as a person writes it. */
export function fieldPath(path: readonly string[]): string {
  return path.reduce((text, key) => {
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key)) return `${text}[${JSON.stringify(key)}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}

/** `prior` with everything outside the mask as it is in `after`. */
function project(prior: Value, after: Value, mask: Mask): Value {
  if (mask === true) return prior;
  if (!isMapOrAbsent(prior) || !isMapOrAbsent(after)) return prior;
  const result: Record<string, unknown> = {};
  for (const key of keysOf(prior, after)) {
    const inner = Object.hasOwn(mask, key) ? mask[key] : undefined;
    const value = inner === undefined ? at(after, key) : project(at(prior, key), at(after, key), inner);
    if (value !== undefined) result[key] = value;
  }
  return prior === undefined && Object.keys(result).length === 0 ? undefined : result;
}

function restore(
  prior: Value,
  after: Value,
  current: Value,
  path: readonly string[],
  conflicts: RestoreConflict[],
): Value {
  if (isDeepStrictEqual(prior, after)) return current;
  if (isDeepStrictEqual(current, after)) return prior;
  if (isDeepStrictEqual(current, prior)) return current;
  if (!isMapOrAbsent(prior) || !isMapOrAbsent(after) || !isMapOrAbsent(current)) {
    conflicts.push({ field: fieldPath(path), expected: after, found: current, prior });
    return current;
  }
  const result: Record<string, unknown> = {};
  for (const key of new Set([...keysOf(prior, after), ...keysOf(current, undefined)])) {
    const value = restore(at(prior, key), at(after, key), at(current, key), [...path, key], conflicts);
    if (value !== undefined) result[key] = value;
  }
  // A map that the action brought in goes with its last key: an empty selector is not the same as none.
  return prior === undefined && Object.keys(result).length === 0 ? undefined : result;
}

const isMapOrAbsent = (value: Value): value is Record<string, unknown> | undefined =>
  value === undefined || isObject(value);

function keysOf(a: Record<string, unknown> | undefined, b: Record<string, unknown> | undefined): Set<string> {
  return new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})]);
}

const at = (map: Record<string, unknown> | undefined, key: string): Value =>
  map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
