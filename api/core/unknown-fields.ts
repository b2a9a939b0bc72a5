import { z } from 'zod';
import { member, warning } from './fields.js';
import { isObject } from './json.js';
import type { Problem } from './problem.js';

const MAX_PROBLEMS = 100;

/** Schema of a field that is checked more closely than its own schema says; undefined where that counts. */
export type CloserSchema = (field: string) => z.ZodType | undefined;

/**
 * Fields of a value that its schema does not have. The API server drops them without a word unless the client asks for
 * strict checks, so a misspelt field does nothing: only what is read from files can still hold them. Reason
 * `UnknownField`, warnings, at most 100.
 *
 * @param value a checked value, or any other
 */
export function unknownFieldsIn(
  schema: z.ZodType,
  value: unknown,
  path: string,
  closer: CloserSchema = () => undefined,
): Problem[] {
  const problems: Problem[] = [];
  const walk = (within: unknown, found: unknown, at: string): void => {
    if (problems.length >= MAX_PROBLEMS) return;
    if (within instanceof z.ZodOptional || within instanceof z.ZodNullable) {
      return walk(within.unwrap(), found, at);
    }
    if (within instanceof z.ZodArray) {
      if (Array.isArray(found)) found.forEach((item, index) => walk(within.element, item, member(at, index)));
      return;
    }
    if (!isObject(found)) return;
    if (within instanceof z.ZodRecord) {
      for (const [key, item] of Object.entries(found)) walk(within.valueType, item, member(at, key));
    }
    if (!(within instanceof z.ZodObject)) return;
    const { shape } = within;
    // A catch-all marks a block that is stored as it is.
    const isOpen = within.def.catchall !== undefined;
    for (const [key, item] of Object.entries(found)) {
      const where = member(at, key);
      if (Object.hasOwn(shape, key)) walk(closer(key) ?? shape[key], item, where);
      else if (!isOpen) problems.push(unknown(where, key, Object.keys(shape)));
    }
  };
  walk(schema, value, path);
  return problems.slice(0, MAX_PROBLEMS);
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
