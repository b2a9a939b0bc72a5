import { describe, expect, it } from 'vitest';
import { createLiveScreen } from './live-screen.js';

function record(size = { columns: 80, rows: 24 }) {
  const writes: string[] = [];
  const screen = { size: () => size, write: (text: string) => void writes.push(text) };
  return { writes, size, live: createLiveScreen(screen) };
}

describe('the live block', () => {
  it('goes back over its own lines before it draws again, and writes nothing when nothing changed', () => {
    const { writes, live } = record();
    live.draw(['a', 'b']);
    live.draw(['a', 'b']);
    live.draw(['c']);
    expect(writes.slice(1)).toEqual(['\ra\u001b[K\nb\u001b[K\n\u001b[J', '\u001b[2A\rc\u001b[K\n\u001b[J']);
  });

  it('clears the screen when its size has changed', () => {
    const { writes, live, size } = record();
    live.draw(['a']);
    size.columns = 40;
    live.draw(['a']);
    expect(writes.at(-1)).toBe('\u001b[2J\u001b[Ha\u001b[K\n\u001b[J');
  });

  it('takes itself away and gives the cursor back', () => {
    const { writes, live } = record();
    live.draw(['a']);
    live.close();
    expect(writes.slice(-2)).toEqual(['\u001b[1A\r\u001b[J', '\u001b[?25h']);
  });
});
