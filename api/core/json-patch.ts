/** JSON patches (RFC 6902, RFC 7386) as far as it takes to tell what an override would do. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from './json.js';

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

/** An operation, and the place that it names. */
export interface PatchPlace {
  operation: number;
  path: string;
}

/**
 * What came of a JSON patch: the changed copy and the replaced keys that were not there, or which operation ended it and
 * the document as it was then. Clusternet v0.18 passes over a whole patch that ends with `missing`, and deploys nothing at
 * all after `test` and `index`.
 */
export type Patched =
  | { ok: true; document: unknown; added: PatchPlace[] }
  | ({ ok: false; why: 'missing' | 'test' | 'index'; document: unknown } & PatchPlace);

type Outcome = 'done' | 'added' | 'missing' | 'test' | 'index';

/** Applies operations in order to a copy. Invalid operations are passed over: they are reported elsewhere. */
export function applyJsonPatch(document: unknown, operations: readonly unknown[]): Patched {
  const holder = { root: structuredClone(document) };
  const added: PatchPlace[] = [];
  for (const [index, operation] of operations.entries()) {
    if (!isObject(operation) || typeof operation.path !== 'string') continue;
    const { path, from } = operation;
    const outcome = applyOperation(holder, operation, path);
    const fromThere = outcome === 'missing' && typeof from === 'string' && find(holder, from) === undefined;
    const place = { operation: index, path: fromThere ? from : path };
    if (outcome === 'added') added.push(place);
    else if (outcome !== 'done') return { ok: false, why: outcome, document: holder.root, ...place };
  }
  return { ok: true, document: holder.root, added };
}

function applyOperation(holder: Holder, operation: Record<string, unknown>, path: string): Outcome {
  const { op, value } = operation;
  switch (op) {
    case 'test':
      if (walk(holder, namesOf(path).slice(0, -1)) === undefined) return 'missing';
      return isDeepStrictEqual(find(holder, path), value) ? 'done' : 'test';
    case 'add':
    case 'replace':
      return set(holder, path, structuredClone(value), op);
    case 'remove':
      return unset(holder, path);
    case 'copy':
    case 'move': {
      const from = typeof operation.from === 'string' ? operation.from : '';
      const source = find(holder, from);
      if (source === undefined) return 'missing';
      if (op === 'move') unset(holder, from);
      return set(holder, path, structuredClone(source), 'add');
    }
    default:
      return 'done';
  }
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

/** The longest start of a path that leads to a value in a document, and that value. */
export function nearest(document: unknown, path: string): { path: string; value: unknown } {
  const names = path.split('/').slice(1);
  for (let length = names.length; length > 0; length -= 1) {
    const reached = `/${names.slice(0, length).join('/')}`;
    const value = find({ root: document }, reached);
    if (value !== undefined) return { path: reached, value };
  }
  return { path: '', value: document };
}

const find = (holder: Holder, path: string): unknown => walk(holder, namesOf(path));

function set(holder: Holder, path: string, value: unknown, how: 'add' | 'replace'): Outcome {
  const names = namesOf(path);
  const last = names.pop() ?? '';
  const parent = walk(holder, names);
  if (Array.isArray(parent)) {
    const index = last === '-' && how === 'add' ? parent.length : /^\d+$/.test(last) ? Number(last) : NaN;
    if (!(index < parent.length + (how === 'add' ? 1 : 0))) return how === 'add' ? 'index' : 'missing';
    parent.splice(index, how === 'add' ? 0 : 1, value);
    return 'done';
  }
  if (!isObject(parent)) return 'missing';
  const isNew = !Object.hasOwn(parent, last);
  parent[last] = value;
  return how === 'replace' && isNew ? 'added' : 'done';
}

function unset(holder: Holder, path: string): Outcome {
  const names = namesOf(path);
  const last = names.pop() ?? '';
  const parent = walk(holder, names);
  if (Array.isArray(parent)) {
    if (!/^\d+$/.test(last) || Number(last) >= parent.length) return 'index';
    parent.splice(Number(last), 1);
    return 'done';
  }
  if (!isObject(parent) || !Object.hasOwn(parent, last)) return 'missing';
  delete parent[last];
  return 'done';
}
