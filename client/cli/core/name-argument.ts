import { usageError } from './cli-error.js';
import { kindOf, wordOf } from './resources.js';
import type { Kind } from './resources.js';

/**
 * The name in `NAME` or `KIND/NAME`.
 *
 * @throws CliError when a kind is given and it is none of the expected ones.
 */
export function nameOf(text: string, kinds: readonly Kind[]): { kind?: Kind; name: string } {
  const slash = text.indexOf('/');
  if (slash === -1) return { name: text };
  const kind = kindOf(text.slice(0, slash));
  if (kind === undefined || !kinds.includes(kind)) {
    const words = kinds.map(wordOf);
    throw usageError(
      `"${text}" does not name ${words.map((word) => `a ${word}`.replace('a e', 'an e')).join(' or ')}`,
      `give a name, or ${words.map((word) => `${word}/NAME`).join(' or ')}; a namespace goes after -n`,
    );
  }
  return { kind, name: text.slice(slash + 1) };
}

/** Name of an execution on the command line. */
export const executionArgument = (text: string): string => nameOf(text, ['DRPlanExecution']).name;
