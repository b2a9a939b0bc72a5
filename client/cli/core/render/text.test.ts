import { describe, expect, it } from 'vitest';
import { table } from './table.js';
import { cut, visibleWidth, wrap, clip, oneLine, padTo } from './text.js';

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

describe('wide characters', () => {
  it.each([
    ['数据库', 6],
    ['切换 A', 6],
    ['한국', 4],
    ['🚀', 2],
    ['👩‍🚒', 2],
    ['🇩🇪', 2],
    ['é', 1],
    ['e\u0301', 1],
    ['\u001b[31m数\u001b[39m', 2],
  ])('%s takes %i columns [F24]', (text, columns) => expect(visibleWidth(text)).toBe(columns));

  it('are cut and wrapped by columns, and never in two [F24]', () => {
    expect(cut('数据库切换', 7)).toBe('数据库…');
    expect(cut('数据库', 6)).toBe('数据库');
    expect(cut('ab🚀cd', 4)).toBe('ab…');
    expect(wrap('数据库切换成功并且完成', 10)).toEqual(['数据库切换', '成功并且完', '成']);
  });

  it('keep the columns of a table apart [F24]', () => {
    const lines = table(
      ['NAME', 'MESSAGE'],
      [
        ['数据库', 'one'],
        ['db', 'two'],
      ],
    );
    expect(lines).toEqual(['NAME    MESSAGE', '数据库  one', 'db      two']);
  });
});
