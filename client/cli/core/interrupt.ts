/** Turns Ctrl-C and SIGTERM into an abort. The second Ctrl-C ends the program at once, as it always does. */
export function onInterrupt(): { signal: AbortSignal; interrupted(): boolean; dispose(): void } {
  const controller = new AbortController();
  let wasInterrupted = false;
  const stop = (): void => {
    wasInterrupted = true;
    controller.abort();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  return {
    signal: controller.signal,
    interrupted: () => wasInterrupted,
    dispose() {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
      controller.abort();
    },
  };
}
