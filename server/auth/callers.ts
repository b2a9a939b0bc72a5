/** Who asks, and what they may (T2.3, T2.6). */
import type { IncomingMessage } from 'node:http';
import { TERRAFORM_GROUP } from '../../api/terraform/kind-names.js';
import { SERVER_AUDIENCE, type RunPin } from '../../api/terraform/run-pin.js';
import type { Access, CallerReview } from '../../kube/caller.js';
import type { KeyRing } from '../../runtime/encryption/key-ring.js';
import { isServerToken, readToken, type TokenBearer } from '../../runtime/server-tokens.js';
import { Refusal } from '../http/refusal.js';

/** Who asks. */
export type Caller =
  | TokenBearer
  /** Somebody of the cluster; who that is, and what they may, is asked when it matters. */
  | { purpose: 'person'; token: string };

/** What a person wants to do. */
export interface PersonAccess {
  verb: string;
  resource: 'workspaces' | 'terraformruns';
  subresource?: string;
  namespace: string;
  name: string;
}

/** Asks the cluster whether the bearer of a token may do something. */
export type ReviewPerson = (token: string, access: PersonAccess) => Promise<CallerReview>;

/** Asks the API server, with two reviews. */
export const reviewPersonBy =
  (
    review: (
      token: string,
      options: { access: Access; words: string; audience: string },
    ) => Promise<CallerReview>,
  ): ReviewPerson =>
  (token, { verb, resource, subresource, namespace, name }) =>
    review(token, {
      access: {
        resourceAttributes: {
          ...{ group: TERRAFORM_GROUP, resource, verb, namespace, name },
          ...(subresource !== undefined && { subresource }),
        },
      },
      words: `${verb} ${resource}.${TERRAFORM_GROUP}${subresource === undefined ? '' : `/${subresource}`} ${namespace}/${name}`,
      audience: SERVER_AUDIENCE,
    });

/**
 * Reads who asks from a bearer token, or from the password of a user of any name, as engines send it.
 *
 * @throws Refusal `Unauthenticated`
 */
export async function callerOf(request: IncomingMessage, ring: KeyRing): Promise<Caller> {
  const token = tokenOf(request.headers.authorization);
  if (token === undefined)
    throw new Refusal('Unauthenticated', 'send a token: Authorization: Bearer TOKEN, or as the password');
  if (!isServerToken(token)) return { purpose: 'person', token };
  const bearer = await readToken(ring, token);
  if (bearer === undefined) throw new Refusal('Unauthenticated', 'the token is none of this server');
  return bearer;
}

function tokenOf(header: string | undefined): string | undefined {
  const [, scheme = '', text = ''] = /^(\w+) +(\S+)$/.exec(header ?? '') ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return text;
    case 'basic': {
      const pair = Buffer.from(text, 'base64').toString('utf8');
      return pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : undefined;
    }
    default:
      return undefined;
  }
}

/** @throws Refusal `Forbidden` unless the caller has one of these purposes */
export function allow(caller: Caller, ...purposes: TokenBearer['purpose'][]): void {
  if (!purposes.some((purpose) => purpose === caller.purpose))
    throw new Refusal('Forbidden', `this is for ${purposes.join(' and ')}, not for ${caller.purpose}`);
}

/** @throws Refusal `Forbidden` unless it is a worker, or the pool that the workspace names */
export function allowWorker(caller: Caller, pin: Pick<RunPin, 'executionMode' | 'agentPool'>): void {
  if (caller.purpose === 'worker') return;
  const isOfPool = caller.purpose === 'pool' && pin.executionMode === 'agent' && pin.agentPool === caller.id;
  if (!isOfPool) throw new Refusal('Forbidden', 'this is for a worker, or the pool that the workspace names');
}

/** @throws Refusal `Forbidden` unless the token is that of the operation */
export function allowOperation(caller: Caller, operation: string): void {
  if (caller.purpose === 'operation' && caller.id === operation) return;
  throw new Refusal('Forbidden', 'the token is not that of this operation');
}
