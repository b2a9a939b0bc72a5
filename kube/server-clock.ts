/**
 * The time on a server, taken from its answers. Times that an API server has written, such as the beginning of a
 * deletion, are compared with this: machines' clocks differ, and a bound of minutes must not depend on that.
 */
export interface ServerClock {
  /** Takes note of the header `Date` of an answer that has just come. */
  learn(date: string | string[] | undefined): void;
  /**
   * Milliseconds since the epoch, behind by less than a second plus the travel time of an answer. This machine's own
   * time until the server has reported its own.
   */
  now(): number;
}

/**
 * Answers give whole seconds and take time to arrive; a time further back than this means that the server's clock was
 * set back.
 */
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
      // Each answer gives a time that has passed already: the one furthest ahead is nearest to the truth.
      if (ahead === undefined || seen > ahead || ahead - seen > SLACK_MS) ahead = seen;
    },
    now: () => (ahead === undefined ? own() : steady() + ahead),
  };
}
