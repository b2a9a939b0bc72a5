import { startTimer } from '../../kube/long-timer.js';

/**
 * A signal that aborts together with another one, or after `ms` milliseconds.
 *
 * `AbortSignal.any` with `AbortSignal.timeout` would do, but Node 20 may collect both as garbage before the time is up:
 * then nothing ever aborts.
 */
export function boundedSignal(signal: AbortSignal, ms: number): AbortSignal {
  const controller = new AbortController();
  const endTimer = startTimer(
    ms,
    () => {
      controller.abort(new DOMException(`${ms} ms are over`, 'TimeoutError'));
    },
    { unref: true },
  );
  const follow = (): void => {
    endTimer();
    controller.abort(signal.reason);
  };
  if (signal.aborted) follow();
  else signal.addEventListener('abort', follow, { once: true, signal: controller.signal });
  return controller.signal;
}
