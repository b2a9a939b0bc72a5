import { pino } from 'pino';
import type { Logger } from 'pino';

/** Characters that wait to be written at most; what comes then is dropped. */
const MOST_WAITING = 1 << 20;

/** What a log is made from. */
export interface LogOptions {
  /** Default `info`. */
  level?: string;
  component: string;
  /** File descriptor that is written to; default the standard output. */
  fd?: number;
}

/**
 * The log of a process: a line of JSON for each entry. That it cannot be written, as on a full disk, ends nobody: lines
 * are lost until it can be again.
 */
export function createLog({ level = 'info', component, fd = 1 }: LogOptions): Logger {
  const destination = pino.destination({ dest: fd, sync: true, maxLength: MOST_WAITING });
  destination.on('error', () => undefined);
  return pino({ level, base: { component } }, destination);
}
