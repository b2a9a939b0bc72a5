import type { Command } from 'commander';

/** Puts `--` after the command `kubectl`, so that what follows is kubectl's, options and all. */
export function guardPassThrough({ options }: Pick<Command, 'options'>, args: readonly string[]): string[] {
  const takesNext = (word: string): boolean =>
    options.some(({ required, long, short }) => required && (word === long || word === short));
  let at = 0;
  while (at < args.length && args[at]!.startsWith('-')) at += takesNext(args[at]!) ? 2 : 1;
  if (args[at] !== 'kubectl') return [...args];
  return [...args.slice(0, at + 1), '--', ...args.slice(at + 1)];
}
