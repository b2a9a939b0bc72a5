import { isDeepStrictEqual } from 'node:util';

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** One operation of an RFC 6902 JSON patch. */
export interface PatchOperation {
  op: string;
  path: string;
  from?: string;
  value?: Json;
}

/** Merges a patch into a document as RFC 7386 says: null removes, lists are replaced whole. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: { [key: string]: Json } = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/**
 * Applies a JSON patch to a copy of a document, as Clusternet v0.18 does, which is not all as RFC 6902 says: `replace` of
 * a key that an object does not have adds it; an operation whose parent, or whose key to remove, does not exist ends the
 * patch and leaves the document as it was, silently.
 *
 * @throws Error for an unknown operation, a failed `test`, or a place in a list that there is not.
 */
export function jsonPatch(document: Json, operations: PatchOperation[]): Json {
  const holder: { root: Json } = { root: structuredClone(document) };
  for (const operation of operations) {
    if (!applyOperation(holder, operation)) return document;
  }
  return holder.root;
}

/** The value at a JSON pointer; undefined when there is none. */
export function readPath(document: Json, path: string): Json | undefined {
  return read({ root: document }, path);
}

const operations: ReadonlySet<string> = new Set(['add', 'replace', 'remove', 'test', 'copy', 'move']);

function applyOperation(holder: { root: Json }, operation: PatchOperation): boolean {
  const { op, path, value = null } = operation;
  const isWhole = path === '' && (op === 'replace' || op === 'test');
  if (!path.includes('/') && !isWhole && operations.has(op)) return false;
  switch (op) {
    case 'add':
      return write(holder, path, structuredClone(value), 'add');
    case 'replace':
      return write(holder, path, structuredClone(value), 'replace');
    case 'remove':
      return remove(holder, path);
    case 'test': {
      if (descend(holder, segments(path).slice(0, -1)) === undefined) return false;
      const current = read(holder, path) ?? null;
      if (!isDeepStrictEqual(current, value)) throw new Error(`JSON patch test failed at ${path}`);
      return true;
    }
    case 'copy':
    case 'move': {
      const from = operation.from ?? '';
      const parent = descend(holder, segments(from).slice(0, -1));
      const source = read(holder, from) ?? null;
      if (parent === undefined || (op === 'move' && !remove(holder, from))) return false;
      return write(holder, path, structuredClone(source), 'add');
    }
    default:
      throw new Error(`unknown JSON patch operation "${op}"`);
  }
}

function segments(path: string): string[] {
  // The document itself sits under one artificial name, so that every path has a parent.
  return ['root', ...path.split('/').slice(1)].map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function descend(from: Json, names: string[]): Json | undefined {
  let current: Json | undefined = from;
  for (const name of names) {
    if (Array.isArray(current)) current = /^\d+$/.test(name) ? current[Number(name)] : undefined;
    else if (isObject(current) && Object.hasOwn(current, name)) current = current[name];
    else return undefined;
  }
  return current;
}

function read(holder: { root: Json }, path: string): Json | undefined {
  return descend(holder, segments(path));
}

function write(holder: { root: Json }, path: string, value: Json, how: 'add' | 'replace'): boolean {
  const names = segments(path);
  const last = names.pop()!;
  const parent = descend(holder, names);
  if (Array.isArray(parent)) {
    if (how === 'add') {
      parent.splice(last === '-' ? parent.length : placeIn(parent, last, path, parent.length), 0, value);
      return true;
    }
    if (!/^\d+$/.test(last) || Number(last) >= parent.length) return false;
    parent.splice(Number(last), 1, value);
    return true;
  }
  if (!isObject(parent)) return false;
  parent[last] = value;
  return true;
}

function remove(holder: { root: Json }, path: string): boolean {
  const names = segments(path);
  const last = names.pop()!;
  const parent = descend(holder, names);
  if (Array.isArray(parent)) {
    parent.splice(placeIn(parent, last, path, parent.length - 1), 1);
    return true;
  }
  if (!isObject(parent) || !Object.hasOwn(parent, last)) return false;
  delete parent[last];
  return true;
}

function placeIn(list: Json[], name: string, path: string, limit: number): number {
  if (/^\d+$/.test(name) && Number(name) <= limit) return Number(name);
  throw new Error(`JSON patch path ${path}: there is no place ${name} in a list of ${list.length}`);
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
