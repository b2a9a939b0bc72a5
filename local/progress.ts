/**
 * What `up`, `down` and the binary search report while they work. The library
 * itself prints nothing; the caller turns these into lines or a spinner.
 */
export type ProgressEvent =
  /** Something began or a short step was taken: worth one line. */
  | { kind: 'step'; subject: string; message: string }
  /** Something long still goes on (a build, a download, a wait); comes about once a second. */
  | { kind: 'busy'; subject: string; message: string; elapsedSeconds: number }
  /** Something is finished. */
  | { kind: 'done'; subject: string; message: string; elapsedSeconds: number }
  /** Something a person should know, though nothing is wrong. */
  | { kind: 'notice'; subject: string; message: string };

/** Receives {@link ProgressEvent}s. Must not throw. */
export type Progress = (event: ProgressEvent) => void;

/**
 * Waits for all, also when one fails, so that nothing goes on unseen after an error.
 *
 * @throws the first failure, in the order given.
 */
export async function allOf(work: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) {
    if (result.status === 'rejected') throw result.reason;
  }
}

/** Runs `work` between a `step` and a `done` event, with a `busy` event every second. */
export async function reported<T>(
  progress: Progress,
  subject: string,
  message: string,
  work: () => Promise<T>,
  doneMessage: (result: T) => string = () => 'done',
): Promise<T> {
  const started = Date.now();
  const elapsed = (): number => Math.round((Date.now() - started) / 100) / 10;
  progress({ kind: 'step', subject, message });
  const timer = setInterval(
    () => progress({ kind: 'busy', subject, message, elapsedSeconds: Math.round(elapsed()) }),
    1000,
  );
  try {
    const result = await work();
    progress({ kind: 'done', subject, message: doneMessage(result), elapsedSeconds: elapsed() });
    return result;
  } finally {
    clearInterval(timer);
  }
}
