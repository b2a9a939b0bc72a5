/** Who owns which field of an object, as a server-side apply reports it. */
import { ANNOTATIONS, FIELD_MANAGER, LABELS } from '../../../api/core/group.js';
import { KubeError } from '../../../kube/error.js';

/** A field that somebody else manages. */
export interface OwnershipConflict {
  manager: string;
  field: string;
}

/** The conflicts of a server-side apply, by manager and field; undefined for any other error. */
export function ownershipConflicts(error: unknown): OwnershipConflict[] | undefined {
  if (!(error instanceof KubeError) || error.code !== 409) return undefined;
  const causes = (error.details?.causes ?? []).filter((cause) => cause.reason === 'FieldManagerConflict');
  if (causes.length === 0) return undefined;
  return causes.map((cause) => ({
    manager: /conflict with "([^"]*)"/.exec(cause.message ?? '')?.[1] ?? 'unknown',
    field: (cause.field ?? '').replace(/^\./, ''),
  }));
}

/** Fields that every action writes, each with values of its own. */
const MARKS: ReadonlySet<string> = new Set([
  ...[LABELS.execution, LABELS.action, LABELS.subscription].map((label) => `metadata.labels.${label}`),
  ...[ANNOTATIONS.key, ANNOTATIONS.cluster, ANNOTATIONS.clusterId].map(
    (annotation) => `metadata.annotations.${annotation}`,
  ),
]);

/**
 * The conflicts that count: those with anybody but this action, other actions of ours included. `drover` does not
 * count, as earlier releases applied and undos put back under it; nor do marks, which go to whoever writes last.
 */
export const withOthers = (conflicts: readonly OwnershipConflict[], own: string): OwnershipConflict[] =>
  conflicts.filter(({ manager, field }) => manager !== FIELD_MANAGER && manager !== own && !MARKS.has(field));

/** At most this many fields of one manager are named. */
const NAMED_FIELDS = 8;

/** Managers with their fields, for a message. */
export function describeConflicts(conflicts: readonly OwnershipConflict[]): string {
  const byManager = new Map<string, string[]>();
  for (const { manager, field } of conflicts) {
    byManager.set(manager, [...(byManager.get(manager) ?? []), field]);
  }
  return [...byManager]
    .map(([manager, fields]) => `"${manager}" owns ${listed(fields, NAMED_FIELDS)}`)
    .join('; ');
}

/** The first of many, and how many more there are. */
export function listed(names: readonly string[], most: number): string {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${names.slice(0, most).join(', ')}${more}`;
}
