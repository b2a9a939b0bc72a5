/**
 * When an API server refuses an object, its message repeats parts of the object, whole manifests among them. None of
 * that may get into a log, a status or an Event.
 */

/** Longest value that is repeated, in characters: names, and what is wrong about them, are shorter. */
const MAX_ECHO = 256;
/** Longest message; its end says what was wrong. */
const MAX_MESSAGE = 4000;
const END = 500;

/**
 * A message without the objects of refused patches, and with every long value that it repeats, quoted or in braces,
 * replaced by its size.
 */
export function withoutEcho(text: string): string {
  const message = withoutPatched(text);
  if (message.length <= MAX_ECHO) return message;
  let kept = '';
  let at = 0;
  for (const { start, end } of valuesIn(message)) {
    if (end - start <= MAX_ECHO || start < at) continue;
    kept += message.slice(at, start) + sizeText(end - start);
    at = end;
  }
  kept += message.slice(at);
  if (kept.length <= MAX_MESSAGE) return kept;
  const left = kept.length - MAX_MESSAGE;
  return `${kept.slice(0, MAX_MESSAGE - END)}… ${sizeText(left)} …${kept.slice(-END)}`;
}

/**
 * For a patch that does not fit its kind, an API server repeats the whole object that would result, however short: a
 * Secret with all it holds. For a value of the wrong type, it repeats the value.
 */
function withoutPatched(text: string): string {
  const quoted = /^(\s*"" is invalid: patch: )?Invalid value: "(?:[^"\\]|\\.)*": /s.exec(text);
  if (quoted !== null) {
    const rest = text.slice(quoted[0].length);
    if (quoted[1] !== undefined) return `the patch does not fit the kind: ${rest}`;
    if (/^(strict decoding error|json): /.test(rest)) return rest;
  }
  const item = / does not contain declared merge key: (.*)$/s.exec(text);
  if (item !== null && text.startsWith('map: ')) return `an item of a list has no ${item[1]}`;
  return text.replaceAll(/&value\.valueUnstructured\{[^\n]*\}$/gm, 'something else');
}

const sizeText = (characters: number): string => `(${characters} characters)`;

interface Span {
  start: number;
  end: number;
}

/** Quoted texts and braced values, the outer before the inner. In one pass: the text may have megabytes. */
function valuesIn(text: string): Span[] {
  const found: Span[] = [];
  const open: number[] = [];
  let quote: number | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (quote !== undefined) {
      if (character === '\\') at += 1;
      else if (character === '"') {
        found.push({ start: quote, end: at + 1 });
        quote = undefined;
      }
    } else if (character === '"') quote = at;
    else if (character === '{') open.push(at);
    else if (character === '}') {
      const start = open.pop();
      if (start !== undefined) found.push({ start, end: at + 1 });
    }
  }
  // A value that is cut off in the middle is a value all the same; a brace in prose is none.
  const start = Math.min(quote ?? text.length, open[0] ?? text.length);
  if (quote !== undefined || text.length - start > MAX_MESSAGE) found.push({ start, end: text.length });
  return found.sort((a, b) => a.start - b.start || b.end - a.end);
}
