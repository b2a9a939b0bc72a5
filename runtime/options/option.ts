/** What a setting of a program is: a flag, and a variable for it. */

/** A value, or what is allowed instead of the text that was given. */
export type Reading<T> = { value: T } | { problem: string };

/** A kind of value, as people write it. */
export interface ValueType<T> {
  /** What stands for a value in help, such as `duration`. */
  readonly placeholder: string;
  /** A flag of this type may stand without a value, and says `true` then. */
  readonly isSwitch?: true;
  /**
   * What an empty text means: nothing was given (default); or it is read like any other, and may be refused.
   */
  readonly onEmpty?: 'unset' | 'read';
  read(text: string): Reading<T>;
}

/** What people are told about an option. */
export interface OptionText {
  /** What it means, in half a sentence. */
  readonly means: string;
  /** Page of the manual that tells more, such as `encryption.md`. */
  readonly see?: string;
  /** Variables that set it, the first of them first. Default: the program's prefix and its name in capitals. */
  readonly variables?: readonly string[];
  /** It is taken, and told to nobody: tests shorten it, or developers of Drover look inside. */
  readonly hidden?: true;
  /** It is taken for the last time; what to do instead. */
  readonly leaving?: string;
}

/** An option of a program. Its name is its key in the table, and its flag is `--<name>`. */
export interface Option<T> extends OptionText {
  readonly type: ValueType<unknown>;
  /** Heading under which help and manual list it. */
  readonly group: string;
  /** Its value where it is not given. */
  readonly absent: T;
  /** What help says about that. */
  readonly absentText: string | undefined;
  readonly read: (text: string) => Reading<T>;
}

/** The options of a program, by name, such as `plan-wait`. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** The values of a table's options. */
export type OptionValues<O extends OptionTable> = {
  readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never;
};

/** A program and its options. */
export interface Program<O extends OptionTable> {
  readonly name: string;
  /** What it does, in a sentence. */
  readonly summary: string;
  readonly options: O;
  /** What its variables begin with (default `DROVER`, which all deployed programs share). */
  readonly prefix?: string;
  /** What is wrong with values that are right each by itself. */
  readonly check?: (values: OptionValues<O>) => readonly string[];
  /**
   * Edits between two texts. With it, a variable that nearly has the name of one that there is, and so would be ignored in
   * silence, is warned of.
   */
  readonly editDistance?: (a: string, b: string) => number;
}

/**
 * An option that has a value in any case.
 *
 * @param byDefault as one would write it
 * @throws Error when the type does not take that
 */
export function setting<T>(type: ValueType<T>, byDefault: string, text: OptionText): Option<T> {
  const reading = type.read(byDefault);
  if ('problem' in reading) throw new Error(`default "${byDefault}": ${reading.problem}`);
  return {
    ...text,
    type,
    group: '',
    absent: reading.value,
    absentText: byDefault === '' ? undefined : byDefault,
    read: (given) => type.read(given),
  };
}

/**
 * An option that may have no value.
 *
 * @param text.otherwise what holds then, where that needs words
 */
export function optional<T>(
  type: ValueType<T>,
  { otherwise, ...text }: OptionText & { otherwise?: string },
): Option<T | undefined> {
  return {
    ...text,
    type,
    group: '',
    absent: undefined,
    absentText: otherwise,
    read: (given) => type.read(given),
  };
}

/** What variables begin with. */
export const DEFAULT_PREFIX = 'DROVER';

/** Options that help and manual list under one heading. */
export const group = <O extends OptionTable>(heading: string, options: O): O =>
  Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, group: heading }]),
  ) as O;

/** The variables that set an option, the first of them first. */
export const variablesOf = (
  name: string,
  { variables }: OptionText,
  prefix: string = DEFAULT_PREFIX,
): readonly string[] => variables ?? [`${prefix}_${name.toUpperCase().replaceAll('-', '_')}`];

/** Options that people are told of. */
export const advertised = (options: OptionTable): [string, Option<unknown>][] =>
  Object.entries(options).filter(([, { hidden, leaving }]) => hidden === undefined && leaving === undefined);
