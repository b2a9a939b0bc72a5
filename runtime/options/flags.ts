/** The command line of a program: its flags as texts, and its help. */
import { Command, CommanderError, Option as Flag } from 'commander';
import { advertised, variablesOf } from './option.js';
import type { Option, OptionTable, Program } from './option.js';

/** Flags as they were given, by the name of the option; or why there are none. */
export type Flags =
  | { kind: 'flags'; given: ReadonlyMap<string, string> }
  | { kind: 'help'; text: string }
  | { kind: 'invalid'; problem: string };

/** Columns of help that is not written to a terminal. */
const HELP_COLUMNS = 120;

/** Parses a command line. What values mean is left to the options. */
export function parseFlags(
  program: Pick<Program<OptionTable>, 'name' | 'summary' | 'options' | 'prefix'>,
  argv: readonly string[],
): Flags {
  const flags = new Map(
    Object.entries(program.options).map(([name, option]) => [name, flagOf(name, option)]),
  );
  let text = '';
  const command = new Command(program.name)
    .description(`${program.summary}\n${aboutVariables(program)}`)
    .usage('[options]')
    .helpOption('--help', 'show this help')
    .exitOverride()
    .configureOutput({
      writeOut: (part) => (text += part),
      writeErr: () => undefined,
      getOutHelpWidth: () => process.stdout.columns ?? HELP_COLUMNS,
    });
  for (const flag of flags.values()) command.addOption(flag);
  const isKnown = (word: string): boolean => flags.has(word.slice('--'.length, word.indexOf('=')));
  try {
    // The name of a flag that there is not is compared with those there are, and its value is none of a message.
    const words = argv.map((word) => (VALUED.test(word) && !isKnown(word) ? word.replace(/=.*/s, '') : word));
    command.parse(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: 'help', text };
    return { kind: 'invalid', problem: error.message.replace(/^error: /, '').replaceAll('\n', ' ') };
  }
  const given = new Map<string, string>();
  for (const [name, flag] of flags) {
    const value: unknown = command.getOptionValue(flag.attributeName());
    // A switch that stands alone has no text of its own.
    if (value === true) given.set(name, 'true');
    else if (typeof value === 'string') given.set(name, value);
  }
  return { kind: 'flags', given };
}

const VALUED = /^--[^=]+=/;

function aboutVariables({ options, prefix }: Pick<Program<OptionTable>, 'options' | 'prefix'>): string {
  const [[name, option]] = advertised(options) as [[string, Option<unknown>]];
  const [variable] = variablesOf(name, option, prefix);
  return `Each option can also be given as a variable: --${name} as ${variable}. A flag wins.`;
}

function flagOf(name: string, option: Option<unknown>): Flag {
  const { type, means, absentText, group, hidden, leaving } = option;
  const value = type.isSwitch === true ? `[${type.placeholder}]` : `<${type.placeholder}>`;
  const also = option.variables === undefined ? [] : [`variable: ${option.variables.join(', ')}`];
  const notes = [...(absentText === undefined ? [] : [`default: ${absentText}`]), ...also];
  const flag = new Flag(`--${name} ${value}`, notes.length === 0 ? means : `${means} (${notes.join('; ')})`);
  return flag.helpGroup(`${group}:`).hideHelp(hidden === true || leaving !== undefined);
}
