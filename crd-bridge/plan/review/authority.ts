/** Asks the API server who may do what (SubjectAccessReview): this program keeps no list of its own. */
import type { Refusal } from '../../../api/core/refusal.js';
import { ACCOUNT_VERBS, PLAN_RESOURCE } from '../../../api/plan/authority.js';
import type { PlanVerb } from '../../../api/plan/authority.js';
import { PLURALS } from '../../../api/core/group.js';
import type { KubeClient } from '../../../kube/client.js';
import { refusedBy } from '../../core/review.js';
import type { ReviewRequest, ReviewResponse } from '../../core/review.js';

/** What happens to a request that somebody may not make: refused, let in with a warning, not checked. */
export type AuthorizationMode = 'Enforce' | 'Warn' | 'Off';

/** Who asks, as the API server has authenticated them. */
export interface Subject {
  user: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** Who sent a request. */
export const subjectOf = ({ user, groups, userUid, userExtra }: ReviewRequest): Subject => ({
  user,
  ...(groups !== undefined && { groups }),
  ...(userUid !== undefined && { uid: userUid }),
  ...(userExtra !== undefined && { extra: userExtra }),
});

/** Decides who may do what. */
export interface Authority {
  readonly mode: AuthorizationMode;
  /** Why the subject may do none of these with the plan; undefined when they may do one. */
  onPlan(
    subject: Subject,
    verbs: readonly PlanVerb[],
    plan: { namespace: string; name: string },
  ): Promise<Refusal | undefined>;
  /** Why the subject may not have a plan act as the account; undefined when they may. */
  useAccount(
    subject: Subject,
    account: { namespace: string; name: string },
    plan: string,
  ): Promise<Refusal | undefined>;
  /**
   * Whether the subject may write the status of executions of the namespace, whatever the mode: who may can say of a run
   * what they like. False where it cannot be found out.
   */
  mayWriteStatus(subject: Subject, of: { namespace: string }): Promise<boolean>;
  /** Why the subject may not have a plan use the workflow; undefined when they may read it. */
  readWorkflow(
    subject: Subject,
    workflow: { namespace: string; name: string },
    plan: string,
  ): Promise<Refusal | undefined>;
}

/** The webhook's own deadline is the API server's patience. */
const TIMEOUT_MS = 2000;

/** An authority that asks the API server each time. */
export function createAuthority(kube: KubeClient, mode: AuthorizationMode): Authority {
  async function may(
    { user, uid, groups = [], extra }: Subject,
    attributes: {
      group: string;
      resource: string;
      subresource?: string;
      verb: string;
      namespace: string;
      name?: string;
    },
  ): Promise<boolean> {
    // An empty user with groups would be judged by its groups alone.
    if (user.trim() === '') return false;
    const review = await kube.raw<{ status?: { allowed?: boolean } }>({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      timeoutMs: TIMEOUT_MS,
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user,
          groups: groups.filter((group) => group.trim() !== ''),
          ...(uid !== undefined && { uid }),
          ...(extra !== undefined && { extra }),
          resourceAttributes: attributes,
        },
      },
    });
    return review.status?.allowed === true;
  }

  async function any(
    subject: Subject,
    verbs: readonly string[],
    on: { group: string; resource: string; namespace: string; name: string },
  ): Promise<boolean> {
    for (const verb of verbs) if (await may(subject, { ...on, verb })) return true;
    return false;
  }

  return {
    mode,
    async onPlan(subject, verbs, { namespace, name }) {
      if (mode === 'Off') return undefined;
      if (await any(subject, verbs, { ...PLAN_RESOURCE, namespace, name })) return undefined;
      const wanted = verbs.map((verb) => `"${verb}"`).join(' or ');
      return {
        reason: 'NotAuthorized',
        message: `user ${JSON.stringify(subject.user)} may not ${verbs.join(' or ')} plan "${namespace}/${name}"; an administrator can grant the verb ${wanted} on ${PLAN_RESOURCE.resource}.${PLAN_RESOURCE.group}/${name} in that namespace (ClusterRole drover-operator has all verbs)`,
      };
    },
    async useAccount(subject, { namespace, name }, plan) {
      if (mode === 'Off') return undefined;
      if (await any(subject, ACCOUNT_VERBS, { group: '', resource: 'serviceaccounts', namespace, name })) {
        return undefined;
      }
      return {
        reason: 'NotAuthorized',
        message: `user ${JSON.stringify(subject.user)} may not use service account "${namespace}/${name}", which plan "${plan}" acts as; an administrator can grant the verb "use" on serviceaccounts/${name} in that namespace`,
      };
    },
    async mayWriteStatus(subject, { namespace }) {
      const { group } = PLAN_RESOURCE;
      const status = {
        group,
        resource: PLURALS.DRPlanExecution,
        subresource: 'status',
        verb: 'patch',
        namespace,
      };
      return may(subject, status).catch(() => false);
    },
    async readWorkflow(subject, { namespace, name }, plan) {
      if (mode === 'Off') return undefined;
      const { group } = PLAN_RESOURCE;
      if (await any(subject, ['get'], { group, resource: PLURALS.DRWorkflow, namespace, name }))
        return undefined;
      return {
        reason: 'NotAuthorized',
        message: `user ${JSON.stringify(subject.user)} may not read workflow "${namespace}/${name}", which plan "${plan}" uses; an administrator can grant the verb "get" on ${PLURALS.DRWorkflow}.${group}/${name} in that namespace`,
      };
    },
  };
}

/** Adds a refusal to a response, as the mode requires. */
export function withAuthority(
  mode: AuthorizationMode,
  refusal: Refusal | undefined,
  response: ReviewResponse,
): ReviewResponse {
  if (refusal === undefined || mode === 'Off' || !response.allowed) return response;
  if (mode === 'Enforce') return refusedBy(refusal, response.warnings);
  return {
    ...response,
    warnings: [`would be refused with --authorization=Enforce: ${refusal.message}`, ...response.warnings],
  };
}
