/** Tells a person what goes on. */
export interface Progress {
  /** A line that stays. */
  say(text: string): void;
  /** Something that takes a while: shown again and again until `end`. `done` gives how much of it is over. */
  begin(text: string, done?: () => string): { end(): void };
}

/** Without a terminal a long step is told of only this often, in milliseconds. */
const QUIET_MS = 10_000;
const REDRAW_MS = 500;

/** Progress on standard error: one line that is redrawn on a terminal, else a line now and then. */
export function createProgress(stream: NodeJS.WriteStream): Progress {
  const drawn = { width: 0 };
  const clear = (): void => {
    if (drawn.width > 0) stream.write(`\r${' '.repeat(drawn.width)}\r`);
    drawn.width = 0;
  };
  return {
    say(text) {
      clear();
      stream.write(`${text}\n`);
    },
    begin(text, done) {
      const begun = Date.now();
      const line = (): string =>
        `  ${text}${done === undefined ? '' : ` ${done()}`} (${Math.round((Date.now() - begun) / 1000)} s)`;
      const timer = setInterval(
        () => {
          if (!stream.isTTY) {
            stream.write(`${line()}\n`);
            return;
          }
          clear();
          const cut = line().slice(0, (stream.columns || 80) - 1);
          stream.write(cut);
          drawn.width = cut.length;
        },
        stream.isTTY ? REDRAW_MS : QUIET_MS,
      );
      return {
        end() {
          clearInterval(timer);
          clear();
        },
      };
    },
  };
}

/** Runs `work` while it is told of. */
export async function during<T>(
  progress: Progress,
  text: string,
  work: () => Promise<T>,
  done?: () => string,
): Promise<T> {
  const step = progress.begin(text, done);
  try {
    return await work();
  } finally {
    step.end();
  }
}
