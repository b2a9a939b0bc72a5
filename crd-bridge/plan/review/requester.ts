/** The requester of an execution, kept on it: groups decide too, and are known at admission only. */
import { isObject, parseJson } from '../../../api/core/json.js';
import type { Subject } from './authority.js';

/** Longest record, in characters. Annotations of an object share 256 KiB, and caches hold them all. */
const MAX_CHARACTERS = 16 * 1024;

/**
 * Writes the record. If it is too long, parts are left out, extra first, then the last groups: that can only take
 * rights away, never give any.
 */
export function writeRequester(subject: Subject): string {
  const whole = JSON.stringify(subject);
  if (whole.length <= MAX_CHARACTERS) return whole;
  const { extra: _, groups = [], ...rest } = subject;
  let kept = groups;
  while (kept.length > 0 && JSON.stringify({ ...rest, groups: kept }).length > MAX_CHARACTERS) {
    kept = kept.slice(0, Math.floor(kept.length * 0.9));
  }
  return JSON.stringify({ ...rest, groups: kept });
}

/** Reads the record; undefined where there is none that can be read. */
export function readRequester(text: string | undefined): Subject | undefined {
  if (text === undefined) return undefined;
  const value = parseJson(text);
  if (!isObject(value) || typeof value.user !== 'string') return undefined;
  const { user, uid, groups, extra } = value;
  return {
    user,
    ...(typeof uid === 'string' && { uid }),
    ...(isTexts(groups) && { groups }),
    ...(isObject(extra) &&
      Object.values(extra).every(isTexts) && { extra: extra as Record<string, string[]> }),
  };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string');
