import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

/**
 * A text from outside as one printable line: messages carry what servers answered, and must not move the cursor,
 * change colours or forge lines.
 */
export function oneLine(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\r\n\t]+/g, ' ')
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
    .replace(/ {2,}/g, ' ')
    .trim();
}

/** Number of columns a text takes, colour codes left out: two for each wide character, one or two for what is joined. */
export const visibleWidth = (text: string): number => stringWidth(text);

/** A text without colour codes. */
export const plain = (text: string): string => stripVTControlCharacters(text);

/** Pads a text, which may hold colour codes, to a number of columns. */
export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - visibleWidth(text)));
}

/** Cuts a text without colour codes to a number of columns and marks the cut. */
export function cut(text: string, columns: number, unicode = true): string {
  if (visibleWidth(text) <= columns) return text;
  const mark = unicode ? '…' : '...';
  let room = Math.max(0, columns - mark.length);
  let head = '';
  // What a person sees as one character, such as a flag or a letter with its accents, is never cut in two.
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    room -= visibleWidth(segment);
    if (room < 0) break;
    head += segment;
  }
  return head + mark.slice(0, Math.max(0, columns));
}

/** A line that may hold colours, kept to a number of columns; one that is too long is cut and loses its colours. */
export function clip(line: string, columns: number, unicode = true): string {
  return visibleWidth(line) <= columns ? line : cut(plain(line), columns, unicode);
}

/** Fewest columns that a text is broken to. */
const MIN_COLUMNS = 10;

/** Breaks a text at spaces into lines of at most `columns`; a longer word is broken. */
export const wrap = (text: string, columns: number): string[] =>
  text === '' ? [] : wrapAnsi(text, Math.max(MIN_COLUMNS, columns), { hard: true }).split('\n');
