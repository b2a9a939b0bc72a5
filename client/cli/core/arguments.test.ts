import { describe, expect, it } from 'vitest';
import { guardPassThrough } from './arguments.js';

describe('arguments for kubectl', () => {
  it('keeps options behind kubectl from this program', () => {
    expect(guardPassThrough(['kubectl', 'get', 'drpx', '-n', 'x', '--help'])).toEqual([
      'kubectl',
      '--',
      'get',
      'drpx',
      '-n',
      'x',
      '--help',
    ]);
  });

  it('finds the command behind options with and without a value', () => {
    expect(guardPassThrough(['--no-color', '--data-dir', 'kubectl', 'kubectl', '-o', 'yaml'])).toEqual([
      '--no-color',
      '--data-dir',
      'kubectl',
      'kubectl',
      '--',
      '-o',
      'yaml',
    ]);
  });

  it('leaves other commands alone', () => {
    expect(guardPassThrough(['run', 'kubectl'])).toEqual(['run', 'kubectl']);
    expect(guardPassThrough(['--help'])).toEqual(['--help']);
  });
});
