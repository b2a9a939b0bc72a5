/** What a server-side apply owns and takes away, by the field managers of an object. */
import { isDeepStrictEqual } from 'node:util';
import { ANNOTATIONS } from '../../../api/core/group.js';
import { isObject } from '../../../api/core/json.js';
import type { KubeObject, ManagedFields } from '../../../kube/object.js';
import { listed } from './ownership.js';
import { fieldPath, joinMasks } from './restore.js';
import type { Mask } from './restore.js';

/** Whether an entry is what the server-side apply of a manager owns. */
export const isAppliedBy =
  (manager: string) =>
  (entry: ManagedFields): boolean =>
    entry.manager === manager && entry.operation === 'Apply' && entry.subresource === undefined;

/** Whether a manager has written the mark of an action on an object, by anything but an apply. */
export function isMarkWrittenBy(object: KubeObject, manager: string): boolean {
  const key = ['f:metadata', 'f:annotations', `f:${ANNOTATIONS.key}`];
  return (object.metadata.managedFields ?? []).some(
    ({ manager: by, operation, fieldsV1 }) =>
      by === manager &&
      operation === 'Update' &&
      key.reduce<unknown>((fields, name) => (isObject(fields) ? fields[name] : undefined), fieldsV1) !==
        undefined,
  );
}

/**
 * The fields that were owned by server-side apply when an object was recorded: a further apply that left them out has
 * removed them. Undefined when there are none. A record keeps only entries of whoever was about to apply.
 */
export function recordedFields(object: KubeObject): Mask | undefined {
  const masks = (object.metadata.managedFields ?? []).flatMap(({ operation, fieldsV1 }) =>
    operation === 'Apply' && fieldsV1 !== undefined ? [maskOfFields(fieldsV1)] : [],
  );
  return masks.length === 0 ? undefined : masks.reduce(joinMasks);
}

/** Lists are one field, whatever of their elements is owned. */
function maskOfFields(fields: Record<string, unknown>): Mask {
  const inner: { [key: string]: Mask } = {};
  for (const [key, value] of Object.entries(fields)) {
    if (key === '.') continue;
    if (!key.startsWith('f:')) return true;
    inner[key.slice(2)] = isObject(value) ? maskOfFields(value) : true;
  }
  return Object.keys(inner).length === 0 ? true : inner;
}

/** A field that an apply has taken away. */
export interface TakenField {
  /** As a person writes it: `spec.replicas`, `spec.template.spec.containers[name="web"].env`. */
  path: string;
  /** What the server has put in its place; undefined = nothing. */
  now: unknown;
}

/**
 * What a server-side apply has taken away: fields that its manager owned before and no longer names. A field that
 * somebody else owns too has stayed as it was, and is not listed.
 */
export function takenAway(before: KubeObject | undefined, stored: KubeObject, manager: string): TakenField[] {
  const owned = (object: KubeObject | undefined): Record<string, unknown> | undefined =>
    object?.metadata.managedFields?.find(isAppliedBy(manager))?.fieldsV1;
  const had = owned(before);
  if (had === undefined) return [];
  const taken: TakenField[] = [];
  compare({ had, has: owned(stored), before, now: stored }, '', taken);
  return taken;
}

/** One place: the fields owned before and now, and the value before and now. */
interface Place {
  had: Record<string, unknown>;
  has: unknown;
  before: unknown;
  now: unknown;
}

function compare({ had, has, before, now }: Place, path: string, taken: TakenField[]): void {
  for (const [key, owned] of Object.entries(had)) {
    if (key === '.') continue;
    const inner: Record<string, unknown> = isObject(owned) ? owned : {};
    const isLeaf = Object.keys(inner).every((name) => name === '.');
    const still = isObject(has) ? has[key] : undefined;
    const [was, is] = [valueAt(before, key), valueAt(now, key)];
    if (was === undefined || (still !== undefined && isLeaf)) continue;
    const where = path + elementPath(path, key);
    if (is === undefined) taken.push({ path: where, now: undefined });
    else if (!isLeaf) compare({ had: inner, has: still, before: was, now: is }, where, taken);
    else if (!isDeepStrictEqual(was, is)) taken.push({ path: where, now: is });
  }
}

/** What an element of a field set names in a value: `f:name`, `k:{"name":"web"}`, `v:"text"`, `i:0`. */
function valueAt(value: unknown, element: string): unknown {
  const rest = element.slice(2);
  if (element.startsWith('f:'))
    return isObject(value) && Object.hasOwn(value, rest) ? value[rest] : undefined;
  if (!Array.isArray(value)) return undefined;
  const items = value as unknown[];
  if (element.startsWith('i:')) return items[Number(rest)];
  const wanted = JSON.parse(rest) as unknown;
  if (element.startsWith('v:')) return items.find((item) => isDeepStrictEqual(item, wanted));
  const keys = isObject(wanted) ? Object.entries(wanted) : [];
  return items.find(
    (item) => isObject(item) && keys.every(([key, text]) => isDeepStrictEqual(item[key], text)),
  );
}

function elementPath(path: string, element: string): string {
  const rest = element.slice(2);
  if (element.startsWith('f:')) {
    const name = fieldPath([rest]);
    return path === '' || name.startsWith('[') ? name : `.${name}`;
  }
  if (!element.startsWith('k:')) return `[${rest}]`;
  const keys = JSON.parse(rest) as Record<string, unknown>;
  return `[${Object.entries(keys)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',')}]`;
}

const NAMED_FIELDS = 8;

/** Fields for a message. What they hold now is shown where it cannot be a secret. */
export function describeTaken(taken: readonly TakenField[]): string {
  const names = taken.map(({ path, now }) =>
    typeof now === 'number' || typeof now === 'boolean' ? `${path} (now ${now})` : path,
  );
  return listed(names, NAMED_FIELDS);
}
