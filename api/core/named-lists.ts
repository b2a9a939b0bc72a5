/** Lists whose items have names, such as containers, and what is lost of them when they are replaced as a whole. */
import { isObject } from './json.js';

/** Whether a list holds items that are told apart by name. */
export const hasNames = (value: unknown): value is Record<string, unknown>[] =>
  Array.isArray(value) && value.length > 0 && value.every(isNamed);

const isNamed = (item: unknown): boolean =>
  isObject(item) && typeof item.name === 'string' && item.name !== '';

/** A list that a JSON merge patch puts in the place of another. */
export interface ReplacedList {
  /** As a person writes it: `spec.template.spec.containers`. */
  path: string;
  names: string[];
}

/** The lists of named items in a JSON merge patch; those within such a list come with it. */
export function namedLists(patch: unknown, path = ''): ReplacedList[] {
  if (hasNames(patch)) return [{ path, names: patch.map(({ name }) => String(name)) }];
  if (!isObject(patch)) return [];
  return Object.entries(patch).flatMap(([key, value]) => namedLists(value, memberPath(path, key)));
}

/** What a list has lost. */
export interface LostItems {
  path: string;
  /** Names of items that are not there any more. */
  items: string[];
  /** Fields that the remaining items have lost, by the items' names. */
  fields: { item: string; fields: string[] }[];
}

/**
 * What lists of named items have lost between two states of an object.
 *
 * @param patch only lists that it writes are looked at
 */
export function lostItems(patch: unknown, before: unknown, after: unknown, path = ''): LostItems[] {
  if (Array.isArray(patch)) {
    const lost = hasNames(before) ? lossOf(before, after, path) : undefined;
    return lost === undefined ? [] : [lost];
  }
  if (!isObject(patch) || !isObject(before)) return [];
  const now = isObject(after) ? after : {};
  return Object.entries(patch).flatMap(([key, value]) =>
    lostItems(value, before[key], now[key], memberPath(path, key)),
  );
}

function lossOf(
  before: readonly Record<string, unknown>[],
  after: unknown,
  path: string,
): LostItems | undefined {
  const left = new Map<unknown, unknown>(
    (Array.isArray(after) ? (after as unknown[]) : []).map((item) => [
      isObject(item) ? item.name : undefined,
      item,
    ]),
  );
  const items = before.filter(({ name }) => !left.has(name)).map(({ name }) => String(name));
  const fields = before.flatMap((item) => {
    const gone = left.has(item.name) ? lostFields(item, left.get(item.name), '') : [];
    return gone.length === 0 ? [] : [{ item: String(item.name), fields: gone }];
  });
  return items.length + fields.length === 0 ? undefined : { path, items, fields };
}

/** Fields of a value that another one lacks; changed values are no losses. */
function lostFields(before: unknown, after: unknown, path: string): string[] {
  if (hasNames(before)) {
    const left = new Map(
      (Array.isArray(after) ? (after as unknown[]) : []).map((item) => [
        isObject(item) ? item.name : undefined,
        item,
      ]),
    );
    return before.flatMap((item) => {
      const where = `${path}[${String(item.name)}]`;
      return left.has(item.name) ? lostFields(item, left.get(item.name), where) : [where];
    });
  }
  if (!isObject(before)) return [];
  const now = isObject(after) ? after : {};
  return Object.entries(before).flatMap(([key, value]) => {
    const where = memberPath(path, key);
    return Object.hasOwn(now, key) ? lostFields(value, now[key], where) : [where];
  });
}

const MAX_LISTED = 8;

/** Losses for a message: `spec.template.spec.containers lost item "sidecar", and of "web": env, ports`. */
export function describeLosses(losses: readonly LostItems[]): string {
  return losses
    .map(({ path, items, fields }) => {
      const parts = [
        items.length === 0
          ? undefined
          : `${items.length === 1 ? 'item' : 'items'} ${listed(items.map((name) => JSON.stringify(name)))}`,
        ...fields.slice(0, MAX_LISTED).map((one) => `of ${JSON.stringify(one.item)}: ${listed(one.fields)}`),
      ];
      return `${path}: ${parts.filter((part) => part !== undefined).join('; ')}`;
    })
    .join(', ');
}

/** How the rest of a list is kept. */
export const KEEP_THE_REST =
  'patchType: strategic (for kinds of Kubernetes itself) or operation Apply keep what is not written';

function listed(names: readonly string[]): string {
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : '';
  return `${names.slice(0, MAX_LISTED).join(', ')}${more}`;
}

const memberPath = (path: string, key: string): string => {
  if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
};
