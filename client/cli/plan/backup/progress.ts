/** Lines for a person who waits: none for what is quick. */

const EVERY_MS = 2_000;

/**
 * Makes a reporter that prints at most every two seconds, and nothing in the first two.
 *
 * @param options.now milliseconds of a clock
 */
export function createProgress(options: {
  note: (text: string) => void;
  now?: () => number;
}): (text: () => string) => void {
  const { note, now = () => performance.now() } = options;
  let last = now();
  return (text) => {
    if (now() - last < EVERY_MS) return;
    last = now();
    note(text());
  };
}
