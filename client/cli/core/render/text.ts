import stringWidth from 'string-width';

// Built from numbers, so that no control character stands in this file.
const ESCAPE = String.fromCharCode(27);
const COLOR_CODES = new RegExp(`${ESCAPE}\\[[0-9;]*m`, 'g');
const CONTROL_SEQUENCES = new RegExp(`${ESCAPE}\\[[0-9;?]*[ -/]*[@-~]`, 'g');

/**
 * A text from outside as one printable line: messages carry what servers answered, and must not move the cursor,
 * change colours or forge lines.
 */
export function oneLine(text: string): string {
  return text
    .replace(CONTROL_SEQUENCES, '')
    .replace(/[\r\n\t]+/g, ' ')
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
    .replace(/ {2,}/g, ' ')
    .trim();
}

/** Number of columns a text takes, colour codes left out: two for each wide character, one or two for what is joined. */
export function visibleWidth(text: string): number {
  const bare = plain(text);
  return PRINTABLE_ASCII.test(bare) ? bare.length : stringWidth(bare);
}

const PRINTABLE_ASCII = /^[ -~]*$/;

/** What a person sees as one character, such as a flag or a letter with its accents. */
function charactersOf(text: string): string[] {
  return PRINTABLE_ASCII.test(text)
    ? [...text]
    : Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

/** The beginning of a text that fits into a number of columns, and the rest. */
function splitAt(text: string, columns: number): [string, string] {
  let width = 0;
  let head = '';
  for (const character of charactersOf(text)) {
    width += visibleWidth(character);
    if (width > columns) break;
    head += character;
  }
  return [head, text.slice(head.length)];
}

/** A text without colour codes. */
export const plain = (text: string): string => text.replace(COLOR_CODES, '');

/** Pads a text, which may hold colour codes, to a number of columns. */
export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - visibleWidth(text)));
}

/** Cuts a text without colour codes to a number of columns and marks the cut. */
export function cut(text: string, columns: number, unicode = true): string {
  if (visibleWidth(text) <= columns) return text;
  const mark = unicode ? '…' : '...';
  return splitAt(text, Math.max(0, columns - mark.length))[0] + mark.slice(0, Math.max(0, columns));
}

/** A line that may hold colours, kept to a number of columns; one that is too long is cut and loses its colours. */
export function clip(line: string, columns: number, unicode = true): string {
  return visibleWidth(line) <= columns ? line : cut(plain(line), columns, unicode);
}

/** Breaks a text at spaces into lines of at most `columns`; a longer word is broken. */
export function wrap(text: string, columns: number): string[] {
  const width = Math.max(10, columns);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && visibleWidth(line) + 1 + visibleWidth(word) > width) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
    while (visibleWidth(line) > width) {
      const [head, rest] = splitAt(line, width);
      lines.push(head);
      line = rest;
    }
  }
  if (line !== '') lines.push(line);
  return lines;
}
