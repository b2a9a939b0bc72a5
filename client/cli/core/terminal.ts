import { createStyle, type Style } from './render/style.js';

/** Where a command writes: results to standard output, everything else to standard error. */
export interface Terminal {
  /** A line of the result. */
  readonly out: (text: string) => void;
  /** A line for the person. */
  readonly note: (text: string) => void;
  /** For standard output. */
  readonly outStyle: Style;
  /** For standard error. */
  readonly noteStyle: Style;
  /** Whether a person can be asked. */
  readonly interactive: boolean;
  /** The screen, when standard output is one that can be redrawn. */
  readonly screen: Screen | undefined;
  /** Columns of standard output; undefined when it is not a terminal. */
  readonly width: number | undefined;
}

/** A terminal that can be redrawn. */
export interface Screen {
  size(): { columns: number; rows: number };
  write(text: string): void;
}

/** The terminal of a process. `NO_COLOR` and `TERM=dumb` are honoured, as is FORCE_COLOR. */
export function processTerminal(
  process: Pick<NodeJS.Process, 'stdout' | 'stderr' | 'stdin' | 'env'>,
  options: { color?: boolean } = {},
): Terminal {
  const { stdout, stderr, stdin, env } = process;
  const dumb = env['TERM'] === 'dumb';
  const colorOf = (stream: NodeJS.WriteStream): boolean => {
    if (options.color === false || env['NO_COLOR']) return false;
    if (env['FORCE_COLOR'] && env['FORCE_COLOR'] !== '0') return true;
    return stream.isTTY === true && !dumb;
  };
  const unicode = speaksUnicode(env);
  return {
    out: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    outStyle: createStyle({ color: colorOf(stdout), unicode }),
    noteStyle: createStyle({ color: colorOf(stderr), unicode }),
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    screen:
      stdout.isTTY === true && !dumb
        ? {
            size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
            write: (text) => void stdout.write(text),
          }
        : undefined,
    width: stdout.isTTY === true ? stdout.columns || 80 : undefined,
  };
}

function speaksUnicode(env: NodeJS.ProcessEnv): boolean {
  if (env['TERM'] === 'linux') return false;
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'];
  return locale === undefined || /utf-?8/i.test(locale);
}
