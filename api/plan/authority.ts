/**
 * Who may do what with a plan: verbs of Kubernetes authorization, beside those of the API
 * (docs/authority.md#who-may-run-a-plan).
 */
import { GROUP, PLURALS } from '../core/group.js';
import type { DRPlanExecutionSpec } from './types.js';

/** Verbs on `drplans` that people are granted. */
export const PLAN_VERBS = ['execute', 'revert', 'cancel', 'approve', 'drill'] as const;
/** One of them. */
export type PlanVerb = (typeof PLAN_VERBS)[number];

/** Verbs on `serviceaccounts` of which one is needed to have a plan act as an account. */
export const ACCOUNT_VERBS = ['use', 'impersonate'] as const;

/** The resource that {@link PLAN_VERBS} are granted on. */
export const PLAN_RESOURCE = { group: GROUP, resource: PLURALS.DRPlan } as const;

/** Stands for the controller itself in the record of whom a run was authorised to act as. */
export const CONTROLLER = 'controller';

/**
 * Verbs of which one is needed to create an execution. A drill has a verb of its own, so that those who rehearse need not
 * be those who fail over; who may drill may also clean up after a drill.
 *
 * @param targetRunMode Revert: `runMode` of the execution that is undone
 */
export function verbsFor(
  { operationType, runMode }: Pick<DRPlanExecutionSpec, 'operationType' | 'runMode'>,
  targetRunMode: string | undefined,
): PlanVerb[] {
  if (operationType === 'Revert') return targetRunMode === 'Drill' ? ['revert', 'drill'] : ['revert'];
  return runMode === 'Drill' ? ['drill'] : ['execute'];
}

/** How an account is recorded, and what the API server calls it. */
export const accountUser = (namespace: string, name: string | undefined): string =>
  name === undefined ? CONTROLLER : `system:serviceaccount:${namespace}:${name}`;

/**
 * Whether a text can be the name of a service account. Whatever is not must never be sent: an API server, or something on
 * the way to it, may take an empty user for nobody in particular.
 */
export const isAccountName = (name: string): boolean =>
  name.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name);

/** Whether a text can be the name of a namespace. */
export const isNamespaceName = (name: string): boolean =>
  name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name);
