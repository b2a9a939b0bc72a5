import { expect, it } from 'vitest';
import { createStyle } from '../../core/render/style.js';
import { describePolicy } from './describe-policy.js';

const style = createStyle({ color: false, unicode: false });

it('says for whom a policy is, and what it lets plans do', () => {
  const lines = describePolicy(
    {
      apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
      kind: 'DRPolicy',
      metadata: { name: 'shops', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: {
        namespaces: ['shop-*'],
        hosts: ['gslb.example.com'],
        allow: ['RBAC'],
        kinds: [{ apiGroups: ['', 'apps'], kinds: ['ConfigMap', 'Deployment'], operations: ['Patch'] }],
      },
    },
    { style, now: Date.parse('2026-01-02T00:00:00Z'), width: undefined },
  ).map((line) => line.replaceAll(/ +/g, ' ').trim());
  expect(lines).toContain('Policy: shops');
  expect(lines).toContain('For plans in: shop-*');
  expect(lines).toContain('Accounts: any that author and requester may use');
  expect(lines).toContain('Hosts: gslb.example.com');
  expect(lines).toContain('Allows: RBAC');
  expect(lines).toContain('Patch with ConfigMap, Deployment of core, apps');
});
