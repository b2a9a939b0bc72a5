/**
 * What time it is on a server, as its answers say it. What an API server has written, such as the time at which it began to
 * delete an object, is compared with this: machines' clocks differ, and a bound of minutes must not depend on that.
 */
export interface ServerClock {
  /** Takes note of the header `Date` of an answer that has just come. */
  learn(date: string | string[] | undefined): void;
  /**
   * Milliseconds since the epoch, late by less than a second and the way of an answer. This machine's own time until a
   * server has said its own.
   */
  now(): number;
}

/** An answer says whole seconds, and takes its time; further back the server's clock has been set. */
const SLACK_MS = 2_000;

/**
 * A clock that has heard nothing yet.
 *
 * @param options.own milliseconds since the epoch, by this machine
 * @param options.steady milliseconds that never jump
 */
export function createServerClock(options: { own?: () => number; steady?: () => number } = {}): ServerClock {
  const { own = Date.now, steady = () => performance.now() } = options;
  let ahead: number | undefined;
  return {
    learn(date) {
      const seen = Date.parse(typeof date === 'string' ? date : '') - steady();
      if (Number.isNaN(seen)) return;
      // Each answer tells a time that has passed: the latest of what they tell comes nearest.
      if (ahead === undefined || seen > ahead || ahead - seen > SLACK_MS) ahead = seen;
    },
    now: () => (ahead === undefined ? own() : steady() + ahead),
  };
}
