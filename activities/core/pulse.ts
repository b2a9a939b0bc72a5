import { Context } from '@temporalio/activity';
import type { ActivityCancellationDetails } from '@temporalio/common';
import { startTimer } from '../../kube/long-timer.js';
import { StaleAttempt } from './handler.js';
import type { AbortReason } from './handler.js';
import type { Heartbeats } from './heartbeats.js';

/** Silence after which the server has given an attempt up, unless the activity was scheduled with another. */
const DEFAULT_HEARTBEAT_TIMEOUT_MS = 8000;

/** The sign of life of one attempt, and what ends it early. */
export interface Pulse {
  /** Aborted with an {@link AbortReason}. */
  signal: AbortSignal;
  /** Milliseconds since the epoch at which the attempt times out. */
  deadline: number;
  /** Whether {@link Pulse.beforeEffect} was passed. */
  effectBegan: boolean;
  /** Throws {@link StaleAttempt} when the process stood still for longer than the server waits. */
  beforeEffect(): void;
  stop(): void;
}

/**
 * Heartbeats with `details()` (S3.10), and turns cancel, timeout, shutdown and pause into one signal.
 * Must be called inside an activity; `stop` must be called when the attempt ends.
 */
export function startPulse(options: {
  timeoutMs: number;
  details: () => unknown;
  heartbeats: Heartbeats;
}): Pulse {
  const context = Context.current();
  const limit = context.info.heartbeatTimeoutMs ?? DEFAULT_HEARTBEAT_TIMEOUT_MS;
  const controller = new AbortController();
  const abort = (reason: AbortReason): void => {
    if (!controller.signal.aborted) controller.abort(reason);
  };

  // One clock may be set back while the process stands still, the other stops while the machine sleeps.
  let last = { wall: Date.now(), monotonic: performance.now() };
  let stale = false;
  const look = (): boolean => {
    const now = { wall: Date.now(), monotonic: performance.now() };
    stale ||= now.wall - last.wall > limit || now.monotonic - last.monotonic > limit;
    last = now;
    return stale;
  };

  const { heartbeats } = options;
  // Whoever scheduled the activity, an earlier release perhaps, has said how long it waits for a sign.
  const pauseMs = (): number => Math.min(heartbeats.intervalMs(), limit / 3);
  const ended = heartbeats.begin();
  const beat = (): void => {
    if (look()) {
      abort('shutdown');
      return;
    }
    context.heartbeat(options.details());
    heart = setTimeout(beat, pauseMs());
  };
  let heart = setTimeout(beat, pauseMs());
  const endTimeout = startTimer(options.timeoutMs, () => abort('timeout'));
  const onCancel = (): void => abort(reasonOf(context.cancellationDetails));
  context.cancellationSignal.addEventListener('abort', onCancel, { once: true });
  if (context.cancellationSignal.aborted) onCancel();

  const pulse: Pulse = {
    signal: controller.signal,
    deadline: Date.now() + options.timeoutMs,
    effectBegan: false,
    beforeEffect() {
      if (look()) {
        throw new StaleAttempt(
          `this process stood still for more than ${limit} ms; another attempt may have taken over`,
        );
      }
      pulse.effectBegan = true;
    },
    stop() {
      ended();
      clearTimeout(heart);
      endTimeout();
      context.cancellationSignal.removeEventListener('abort', onCancel);
    },
  };
  return pulse;
}

/** An attempt that the server no longer waits for must leave the effect to its successor, whatever else was asked. */
function reasonOf(details: ActivityCancellationDetails | undefined): AbortReason {
  if (details?.notFound === true || details?.timedOut === true) return 'shutdown';
  if (details?.cancelRequested === true) return 'cancelled';
  if (details?.paused === true || details?.reset === true) return 'paused';
  return 'shutdown';
}
