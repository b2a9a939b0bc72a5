import { isAccountName } from '../../../api/plan/authority.js';
import type { DRPlanSpec } from '../../../api/plan/types.js';
import { refuse } from './refused.js';
import type { DrSettings } from '../types.js';

/**
 * Service account that a run acts as; undefined = the controller's own identity. What a run did is undone as the account
 * that did it: the plan of today may name another, with other rights.
 *
 * An empty or impossible name is nobody: it never means the default, nor the controller.
 *
 * @throws {@link Refused} when nobody is named
 */
export function accountOf(
  plan: { name: string; spec: Pick<DRPlanSpec, 'serviceAccountName'> },
  settings: Pick<DrSettings, 'defaultServiceAccount' | 'controllerIdentity'>,
  /** Revert: the plan as its target ran it. */
  undone?: Pick<DRPlanSpec, 'serviceAccountName'>,
): string | undefined {
  const account =
    undone?.serviceAccountName ?? plan.spec.serviceAccountName ?? settings.defaultServiceAccount;
  if (account !== undefined) {
    return isAccountName(account)
      ? account
      : refuse('InvalidServiceAccount', invalidAccount(plan.name, account));
  }
  if (settings.controllerIdentity) return undefined;
  return refuse('NoServiceAccount', noServiceAccount(plan.name));
}

/** What to do about a name that no service account can have. */
const invalidAccount = (plan: string, account: string): string =>
  `plan "${plan}" is to act as service account ${JSON.stringify(account.slice(0, 260))}, which no account can be called; correct spec.serviceAccountName, or leave it out for the default of the installation`;

/** What to do about a plan that names nobody to act as. */
export const noServiceAccount = (plan: string): string =>
  `plan "${plan}" names no service account to act as; set spec.serviceAccountName, or start the bridge with --default-service-account NAME or --controller-identity`;
