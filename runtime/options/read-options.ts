import { parseFlags } from './flags.js';
import { DEFAULT_PREFIX, variablesOf } from './option.js';
import type { Option, OptionTable, OptionValues, Program } from './option.js';

/** What was asked of a program when it was started. */
export type Read<V> =
  | {
      kind: 'values';
      values: V;
      /** What whoever starts it should change. */
      warnings: string[];
    }
  | { kind: 'help'; text: string }
  | { kind: 'invalid'; problems: string[] };

type Environment = Readonly<Record<string, string | undefined>>;

/** Longest value that a message repeats. */
const MAX_SHOWN_CHARACTERS = 100;
/** A variable this many edits away from one that there is was probably meant to be it. */
const MAX_EDITS = 2;
/** Variables that Kubernetes sets in every pod beside a Service that is called `drover-…`, and the value of one of them. */
const SERVICE_LINK = /_SERVICE_(HOST|PORT(_.*)?)$|_PORT(_\d+_[A-Z]+(_(PROTO|PORT|ADDR))?)?$/;
const SERVICE_ADDRESS = /^(tcp|udp|sctp):\/\/\S+:\d+$/;

/**
 * Reads the options of a program: flags, then variables, then defaults. An empty variable is one that is not set, but for
 * lists, which it empties, and paths, where it is a mistake.
 *
 * @param argv without the program itself
 */
export function readOptions<O extends OptionTable>(
  program: Program<O>,
  argv: readonly string[],
  env: Environment,
): Read<OptionValues<O>> {
  const flags = parseFlags(program, argv);
  if (flags.kind === 'help') return flags;
  if (flags.kind === 'invalid') return { kind: 'invalid', problems: [flags.problem] };
  const problems: string[] = [];
  const warnings: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries<Option<unknown>>(program.options)) {
    values[name] = option.absent;
    const source = sourceOf({
      flag: `--${name}`,
      text: flags.given.get(name),
      variables: variablesOf(name, option, program.prefix),
      takesEmpty: option.type.onEmpty === 'read',
      env,
    });
    if (source === undefined) continue;
    const reading = option.read(source.text);
    if ('problem' in reading) problems.push(`${written(source)}: ${reading.problem}`);
    else values[name] = reading.value;
    if (option.leaving !== undefined)
      warnings.push(`${source.by} goes with the next release: ${option.leaving}; leave it out`);
  }
  // The table says what each value is.
  const typed = values as OptionValues<O>;
  if (problems.length === 0) problems.push(...(program.check?.(typed) ?? []));
  if (problems.length > 0) return { kind: 'invalid', problems };
  return { kind: 'values', values: typed, warnings: [...warnings, ...misspelt(program, env)] };
}

/** Where a value comes from. */
interface Source {
  text: string;
  /** The flag or variable. */
  by: string;
  /** The other way to give it. */
  or: string;
}

function sourceOf(option: {
  flag: string;
  /** What the flag was given as. */
  text: string | undefined;
  variables: readonly string[];
  takesEmpty: boolean;
  env: Environment;
}): Source | undefined {
  const { flag, text, variables, takesEmpty, env } = option;
  const isSet = (given: string | undefined): given is string =>
    given !== undefined && (given !== '' || takesEmpty);
  if (isSet(text)) return { text, by: flag, or: variables[0] ?? '' };
  for (const variable of variables) {
    const value = env[variable];
    // DROVER_WEBHOOK_PORT beside Service drover-webhook: nobody has set it.
    if (SERVICE_LINK.test(variable) && SERVICE_ADDRESS.test(value ?? '')) continue;
    if (isSet(value)) return { text: value, by: variable, or: flag };
  }
  return undefined;
}

function written({ text, by, or }: Source): string {
  const shown = text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS - 1)}…`;
  return `${by}=${JSON.stringify(shown)} (or ${or})`;
}

/** Variables that no option has, and whose names are all but those of one. */
function misspelt(
  program: Pick<Program<OptionTable>, 'options' | 'prefix' | 'editDistance'>,
  env: Environment,
): string[] {
  const { options, prefix = DEFAULT_PREFIX, editDistance } = program;
  if (editDistance === undefined) return [];
  const known = Object.entries(options).flatMap(([name, option]) => variablesOf(name, option, prefix));
  return Object.keys(env)
    .filter((name) => name.startsWith(`${prefix}_`) && !known.includes(name) && !SERVICE_LINK.test(name))
    .flatMap((name) => {
      const near = known.find((other) => editDistance(name, other) <= MAX_EDITS);
      return near === undefined ? [] : [`${name} has no effect: there is no such setting; is ${near} meant?`];
    });
}
