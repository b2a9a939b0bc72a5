/** Kinds of values that options have. */
import type { ValueType } from './option.js';

/**
 * A kind of value.
 *
 * @param form what is expected, such as `a duration such as 30s`
 * @param read gives undefined for a text that is none
 */
export const valueType = <T>(
  placeholder: string,
  form: string,
  read: (text: string) => T | undefined,
): ValueType<T> => ({
  placeholder,
  read(text) {
    const value = read(text);
    return value === undefined ? { problem: `expected ${form}` } : { value };
  },
});

/** Any text. */
export const text: ValueType<string> = { placeholder: 'text', read: (value) => ({ value }) };

/** A text of a given form. */
export const matching = (placeholder: string, form: string, pattern: RegExp): ValueType<string> =>
  valueType(placeholder, form, (value) => (pattern.test(value) ? value : undefined));

/** A file or folder. An empty one is a mistake: what it names, such as keys, would be left out in silence. */
export const path: ValueType<string> = {
  ...valueType('path', 'a path; leave it out for none', (value) => (value === '' ? undefined : value)),
  onEmpty: 'read',
};

/** A whole number. */
export const count = ({ min = 1, max }: { min?: number; max?: number } = {}): ValueType<number> =>
  valueType(
    'number',
    max === undefined ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`,
    (value) => {
      const number = Number(value.trim() === '' ? NaN : value);
      const isIn = Number.isInteger(number) && number >= min && (max === undefined || number <= max);
      return isIn ? number : undefined;
    },
  );

/** A port to listen on; 0 is any free one. */
export const port: ValueType<number> = { ...count({ min: 0, max: 65_535 }), placeholder: 'port' };

/** An address to listen on. */
export const host: ValueType<string> = { ...text, placeholder: 'address' };

const SWITCH: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };

/** On or off. */
export const onOff: ValueType<boolean> = {
  ...valueType('true|false', 'true or false', (value) => SWITCH[value]),
  isSwitch: true,
};

/** One of several words. */
export const oneOf = <const W extends string>(...words: readonly W[]): ValueType<W> =>
  valueType(words.join('|'), `one of ${words.join(', ')}`, (value) => words.find((word) => word === value));

/** Several values, separated by commas. An empty text is a list too: that of none. */
export const listOf = <T>(item: ValueType<T>): ValueType<T[]> => ({
  placeholder: `${item.placeholder},…`,
  onEmpty: 'read',
  read(list) {
    const values: T[] = [];
    for (const part of list.split(',').map((each) => each.trim())) {
      if (part === '') continue;
      const reading = item.read(part);
      if ('problem' in reading) return { problem: `${JSON.stringify(part)}: ${reading.problem}` };
      values.push(reading.value);
    }
    return { value: values };
  },
});
