import type { Screen } from './terminal.js';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
const up = (lines: number): string => (lines === 0 ? '\r' : `\u001b[${lines}A\r`);

/** A block of lines at the end of the terminal that is drawn over and over. */
export interface LiveScreen {
  draw(lines: readonly string[]): void;
  /** Leaves the block as it is and gives the cursor back. */
  close(): void;
}

/** A live block; it must never be higher than the screen, or the top would stay behind. */
export function createLiveScreen(screen: Screen): LiveScreen {
  let height = 0;
  let last = '';
  screen.write(HIDE_CURSOR);
  return {
    draw(lines) {
      const text = lines.map((line) => `${line}${CLEAR_LINE}\n`).join('');
      if (text === last) return;
      screen.write(`${up(height)}${text}${CLEAR_BELOW}`);
      height = lines.length;
      last = text;
    },
    close() {
      screen.write(SHOW_CURSOR);
    },
  };
}
