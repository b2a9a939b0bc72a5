import { expect, it } from 'vitest';
import type { KubeClient } from '../kube/client.js';
import { authorizeBy } from './codec.js';

/** An API server that knows one token, and lets everybody decode. */
function server(user: object | undefined) {
  const reviews: { kind: string; spec: Record<string, unknown> }[] = [];
  const create = (object: { kind: string; spec: Record<string, unknown> }) => {
    reviews.push(object);
    return Promise.resolve({
      status: object.kind === 'TokenReview' ? { authenticated: true, user } : { allowed: true },
    });
  };
  return { reviews, authorize: authorizeBy({ create } as unknown as KubeClient) };
}

it.each([
  undefined,
  {},
  { username: '', groups: ['system:masters'] },
  { username: ' \t', groups: ['system:masters'] },
])('nobody called %j may decode', async (user) => {
  const { authorize, reviews } = server(user);
  expect(await authorize({ token: 'x', namespace: undefined })).toMatchObject({ status: 401 });
  expect(reviews).toHaveLength(1);
});

it('whoever may decode is asked about by name and groups, blank ones left out', async () => {
  const { authorize, reviews } = server({ username: 'ann', groups: ['sre', ' '] });
  expect(await authorize({ token: 'x', namespace: undefined })).toBeUndefined();
  expect(reviews[1]?.spec).toMatchObject({ user: 'ann', groups: ['sre'] });
  expect(await authorize({ token: undefined, namespace: undefined })).toMatchObject({ status: 401 });
});
