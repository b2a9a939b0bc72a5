import type { KubeClient } from '../kube/client.js';
import type { RunIdentity } from '../workflows/contract.js';

/** Whom an action acts as. */
export type Identity = { ok: true; kube: KubeClient } | { ok: false; message: string };

/**
 * The cluster as the plan's service account, by impersonation. Fails closed: without a service account an action acts
 * as the controller only where the installation allows it, and a blank name is never anybody.
 */
export function actAs(run: RunIdentity, home: KubeClient, controllerIdentity: boolean): Identity {
  const account = run.serviceAccountName;
  if (account === undefined) {
    if (controllerIdentity) return { ok: true, kube: home };
    return {
      ok: false,
      message: `plan ${run.plan.namespace}/${run.plan.name} names no service account to act as; set spec.serviceAccountName, or start the worker with --controller-identity`,
    };
  }
  if (!/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(account)) {
    return {
      ok: false,
      message: `plan ${run.plan.namespace}/${run.plan.name} names the service account ${JSON.stringify(account)}, which is no valid name; set spec.serviceAccountName to an account in namespace ${run.plan.namespace}`,
    };
  }
  // Without groups the API server adds those of a service account itself, so the worker needs no right to impersonate
  // groups, which would be the right to become an administrator.
  return { ok: true, kube: home.as({ user: identityName(run) }) };
}

/** Whom the actions of a run act as, for messages. */
export function identityName(run: RunIdentity): string {
  return run.serviceAccountName === undefined
    ? 'the controller'
    : `system:serviceaccount:${run.plan.namespace}:${run.serviceAccountName}`;
}
