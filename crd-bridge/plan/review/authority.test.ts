import { expect, it } from 'vitest';
import type { KubeClient } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import type { RawRequest } from '../../../kube/transport.js';
import { createAuthority } from './authority.js';
import type { AuthorizationMode } from './authority.js';

const plan = { namespace: 'shop', name: 'switch' };

/** An API server that says what it was asked, and allows these verbs. */
function server(allowed: readonly string[], mode: AuthorizationMode = 'Enforce') {
  const asked: unknown[] = [];
  const kube = {
    raw: ({ body }: RawRequest) => {
      const { spec } = body as { spec: { resourceAttributes: { verb: string } } };
      asked.push(spec);
      return Promise.resolve({ status: { allowed: allowed.includes(spec.resourceAttributes.verb) } });
    },
  } as unknown as KubeClient;
  return { asked, authority: createAuthority(kube, mode) };
}

it('asks with all that the API server knows of the user', async () => {
  const { asked, authority } = server(['execute']);
  const alice = { user: 'alice', uid: 'u', groups: ['ops', ' ', ''], extra: { scopes: ['a'] } };
  expect(await authority.onPlan(alice, ['execute'], plan)).toBeUndefined();
  expect(asked).toEqual([
    {
      user: 'alice',
      uid: 'u',
      groups: ['ops'],
      extra: { scopes: ['a'] },
      resourceAttributes: {
        group: 'dr.bkbcs.tencent.com',
        resource: 'drplans',
        verb: 'execute',
        namespace: 'shop',
        name: 'switch',
      },
    },
  ]);
});

it('names what is missing and how to grant it', async () => {
  const { authority } = server([]);
  expect(await authority.onPlan({ user: 'bob' }, ['revert', 'drill'], plan)).toMatchObject({
    reason: 'NotAuthorized',
    message: expect.stringContaining(
      'user "bob" may not revert or drill plan "shop/switch"; an administrator can grant the verb "revert" or "drill" on drplans.dr.bkbcs.tencent.com/switch',
    ),
  });
});

it.each(['use', 'impersonate'])('lets those use an account who have the verb %s', async (verb) => {
  const account = { namespace: 'shop', name: 'acts' };
  expect(await server([verb]).authority.useAccount({ user: 'a' }, account, 'switch')).toBeUndefined();
  expect(await server(['get']).authority.useAccount({ user: 'a' }, account, 'switch')).toMatchObject({
    reason: 'NotAuthorized',
  });
});

it.each(['', ' ', '\n'])('lets nobody called %j do anything, whatever their groups [SEC1]', async (user) => {
  const { asked, authority } = server(['execute']);
  const subject = { user, groups: ['system:masters'] };
  expect(await authority.onPlan(subject, ['execute'], plan)).toMatchObject({ reason: 'NotAuthorized' });
  expect(asked).toEqual([]);
});

it('does not let anybody pass because the API server does not answer', async () => {
  const error = new KubeError('down', { code: 0, reason: 'Unreachable' });
  const kube = { raw: () => Promise.reject(error) } as unknown as KubeClient;
  const authority = createAuthority(kube, 'Enforce');
  await expect(authority.onPlan({ user: 'alice' }, ['execute'], plan)).rejects.toBe(error);
});
