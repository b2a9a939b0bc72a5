/** Shorter texts repeat by chance. */
const MIN_REPEATED = 16;

/**
 * A text without what is shown elsewhere: a run, its stages and its workflows carry the message of the action that has
 * failed, and a reader finds it sooner where it stands once.
 *
 * @param shown the texts that stand elsewhere
 */
export function withoutRepeats(text: string, shown: readonly string[]): string {
  let short = text;
  for (const other of [...shown].sort((a, b) => b.length - a.length)) {
    if (other.length >= MIN_REPEATED) short = short.replaceAll(other, '');
  }
  return short === text ? text : short.replace(/[\s:;,("]+$/, '').trim();
}
