import { describe, expect, it } from 'vitest';
import { policyFor } from './policy.js';
import type { DRPolicySpec } from './schema/policy.js';

const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'r' } };
const configMap = (namespace: string | undefined): Record<string, unknown> => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', ...(namespace !== undefined && { namespace }) },
});

describe('without a policy', () => {
  const policy = policyFor('shop', []);
  it('everything is allowed but for escalations', () => {
    expect(policy.refuseObject(configMap('other'), 'Delete')).toBeUndefined();
    expect(policy.refuseHost('example.org', 443)).toBeUndefined();
    expect(policy.refuseCluster('10.0.0.1', 6443)).toBeUndefined();
    expect(policy.refuseAccount(undefined)).toBeUndefined();
    expect(policy.refuseObject(role, 'Apply')).toMatch(/^Role r is refused as RBAC: .*allow: \[RBAC\]/);
  });
});

describe('policies', () => {
  it('are those that name the namespace, a prefix of it, or none', () => {
    const allow: DRPolicySpec['allow'] = ['RBAC'];
    const allows = (namespaces: string[] | undefined): boolean =>
      policyFor('shop-a', [{ allow, ...(namespaces && { namespaces }) }]).refuseObject(role) === undefined;
    for (const one of [undefined, ['*'], ['shop-*'], ['x', 'shop-a']]) expect(allows(one)).toBe(true);
    for (const one of [[], ['shop'], ['shop-b*'], ['xshop-a']]) expect(allows(one)).toBe(false);
  });

  it('limit kinds, operations and namespaces, by default to the namespace of the plan', () => {
    const kinds: DRPolicySpec['kinds'] = [
      { apiGroups: [''], kinds: ['ConfigMap'], operations: ['Create', 'Apply'] },
      { apiGroups: ['apps'], kinds: ['*'], namespaces: ['db-*'] },
    ];
    const policy = policyFor('shop', [{ kinds }]);
    expect(policy.refuseObject(configMap('shop'), 'Apply')).toBeUndefined();
    expect(policy.refuseObject(configMap('shop'), 'Delete')).toContain(
      'plans of namespace shop may not delete v1 ConfigMap c in namespace shop',
    );
    // A step of something that was allowed.
    expect(policy.refuseObject(configMap('shop'))).toBeUndefined();
    expect(policy.refuseObject(configMap('other'), 'Create')).toContain('may not create');
    const deployment = (namespace: string): Record<string, unknown> => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd', namespace },
    });
    expect(policy.refuseObject(deployment('db-1'), 'Patch')).toBeUndefined();
    expect(policy.refuseObject(deployment('shop'), 'Patch')).toContain('may not patch');
    expect(policy.refuseObject({ ...role, apiVersion: 'example.org/v1' }, 'Create')).toContain('may not');
  });

  it('add up, and do not limit what none of them has a list of', () => {
    const policy = policyFor('shop', [
      { hosts: ['a.example.org'] },
      { hosts: ['*.example.com:8443', '[fd00::1]:80', 'fd00::2'] },
      { allow: ['Credentials'] },
      { namespaces: ['other'], serviceAccounts: ['x'] },
    ]);
    for (const [host, port] of [
      ['a.example.org', 443],
      ['A.Example.org.', 80],
      ['x.example.com', 8443],
      ['[fd00::1]', 80],
      ['fd00::2', 1],
    ] as const) {
      expect(policy.refuseHost(host, port), host).toBeUndefined();
    }
    for (const [host, port] of [
      ['b.example.org', 443],
      ['example.com', 8443],
      ['evil-a.example.org', 443],
      ['x.example.com', 443],
      ['fd00::1', 81],
    ] as const) {
      expect(policy.refuseHost(host, port), host).toContain('none of the hosts that a DRPolicy allows');
    }
    expect(policy.refuseAccount('anybody')).toBeUndefined();
    expect(policy.refuseCluster('10.0.0.1', 6443)).toBeUndefined();
  });

  it('say which accounts, and that none means none', () => {
    expect(policyFor('shop', [{ serviceAccounts: ['a'] }]).refuseAccount('a')).toBeUndefined();
    expect(policyFor('shop', [{ serviceAccounts: ['a'] }]).refuseAccount('b')).toContain(
      'may act as a, and not as b',
    );
    expect(policyFor('shop', [{ serviceAccounts: [] }]).refuseAccount(undefined)).toContain(
      'may act as none, and not as the controller',
    );
  });
});
