import { startTimer } from '../../kube/long-timer.js';

/**
 * Does work with a signal that aborts together with another one, or after `ms` milliseconds. When the work has ended, it
 * lets go of both: one signal may bound any number of works, one after the other.
 *
 * `AbortSignal.any` with `AbortSignal.timeout` would do, but Node 20 may collect both as garbage before the time is up:
 * then nothing ever aborts.
 */
export async function withBoundedSignal<T>(
  signal: AbortSignal,
  ms: number,
  work: (bounded: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const endTimer = startTimer(
    ms,
    () => {
      controller.abort(new DOMException(`${ms} ms are over`, 'TimeoutError'));
    },
    { unref: true },
  );
  const follow = (): void => {
    controller.abort(signal.reason);
  };
  if (signal.aborted) follow();
  else signal.addEventListener('abort', follow, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    endTimer();
    signal.removeEventListener('abort', follow);
  }
}
