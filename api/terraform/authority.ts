/** Who may do what with a workspace: verbs of Kubernetes authorization, beside those of the API (T1.5). */
import type { TerraformRunSpec } from './schema/run.js';

/**
 * Verbs on `workspaces` that people are granted: `plan` every run, `apply` what changes something, `destroy` what takes all
 * down, `approve` also to reject, `override` a task that a run did not pass, `cancel` runs of others, `interrupt` an apply,
 * `kill` also to release, `lock` and `unlock` also to resolve, `trigger` runs of other workspaces.
 */
export const WORKSPACE_VERBS = [
  'plan',
  'apply',
  'destroy',
  'approve',
  'override',
  'cancel',
  'interrupt',
  'kill',
  'lock',
  'unlock',
  'trigger',
] as const;
/** One of {@link WORKSPACE_VERBS}. */
export type WorkspaceVerb = (typeof WORKSPACE_VERBS)[number];

/** Verbs on the workspace of which all are needed to create a run. */
export function verbsForRun({
  type,
  isDestroy,
}: Pick<TerraformRunSpec, 'type' | 'isDestroy'>): WorkspaceVerb[] {
  const applies = type === undefined || type === 'plan_and_apply';
  return [
    'plan',
    ...(applies ? (['apply'] as const) : []),
    ...(isDestroy === true ? (['destroy'] as const) : []),
  ];
}
