/** Least and most time between two heartbeats of an attempt, in milliseconds (S3.10). */
const MIN_MS = 400;
const MAX_MS = 1_000;
/** What each running attempt adds: a heartbeat costs some 3 CPU milliseconds, the server's part counted. */
const PER_ATTEMPT_MS = 25;

/**
 * How often the attempts of a worker give a sign of life. A cancel arrives with the answer to one, so a few are
 * frequent; many keep to once a second.
 */
export interface Heartbeats {
  /** Counts an attempt in; the answer counts it out again. */
  begin(): () => void;
  /** Milliseconds until the next heartbeat of any attempt. */
  intervalMs(): number;
}

/** Heartbeats of one worker. */
export function createHeartbeats(): Heartbeats {
  let running = 0;
  return {
    begin() {
      running += 1;
      let ended = false;
      return () => {
        if (!ended) running -= 1;
        ended = true;
      };
    },
    intervalMs: () => Math.min(MAX_MS, Math.max(MIN_MS, running * PER_ATTEMPT_MS)),
  };
}

/** Heartbeats that keep to one pace, in milliseconds, however many attempts there are: of waits. */
export const steadyHeartbeats = (intervalMs: number): Heartbeats => ({
  begin: () => () => undefined,
  intervalMs: () => intervalMs,
});
