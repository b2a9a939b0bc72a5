import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { guardPassThrough } from './arguments.js';

const program = new Command()
  .option('--data-dir <dir>')
  .option('--encryption-keys <dir>')
  .option('-n, --namespace <name>')
  .option('--no-color');

describe('arguments for kubectl', () => {
  it('keeps options behind kubectl from this program', () => {
    expect(guardPassThrough(program, ['kubectl', 'get', 'drpx', '-n', 'x', '--help'])).toEqual([
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
    expect(
      guardPassThrough(program, ['--no-color', '--data-dir', 'kubectl', 'kubectl', '-o', 'yaml']),
    ).toEqual(['--no-color', '--data-dir', 'kubectl', 'kubectl', '--', '-o', 'yaml']);
  });

  it('knows the values of all options, in both spellings', () => {
    const words = ['--encryption-keys', 'secret:ns/keys', '-n', 'kubectl', '--namespace=x', 'kubectl', 'get'];
    expect(guardPassThrough(program, words)).toEqual([...words.slice(0, -1), '--', 'get']);
  });

  it('leaves other commands alone', () => {
    expect(guardPassThrough(program, ['run', 'kubectl'])).toEqual(['run', 'kubectl']);
    expect(guardPassThrough(program, ['--help'])).toEqual(['--help']);
  });
});
