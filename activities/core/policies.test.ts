import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import { createPolicies, guarded } from './policies.js';
import { policyFor } from '../../api/plan/policy.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const gone = new KubeError('down', { code: 0, reason: 'Unreachable' });
const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'r' } };

it('are read once in five seconds, and anew when they are forgotten', async () => {
  const list = vi.fn().mockResolvedValue({ items: [] });
  const policies = createPolicies({ list } as unknown as KubeClient);
  await Promise.all([policies.of('a'), policies.of('b')]);
  await policies.of('a');
  expect(list).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(5001);
  await policies.of('a');
  expect(list).toHaveBeenCalledTimes(2);
  policies.forget();
  list.mockResolvedValue({ items: [{ spec: { allow: ['RBAC'] } }] });
  expect((await policies.of('a')).refuseObject(role)).toBeUndefined();
});

it('hold on while the API server is away, but are never guessed', async () => {
  const list = vi.fn().mockRejectedValue(gone);
  const policies = createPolicies({ list } as unknown as KubeClient);
  await expect(policies.of('a')).rejects.toBe(gone);
  list.mockResolvedValueOnce({ items: [{ spec: { hosts: [] } }] });
  await policies.of('a');
  vi.advanceTimersByTime(5001);
  expect((await policies.of('a')).refuseHost('x', 443)).toContain('none of the hosts');
  policies.forget();
  const forbidden = new KubeError('no', { code: 403, reason: 'Forbidden' });
  list.mockRejectedValueOnce(forbidden);
  await expect(policies.of('a')).rejects.toBe(forbidden);
});

it('are none where the cluster does not know the kind', async () => {
  const list = vi.fn().mockRejectedValue(new KubeError('?', { code: 404, reason: 'KindNotFound' }));
  const policy = await createPolicies({ list } as unknown as KubeClient).of('a');
  expect(policy.refuseHost('x', 443)).toBeUndefined();
  expect(policy.refuseObject(role)).toContain('refused as RBAC');
});

it('keep a client from every kind of write, and from no read', async () => {
  const sent = vi.fn().mockResolvedValue(undefined);
  const kube = guarded(
    {
      create: sent,
      replace: sent,
      patch: sent,
      delete: sent,
      get: sent,
      as: () => kube,
    } as unknown as KubeClient,
    policyFor('a', []),
  );
  const key = { ...role, name: 'r' };
  for (const write of [
    () => kube.create(role),
    () => kube.replace(role),
    () => kube.patch(key, {}, { kind: 'merge' }),
    () => kube.patch(key, [], { kind: 'json' }),
    () => kube.delete(key),
    () => kube.as({ user: 'x' }).create(role),
  ]) {
    await expect(write()).rejects.toMatchObject({ reason: 'PolicyRefused' });
  }
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' };
  const patch = { spec: { template: { spec: { hostNetwork: true } } } };
  await expect(kube.patch(deployment, patch, { kind: 'merge' })).rejects.toMatchObject({
    reason: 'PolicyRefused',
  });
  expect(sent).not.toHaveBeenCalled();
  await kube.get(key);
  await kube.patch(deployment, { spec: { replicas: 2 } }, { kind: 'merge' });
  expect(sent).toHaveBeenCalledTimes(2);
});
