import type { Screen } from './terminal.js';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
const CLEAR_SCREEN = '\u001b[2J\u001b[H';
const up = (lines: number): string => (lines === 0 ? '\r' : `\u001b[${lines}A\r`);

/** A block of lines at the end of the terminal that is drawn over and over. */
export interface LiveScreen {
  draw(lines: readonly string[]): void;
  /** Takes the block away and gives the cursor back. */
  close(): void;
}

/** A live block; it must never be higher than the screen, or the top would stay behind. */
export function createLiveScreen(screen: Screen): LiveScreen {
  let height = 0;
  let last = '';
  let lastSize = sizeOf(screen);
  screen.write(HIDE_CURSOR);

  function write(text: string, lines: number): void {
    const size = sizeOf(screen);
    // A terminal that changed its size has broken the lines anew: nobody knows where the block begins.
    const back = size === lastSize ? up(height) : CLEAR_SCREEN;
    if (text === last && size === lastSize) return;
    screen.write(`${back}${text}${CLEAR_BELOW}`);
    height = lines;
    last = text;
    lastSize = size;
  }

  return {
    draw(lines) {
      write(lines.map((line) => `${line}${CLEAR_LINE}\n`).join(''), lines.length);
    },
    close() {
      write('', 0);
      screen.write(SHOW_CURSOR);
    },
  };
}

const sizeOf = (screen: Screen): string => Object.values(screen.size()).join('x');
