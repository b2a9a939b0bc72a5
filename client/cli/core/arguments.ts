/** Options of the program that take the next word as their value. */
const WITH_VALUE = new Set(['--data-dir', '--kubeconfig', '--context', '-n', '--namespace', '--temporal']);

/** Puts `--` after the command `kubectl`, so that what follows is kubectl's, options and all. */
export function guardPassThrough(args: readonly string[]): string[] {
  let at = 0;
  while (at < args.length && args[at]!.startsWith('-')) at += WITH_VALUE.has(args[at]!) ? 2 : 1;
  if (args[at] !== 'kubectl') return [...args];
  return [...args.slice(0, at + 1), '--', ...args.slice(at + 1)];
}
