/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Whether a value is a plain object: not null, not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads JSON that somebody else has written; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  // A null prototype, so that a key named __proto__ is data like any other.
  const copy = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(value).sort()) copy[key] = sorted(value[key]);
  return copy;
}

/** JSON with sorted keys and without spaces: equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}
