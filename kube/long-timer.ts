/** Longest time that a timer of Node takes, in milliseconds; with more it fires at once. */
const MAX_MS = 2 ** 31 - 1;

/**
 * Calls back once after a time of any length.
 *
 * @returns a function that ends the timer
 */
export function startTimer(ms: number, fire: () => void, options: { unref?: boolean } = {}): () => void {
  let left = ms;
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const next = Math.min(left, MAX_MS);
    left -= next;
    timer = setTimeout(left > 0 ? arm : fire, next);
    if (options.unref === true) timer.unref();
  };
  arm();
  return () => {
    clearTimeout(timer);
  };
}
