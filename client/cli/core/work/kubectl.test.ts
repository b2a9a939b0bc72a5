import { describe, expect, it } from 'vitest';
import { asksForHelp, takeDataDir } from './kubectl.js';

describe('takeDataDir', () => {
  it.each<[string[], ReturnType<typeof takeDataDir>]>([
    [['get', 'drpx'], { args: ['get', 'drpx'] }],
    [['apply', '-f', 'x', '--data-dir', '/d'], { args: ['apply', '-f', 'x'], dataDir: '/d' }],
    [['--data-dir=/d', 'get', 'drp'], { args: ['get', 'drp'], dataDir: '/d' }],
    [['exec', 'p', '--', 'ls', '--data-dir', 'x'], { args: ['exec', 'p', '--', 'ls', '--data-dir', 'x'] }],
  ])('reads %j', (args, expected) => {
    expect(takeDataDir(args)).toEqual(expected);
  });
});

describe('asksForHelp', () => {
  it.each([[[]], [['--help']], [['help', 'apply']], [['get', '-h']]])('is true for %j', (args) => {
    expect(asksForHelp(args)).toBe(true);
  });

  it.each([[['get', 'drpx']], [['exec', 'p', '--', 'df', '-h']]])('is false for %j', (args) => {
    expect(asksForHelp(args)).toBe(false);
  });
});
