import type { Style } from './style.js';
import { oneLine } from './text.js';

/** Name and value; absent and empty values are left out. */
export type Field = readonly [name: string, value: string | undefined];

/** Fields in two columns. Values may hold colours; text from outside must have been made safe. */
export function fieldLines(fields: readonly Field[], style: Style): string[] {
  const shown = fields.filter(([, value]) => value !== undefined && value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${style.dim(`${name}:`.padEnd(width + 1))} ${value}`);
}

/** A time with how long ago it was. */
export function timeWithAge(time: string | undefined, ageText: string): string | undefined {
  return time === undefined ? undefined : `${oneLine(time)} (${ageText} ago)`;
}
