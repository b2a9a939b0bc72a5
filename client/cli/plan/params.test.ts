import { describe, expect, it } from 'vitest';
import { parseParams } from './params.js';

describe('parameters of the command line', () => {
  it('splits at the first equals sign and keeps values as text', () => {
    expect(parseParams(['url=http://x/?a=b', 'empty=', 'n=3'])).toEqual([
      { name: 'url', value: 'http://x/?a=b' },
      { name: 'empty', value: '' },
      { name: 'n', value: '3' },
    ]);
  });

  it.each(['plain', '=value'])('refuses %s and says how to write it', (text) => {
    expect(() => parseParams([text])).toThrow(/is not name=value/);
  });

  it('refuses a name given twice', () => {
    expect(() => parseParams(['a=1', 'a=2'])).toThrow('parameter "a" is given twice');
  });
});
