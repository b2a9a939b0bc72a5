import { describe, expect, it } from 'vitest';
import { clip, cut, oneLine, padTo, visibleWidth, wrap } from './text.js';

const RED = '\u001b[31m';
const PLAIN = '\u001b[39m';

describe('texts from outside', () => {
  it('become one line that cannot steer the terminal', () => {
    expect(oneLine(`a${RED}b\u001b[2J\nc\td\u0007`)).toBe('ab c d\ufffd');
    expect(oneLine('left\u202eright')).toBe('left\ufffdright');
  });
});

describe('widths', () => {
  it('leave colours out', () => {
    const text = `${RED}abc${PLAIN}`;
    expect(visibleWidth(text)).toBe(3);
    expect(padTo(text, 5)).toBe(`${text}  `);
    expect(clip(text, 3)).toBe(text);
    expect(clip(text, 2)).toBe('a…');
  });

  it('are kept by cutting', () => {
    expect(cut('abcdef', 6)).toBe('abcdef');
    expect(cut('abcdef', 4)).toBe('abc…');
    expect(cut('abcdef', 4, false)).toBe('a...');
    expect(cut('abcdef', 0)).toBe('');
  });

  it('are kept by breaking at spaces, and inside words that are too long', () => {
    expect(wrap('one two three', 10)).toEqual(['one two', 'three']);
    expect(wrap('x'.repeat(25), 10)).toEqual(['x'.repeat(10), 'x'.repeat(10), 'x'.repeat(5)]);
    expect(wrap('', 10)).toEqual([]);
  });
});
