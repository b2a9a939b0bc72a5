/** Shorter texts repeat by chance. */
const MIN_REPEATED = 16;

/**
 * A text without what is told elsewhere: a run, its stages and its workflows carry the message of the action that has
 * failed, and told once it is found sooner.
 *
 * @param told the texts that stand elsewhere
 */
export function withoutRepeats(text: string, told: readonly string[]): string {
  let short = text;
  for (const other of [...told].sort((a, b) => b.length - a.length)) {
    if (other.length >= MIN_REPEATED) short = short.replaceAll(other, '');
  }
  return short === text ? text : short.replace(/[\s:;,("]+$/, '').trim();
}
