import { pino } from 'pino';
import type { Logger } from 'pino';

/** Most characters that wait to be written; what comes after them is dropped. */
const MAX_WAITING = 1 << 20;
/** Longest text of an error, in characters: one may hold what a server was sent. */
const MAX_TEXT = 1000;
/** Its end says what was wrong. */
const END = 300;
/** Most messages of an error and its causes that are logged, from the outermost. */
const CAUSES = 5;
const FRAMES = 15;
const FRAME = /^\s+at .{1,500}$/;

/** What a log is made from. */
export interface LogOptions {
  /** Default `info`. */
  level?: string;
  component: string;
  /** File descriptor that is written to; default the standard output. */
  fd?: number;
  /** What every line carries besides, asked for at each. */
  fields?: () => object;
}

/**
 * The log of a process: a line of JSON for each entry. If it cannot be written, as on a full disk, the process goes on:
 * lines are lost until it can be written again.
 */
export function createLog({ level = 'info', component, fd = 1, fields }: LogOptions): Logger {
  const destination = pino.destination({ dest: fd, sync: true, maxLength: MAX_WAITING });
  destination.on('error', () => undefined);
  return pino(
    {
      level,
      base: { component },
      serializers: { err: errorFields, error: errorFields },
      ...(fields !== undefined && { mixin: fields }),
    },
    destination,
  );
}

/**
 * What is logged of an error: its message and those of its causes, shortened, its plain fields, and where it was
 * thrown. Never an object that it carries: that may be secret.
 */
function errorFields(error: unknown): unknown {
  if (typeof error === 'string') return brief(error);
  if (!(error instanceof Error)) return error;
  const messages: string[] = [];
  for (let at: unknown = error; at instanceof Error && messages.length < CAUSES; at = at.cause) {
    messages.push(brief(at.message));
  }
  const plain: [string, string | number | boolean][] = [];
  for (const [key, value] of Object.entries(error) as [string, unknown][]) {
    if (typeof value === 'string') plain.push([key, brief(value)]);
    else if (typeof value === 'number' || typeof value === 'boolean') plain.push([key, value]);
  }
  return {
    ...Object.fromEntries(plain),
    type: error.name,
    message: messages.join('; caused by: '),
    stack: framesOf(error),
  };
}

const brief = (text: string): string =>
  text.length <= MAX_TEXT
    ? text
    : `${text.slice(0, MAX_TEXT - END)}… (${text.length} characters) …${text.slice(-END)}`;

/** A stack without the message that it begins with. */
const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(0, FRAMES)
    .map((line) => line.trim())
    .join('\n');
