import { expect, it } from 'vitest';
import type { KubeClient } from '../../kube/client.js';
import type { RunIdentity } from '../../workflows/plan/contract.js';
import { actAs } from './identity.js';

const home = {
  as: ({ user }: { user: string }) => ({ user }) as unknown as KubeClient,
} as unknown as KubeClient;
const run = (serviceAccountName: string | undefined, namespace = 'shop'): RunIdentity =>
  ({
    plan: { name: 'p', namespace, uid: 'u' },
    ...(serviceAccountName !== undefined && { serviceAccountName }),
  }) as RunIdentity;

it('acts as the account in the namespace of the plan', () => {
  expect(actAs(run('acts'), home, true)).toMatchObject({
    ok: true,
    kube: { user: 'system:serviceaccount:shop:acts' },
  });
});

it.each(['', ' ', '\t', 'a b', 'a:b', 'a:b:c', 'a/b', 'a\nb', 'a\r\nImpersonate-Group: x', 'Ä', 'A'])(
  'is never the controller because an account is called %j [SEC1]',
  (name) => {
    expect(actAs(run(name), home, true)).toMatchObject({ ok: false });
    expect(actAs(run(name), home, false)).toMatchObject({ ok: false });
  },
);

it.each(['', ' ', 'a:b', 'kube-system:x'])('is nobody in the namespace %j [SEC1]', (namespace) => {
  expect(actAs(run('acts', namespace), home, true)).toMatchObject({ ok: false });
});
