import { type Command, Option } from 'commander';
import { usageError } from '../cli-error.js';
import type { CommandContext } from '../context.js';
import { OUTPUT_FORMATS } from '../output.js';
import { kindOf, wordOf } from '../resources.js';
import type { Kind } from '../resources.js';

/** Runs the work of a command with its context and keeps the exit code it gives. */
export type Perform = (command: Command, work: (context: CommandContext) => Promise<number>) => Promise<void>;

/** `-o json|yaml`. */
export const outputOption = (): Option =>
  new Option('-o, --output <format>', 'write objects for programs to standard output').choices(
    OUTPUT_FORMATS,
  );

/** `--yes`. */
export const yesOption = (): Option => new Option('-y, --yes', 'go ahead without asking');

/** Adds examples to a command's help, under the name the program was called by. */
export function addExamples(command: Command, examples: readonly (readonly [string, string])[]): Command {
  return command.addHelpText('after', () => {
    const program = rootOf(command).name();
    const lines = examples.map(([line, meaning]) => `  # ${meaning}\n  ${program} ${line}`);
    return `\nExamples:\n${lines.join('\n\n')}`;
  });
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}

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

/** Takes an option that may be given several times. */
export const collect = (value: string, previous: string[] | undefined): string[] => [
  ...(previous ?? []),
  value,
];
