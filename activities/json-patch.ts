/** JSON patches (RFC 6902, RFC 7386) as far as it takes to tell what an override would do. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../api/json.js';

/** Merges a patch into a document: null removes, lists are replaced whole. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** What came of a JSON patch: the changed copy, or which operation did not find its place. */
export type Patched =
  { ok: true; document: unknown } | { ok: false; operation: number; path: string; why: 'missing' | 'test' };

/** Applies operations in order to a copy. Operations that are not valid are passed over: they are told elsewhere. */
export function applyJsonPatch(document: unknown, operations: readonly unknown[]): Patched {
  const holder = { root: structuredClone(document) };
  for (const [index, operation] of operations.entries()) {
    if (!isObject(operation) || typeof operation.path !== 'string') continue;
    const { op, path, value } = operation;
    const missing = (at: string): Patched => ({ ok: false, operation: index, path: at, why: 'missing' });
    switch (op) {
      case 'test':
        if (!isDeepStrictEqual(find(holder, path), value)) {
          return { ok: false, operation: index, path, why: 'test' };
        }
        break;
      case 'add':
      case 'replace':
        if (!set(holder, path, structuredClone(value), op)) return missing(path);
        break;
      case 'remove':
        if (!unset(holder, path)) return missing(path);
        break;
      case 'copy':
      case 'move': {
        const from = typeof operation.from === 'string' ? operation.from : '';
        const source = find(holder, from);
        if (source === undefined) return missing(from);
        if (op === 'move') unset(holder, from);
        if (!set(holder, path, structuredClone(source), 'add')) return missing(path);
        break;
      }
    }
  }
  return { ok: true, document: holder.root };
}

interface Holder {
  root: unknown;
}

/** Names on the way to a place, from the holder on. */
const namesOf = (path: string): string[] => [
  'root',
  ...path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')),
];

function walk(from: unknown, names: readonly string[]): unknown {
  let at = from;
  for (const name of names) {
    if (Array.isArray(at)) at = /^\d+$/.test(name) ? (at as unknown[])[Number(name)] : undefined;
    else at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at;
}

const find = (holder: Holder, path: string): unknown => walk(holder, namesOf(path));

function set(holder: Holder, path: string, value: unknown, how: 'add' | 'replace'): boolean {
  const names = namesOf(path);
  const last = names.pop() ?? '';
  const parent = walk(holder, names);
  if (Array.isArray(parent)) {
    const index = last === '-' && how === 'add' ? parent.length : /^\d+$/.test(last) ? Number(last) : NaN;
    if (!(index < parent.length + (how === 'add' ? 1 : 0))) return false;
    parent.splice(index, how === 'add' ? 0 : 1, value);
    return true;
  }
  if (!isObject(parent) || (how === 'replace' && !Object.hasOwn(parent, last))) return false;
  parent[last] = value;
  return true;
}

function unset(holder: Holder, path: string): boolean {
  const names = namesOf(path);
  const last = names.pop() ?? '';
  const parent = walk(holder, names);
  if (Array.isArray(parent)) {
    if (!/^\d+$/.test(last) || Number(last) >= parent.length) return false;
    parent.splice(Number(last), 1);
    return true;
  }
  if (!isObject(parent) || !Object.hasOwn(parent, last)) return false;
  delete parent[last];
  return true;
}
