/** From a value of unknown shape to a typed one, or to problems that name the field, the value and what is allowed. */
import type { z } from 'zod';
import { isObject } from './json.js';
import type { Problem } from './problem.js';

const MAX_DEPTH = 64;
const MAX_NODES = 200_000;
const MAX_PROBLEMS = 50;

/** An error at a field. */
export const error = (path: string, reason: string, message: string): Problem => ({
  severity: 'error',
  path,
  reason,
  message,
});

/** A warning at a field. */
export const warning = (path: string, reason: string, message: string): Problem => ({
  severity: 'warning',
  path,
  reason,
  message,
});

/** Field path of a member. */
export function member(path: string, key: PropertyKey): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  const name = String(key);
  if (!/^[\w-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** A value for a message: short, in JSON. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isObject(value)) return 'an object';
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/**
 * Refuses what no later check should walk through: more than 64 levels or 200,000 values. Iterative, as the stack is
 * what it protects. Reason `TooComplex`.
 */
export function checkBounds(value: unknown, path: string): Problem[] {
  let nodes = 0;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    nodes += level.length;
    if (depth > MAX_DEPTH)
      return [error(path, 'TooComplex', `is nested more than ${MAX_DEPTH} levels deep; flatten it`)];
    if (nodes > MAX_NODES)
      return [error(path, 'TooComplex', `holds more than ${MAX_NODES} values; split it`)];
    level = level.flatMap((item): unknown[] => {
      if (Array.isArray(item)) return item as unknown[];
      return isObject(item) ? Object.values(item) : [];
    });
  }
  return [];
}

/** A checked value, or what is wrong with it. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: Problem[] };

/** Reads a value by its schema; reason `InvalidField`. */
export function readField<T>(schema: z.ZodType<T>, value: unknown, path: string): Parsed<T> {
  const bounds = checkBounds(value, path);
  if (bounds.length > 0) return { ok: false, problems: bounds };
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  const problems = result.error.issues.slice(0, MAX_PROBLEMS).map((issue) => {
    const where = issue.path.reduce<string>(member, path);
    return error(where, 'InvalidField', describeIssue(issue, where));
  });
  return { ok: false, problems };
}

/** The spec of an object of unknown shape. */
export function readSpec<T>(schema: z.ZodType<T>, object: unknown, kind: string): Parsed<T> {
  if (!isObject(object)) {
    return {
      ok: false,
      problems: [error('', 'InvalidField', `is ${show(object)}; must be an object of kind ${kind}`)],
    };
  }
  return readField(schema, object.spec, 'spec');
}

function describeIssue(issue: z.core.$ZodIssue, path: string): string {
  const found = show(issue.input);
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `is missing; must be ${article(issue.expected)}`
        : `is ${found}; must be ${article(issue.expected)}`;
    case 'invalid_value':
      return `is ${found}; allowed are ${issue.values.map(String).join(', ')}`;
    case 'invalid_format':
      return issue.format === 'regex'
        ? `is ${found}; ${wordsOf(issue) ?? `must match ${issue.pattern}`}`
        : `is ${found}; must be a ${issue.format}`;
    case 'too_small':
      return sizeMessage(issue, issue.origin, 'at least', issue.minimum);
    case 'too_big':
      return sizeMessage(issue, issue.origin, 'at most', issue.maximum);
    case 'invalid_union':
      return `is ${found}; ${wordsOf(issue) ?? 'has none of the forms that are allowed here'}`;
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
      return `${path === '' ? 'the object' : 'the value'} is not valid: ${issue.message}`;
  }
}

/** What a schema says itself about a value that does not fit; the library's own texts all begin alike. */
const wordsOf = ({ message }: z.core.$ZodIssue): string | undefined =>
  message.startsWith('Invalid ') ? undefined : message;

function sizeMessage(issue: z.core.$ZodIssue, origin: string, bound: string, limit: number | bigint): string {
  const { input } = issue;
  if (origin === 'array' && Array.isArray(input)) {
    return input.length === 0
      ? `is empty; needs ${bound} ${limit}`
      : `has ${input.length} entries; allowed are ${bound} ${limit}`;
  }
  if (origin === 'string' && typeof input === 'string') {
    return input === ''
      ? 'is empty; must not be'
      : `has ${input.length} characters; allowed are ${bound} ${limit}`;
  }
  return `is ${show(input)}; must be ${bound} ${limit}`;
}

const ARTICLES: Record<string, string> = {
  string: 'text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'a map of text',
};

const article = (type: string): string => ARTICLES[type] ?? type;
