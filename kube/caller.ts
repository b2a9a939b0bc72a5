/** Who calls a port of ours, and whether they may: asked of the API server, as components of Kubernetes do. */
import type { KubeClient } from './client.js';

/**
 * What a caller must be allowed: a verb on a kind in all namespaces, or on one object or a part of it; or on a path that is
 * no object.
 */
export type Access =
  | {
      resourceAttributes: {
        group: string;
        resource: string;
        verb: string;
        subresource?: string;
        namespace?: string;
        name?: string;
      };
    }
  | { nonResourceAttributes: { path: string; verb: string } };

/** Whether a caller is let in. */
export type CallerReview =
  | { kind: 'allowed'; user: string }
  | { kind: 'refused'; status: 401 | 403; message: string };

interface TokenReview {
  status?: {
    authenticated?: boolean;
    audiences?: string[];
    user?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
  };
}

interface SubjectAccessReview {
  status?: { allowed?: boolean };
}

/**
 * Asks the API server whose token it is (TokenReview), and whether that person may (SubjectAccessReview).
 *
 * @param token that of `Authorization: Bearer`
 * @param audience whom the token must be for; default: the API server itself
 * @param words what the access is, for messages: `may not WORDS`
 * @throws KubeError when the API server cannot be asked
 */
export async function reviewCaller(
  kube: Pick<KubeClient, 'create'>,
  token: string | undefined,
  { access, words, audience }: { access: Access; words: string; audience?: string },
): Promise<CallerReview> {
  if (token === undefined) return unknown('send a token of the cluster: Authorization: Bearer TOKEN');
  const { status } = await kube.create<TokenReview>({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    metadata: { name: '' },
    spec: { token, ...(audience !== undefined && { audiences: [audience] }) },
  });
  const user = status?.user;
  const name = user?.username ?? '';
  // A blank user with groups would be judged by its groups alone.
  // An API server that knows no audiences would let every token pass.
  const isForUs = audience === undefined || status?.audiences?.includes(audience) === true;
  if (status?.authenticated !== true || user === undefined || name.trim() === '' || !isForUs)
    return unknown('the cluster does not know this token');
  const review = await kube.create<SubjectAccessReview>({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: { name: '' },
    spec: {
      user: name,
      uid: user.uid,
      groups: user.groups?.filter((group) => group.trim() !== ''),
      extra: user.extra,
      ...access,
    },
  });
  return review.status?.allowed === true
    ? { kind: 'allowed', user: name }
    : { kind: 'refused', status: 403, message: `"${name}" may not ${words}` };
}

const unknown = (message: string): CallerReview => ({ kind: 'refused', status: 401, message });

/** Lets those read a path who may get it, as the API server answers for its own: RBAC calls it a non-resource URL. */
export const authorizePaths =
  (kube: Pick<KubeClient, 'create'>) =>
  ({ token, path }: { token: string | undefined; path: string }): Promise<CallerReview> =>
    reviewCaller(kube, token, {
      access: { nonResourceAttributes: { path, verb: 'get' } },
      words: `get the non-resource URL ${path}`,
    });
