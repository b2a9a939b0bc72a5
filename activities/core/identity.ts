import { LRUCache } from 'lru-cache';
import { accountUser, isAccountName, isNamespaceName } from '../../api/plan/authority.js';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { RunIdentity } from '../../workflows/plan/contract.js';

/** Time for which an account that was confirmed counts as such. */
const CONFIRMED_MS = 600_000;
const MAX_ACCOUNTS = 1000;

/**
 * Returns why an impersonation has no effect; undefined when the API server takes requests of the client for the
 * user's.
 *
 * @throws KubeError when the API server refuses the impersonation, or does not answer
 */
export type ConfirmIdentity = (
  kube: KubeClient,
  user: string,
  signal: AbortSignal,
) => Promise<string | undefined>;

/**
 * Asks the API server whom it takes a client for, once in ten minutes for each account. A proxy or a gateway in between
 * may drop the headers of an impersonation; then every action would act with the worker's own rights.
 */
export function createIdentityCheck(): ConfirmIdentity {
  const confirmed = new LRUCache<string, true>({ max: MAX_ACCOUNTS, ttl: CONFIRMED_MS });
  return async (kube, user, signal) => {
    if (confirmed.has(user)) return undefined;
    const who = await whoIs(kube, user, signal);
    if (who !== user) {
      return `asked to act as ${user}, the API server took the request for one of ${who ?? 'nobody'}; something between the worker and the API server drops impersonation headers, so nothing was done`;
    }
    confirmed.set(user, true);
    return undefined;
  };
}

/**
 * A client that makes sure of its identity before every request; the answer holds for ten minutes. What makes no request
 * needs no answer: an HTTP action goes on while the API server is away.
 *
 * Requests throw KubeError `ImpersonationLost` when the API server takes it for anybody but that user.
 */
export function confirmed(
  kube: KubeClient,
  user: string,
  { confirm, signal }: { confirm: ConfirmIdentity; signal: AbortSignal },
): KubeClient {
  const sure = async (): Promise<void> => {
    const lost = await confirm(kube, user, signal);
    if (lost !== undefined) throw new KubeError(lost, { code: 422, reason: 'ImpersonationLost' });
  };
  return {
    server: kube.server,
    now: () => kube.now(),
    resolve: (...call) => kube.resolve(...call),
    get: async (...call) => (await sure(), kube.get(...call)),
    list: async (...call) => (await sure(), kube.list(...call)),
    create: async (...call) => (await sure(), kube.create(...call)),
    replace: async (...call) => (await sure(), kube.replace(...call)),
    patch: async (...call) => (await sure(), kube.patch(...call)),
    delete: async (...call) => (await sure(), kube.delete(...call)),
    async *watch(...call) {
      await sure();
      yield* kube.watch(...call);
    },
    raw: async (...call) => (await sure(), kube.raw(...call)),
    text: async (...call) => (await sure(), kube.text(...call)),
    as: (who) => kube.as(who),
    behind: (path, options) => kube.behind(path, options),
  };
}

async function whoIs(kube: KubeClient, user: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const review = await kube.raw<{ status?: { userInfo?: { username?: string } } }>({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      signal,
    });
    return review.status?.userInfo?.username;
  } catch (error) {
    // Where the user may not ask who they are, the refusal itself names the user.
    if (
      error instanceof KubeError &&
      error.code === 403 &&
      error.message.includes(`User ${JSON.stringify(user)} cannot create`)
    )
      return user;
    throw error;
  }
}

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
  if (!isAccountName(account) || !isNamespaceName(run.plan.namespace)) {
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
    : accountUser(run.plan.namespace, run.serviceAccountName);
}
