import { findPlaceholders } from '../template/placeholders.js';
import type { Problem } from '../../core/problem.js';
import { error, show, warning } from '../../core/fields.js';
import { isTemplated } from './sample.js';

const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
/** Names that placeholders can refer to. */
const REFERABLE = /^[A-Za-z0-9_][A-Za-z0-9_-]*$/;

/** Whether a text is a DNS-1123 label, whatever its length. */
export const isLabel = (text: string): boolean => LABEL.test(text);

/** Longest name of each form. */
export const MAX_NAME_LENGTH = { label: 63, subdomain: 253 } as const;

/**
 * Checks the name of a Kubernetes object: a DNS-1123 subdomain of at most 253 characters, or for a namespace a label of
 * at most 63. One that holds placeholders is checked when they are filled in; what stands beside them must fit already.
 */
export function checkName(name: string | undefined, path: string, form: 'label' | 'subdomain'): Problem[] {
  if (name === undefined || name === '') return [];
  const max = MAX_NAME_LENGTH[form];
  if (isTemplated(name)) {
    const fixed = fixedLength(name);
    return fixed <= max ? [] : [error(path, 'InvalidName', tooLong(name, fixed, max))];
  }
  if (name.length <= max && (form === 'label' ? LABEL : SUBDOMAIN).test(name)) return [];
  const dots = form === 'label' ? '' : ' and "."';
  return [
    error(
      path,
      'InvalidName',
      `is ${show(name)}; a name has at most ${max} lower-case letters, digits, "-"${dots} and begins and ends with a letter or digit`,
    ),
  ];
}

/** That a name is too long whatever its placeholders become. */
const tooLong = (name: string, fixed: number, max: number): string =>
  `is ${show(name)}; it has ${fixed} characters beside its placeholders, and a name at most ${max}: shorten it`;

/** Characters outside the placeholders. */
function fixedLength(text: string): number {
  return findPlaceholders(text).placeholders.reduce(
    (length, { start, end }) => length - (end - start),
    text.length,
  );
}

/** Reports names that stand twice in a list, at the later place. Reason `DuplicateName`. */
export function checkUnique(items: readonly { name: string }[], path: string, what: string): Problem[] {
  const first = new Map<string, number>();
  return items.flatMap(({ name }, index) => {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    const message = `${what} "${name}" stands at ${path}[${earlier}] already; names must be unique`;
    return [error(`${path}[${index}].name`, 'DuplicateName', message)];
  });
}

/** Warns about names that no placeholder can refer to. */
export function checkReferable(items: readonly { name: string }[], path: string, what: string): Problem[] {
  return items.flatMap(({ name }, index) =>
    REFERABLE.test(name)
      ? []
      : [
          warning(
            `${path}[${index}].name`,
            'SuspectName',
            `${what} ${show(name)} cannot be named in placeholders, which allow letters, digits, "_" and "-"`,
          ),
        ],
  );
}
