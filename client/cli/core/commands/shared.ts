import { type Command, Option } from 'commander';
import type { CommandContext } from '../context.js';
import { OUTPUT_FORMATS } from '../output-format.js';

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

/** Takes an option that may be given several times. */
export const collect = (value: string, previous: string[] | undefined): string[] => [
  ...(previous ?? []),
  value,
];
