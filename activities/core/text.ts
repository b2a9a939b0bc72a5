/** A text from outside without control characters, which a terminal or a status might act on; line ends become spaces. */
export function printable(text: string): string {
  return withoutControls(text).replace(/\s+/g, ' ').trim();
}

/** A text from outside with its line ends and tabs, but without other control characters. */
export function withoutControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '');
}

/** Cuts a text to at most this many characters, never in the middle of one. */
export function cutText(text: string, characters: number, end = ''): string {
  // Two code units hold any character, so the first cut leaves enough and the second removes a half one.
  const all = [...text.slice(0, (characters + 1) * 2)];
  return all.length <= characters ? text : all.slice(0, characters).join('') + end;
}
