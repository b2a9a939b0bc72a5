import type { Position } from './locate.js';

/** A position in a file. */
export interface Place extends Position {
  file: string;
}

/** Puts what was found in the order in which it stands: by file, as they were given, then line and column. */
export function byPlace(files: readonly string[]): (a: Place, b: Place) => number {
  const rank = new Map(files.map((file, index) => [file, index]));
  // A file that could not be read at all is none of them.
  const of = (file: string): number => rank.get(file) ?? -1;
  return (a, b) =>
    of(a.file) - of(b.file) || a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column;
}
