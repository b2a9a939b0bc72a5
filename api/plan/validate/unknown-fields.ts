import { z } from 'zod';
import { isObject } from '../../core/json.js';
import { drKind } from '../kinds.js';
import type { DrKind } from '../kinds.js';
import type { Problem } from '../../core/problem.js';
import { rollbackSchema } from '../schema/actions/action.js';
import { member, warning } from './fields.js';

const MAX_PROBLEMS = 100;

/**
 * Fields of a spec that its kind does not have. The API server drops them without a word unless the client asks for
 * strict checks, so a misspelt field does nothing: only what is read from files can still hold them. Reason
 * `UnknownField`, warnings; custom rollbacks, which are stored as they are, are walked too.
 *
 * @param spec a checked spec, or any value
 */
export function unknownFields(kind: DrKind, spec: unknown): Problem[] {
  const problems: Problem[] = [];
  walk(drKind(kind).spec, spec, 'spec', problems);
  return problems.slice(0, MAX_PROBLEMS);
}

function walk(schema: unknown, value: unknown, path: string, problems: Problem[]): void {
  if (problems.length >= MAX_PROBLEMS) return;
  if (schema instanceof z.ZodOptional) return walk(schema.unwrap(), value, path, problems);
  if (schema instanceof z.ZodArray) {
    if (!Array.isArray(value)) return;
    value.forEach((item, index) => walk(schema.element, item, member(path, index), problems));
    return;
  }
  if (!(schema instanceof z.ZodObject) || !isObject(value)) return;
  const { shape } = schema;
  // A catch-all marks a block that is stored as it is.
  const isOpen = schema.def.catchall !== undefined;
  for (const [key, item] of Object.entries(value)) {
    const where = member(path, key);
    if (key === 'rollback' && Object.hasOwn(shape, key)) {
      walk(rollbackSchema, item, where, problems);
    } else if (Object.hasOwn(shape, key)) {
      walk(shape[key], item, where, problems);
    } else if (!isOpen) {
      problems.push(unknown(where, key, Object.keys(shape)));
    }
  }
}

function unknown(path: string, key: string, fields: readonly string[]): Problem {
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z]/g, '');
  const wanted = plain(key);
  const near = fields.find(
    (field) => plain(field) === wanted || (wanted.length > 3 && isNear(plain(field), wanted)),
  );
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  return warning(path, 'UnknownField', `is no field of this object and is dropped when it is stored${hint}`);
}

/** One letter more, less, other, or two swapped. */
function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const rest = (text: string, skip: number): string => text.slice(at + skip);
  return (
    rest(a, 1) === rest(b, 1) ||
    rest(a, 1) === rest(b, 0) ||
    rest(a, 0) === rest(b, 1) ||
    (a[at] === b[at + 1] && a[at + 1] === b[at] && rest(a, 2) === rest(b, 2))
  );
}
