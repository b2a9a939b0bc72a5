/** Values of parameters that are taken from an object of the cluster (the original's valueFrom). */
import { readJsonPath } from '../../core/json-path.js';
import { findPlaceholders } from './placeholders.js';
import type { Problem } from '../../core/problem.js';
import type { Parameter } from '../schema/common.js';

/** Where a value is taken from. */
export type ManifestRef = NonNullable<NonNullable<Parameter['valueFrom']>['manifestRef']>;

/** Whether the value of an entry is known only once a run starts. */
export const isPending = (entry: Parameter): boolean =>
  entry.valueFrom !== undefined && entry.valueFrom !== null;

/**
 * Checks the `valueFrom` of an entry. A Secret is refused: parameters are kept in snapshots, statuses and histories.
 * Reasons `InvalidField`, `SecretRefused`, `InvalidPlaceholder`; warning `IgnoredField`.
 *
 * @param path of the entry
 */
export function checkValueFrom(entry: Parameter, path: string): Problem[] {
  const where = `${path}.valueFrom`;
  const problems: Problem[] = [];
  const add = (severity: Problem['severity'], at: string, reason: string, message: string): void =>
    void problems.push({ severity, path: at, reason, message });
  const { value, default: fallback, name, valueFrom } = entry;
  if (value !== undefined && value !== null) {
    add('error', where, 'InvalidField', `parameter "${name}" has both value and valueFrom; keep one`);
  }
  if (fallback !== undefined && fallback !== null) {
    const message = `parameter "${name}" takes its value from an object, and fails where that has none; remove the default`;
    add('warning', `${path}.default`, 'IgnoredField', message);
  }
  const ref = valueFrom?.manifestRef;
  const inside = `${where}.manifestRef`;
  if (ref === undefined) {
    add('error', inside, 'InvalidField', 'is missing; say which object and which field of it');
    return problems;
  }
  if (ref.kind.toLowerCase() === 'secret') {
    const message =
      'is Secret; parameters are kept where everybody who may see a run can read them, so a Secret is refused: use headersFrom or a secretKeyRef of the action, or mount it into the Job';
    add('error', `${inside}.kind`, 'SecretRefused', message);
  }
  if (isGiven(ref.name) && isGiven(ref.labelSelector)) {
    add('error', `${inside}.labelSelector`, 'InvalidField', 'stands beside name; keep one of them');
  }
  const path_ = readJsonPath(ref.jsonPath);
  if (!path_.ok) add('error', `${inside}.jsonPath`, 'InvalidField', path_.problem);
  for (const field of ['namespace', 'name', 'labelSelector'] as const) {
    const { placeholders, problems: wrong } = findPlaceholders(ref[field] ?? '');
    problems.push(...wrong.map((problem) => ({ ...problem, path: `${inside}.${field}` })));
    if (placeholders.some(({ reference }) => reference.kind === 'output')) {
      const message = 'reads outputs, which do not exist when the value is looked up, before any action runs';
      add('error', `${inside}.${field}`, 'InvalidPlaceholder', message);
    }
  }
  return problems;
}

const isGiven = (text: string | undefined): boolean => text !== undefined && text !== '';
