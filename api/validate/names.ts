import type { Problem } from '../problem.js';
import { error, show, warning } from './fields.js';
import { isTemplated } from './sample.js';

const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
/** Names that placeholders can refer to. */
const REFERABLE = /^[A-Za-z0-9_][A-Za-z0-9_-]*$/;

/**
 * Checks the name of a Kubernetes object: a DNS-1123 subdomain of at most 253 characters, or for a namespace a label of
 * at most 63. One that holds placeholders is checked when they are filled in.
 */
export function checkName(name: string | undefined, path: string, form: 'label' | 'subdomain'): Problem[] {
  if (name === undefined || name === '' || isTemplated(name)) return [];
  const max = form === 'label' ? 63 : 253;
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
