import { describe, expect, it } from 'vitest';
import { localizationSpec, subscriptionSpec } from '../../../api/plan/actions/clusternet-body.js';
import { checkOverrides } from './overrides.js';

const scope = {
  params: { mode: 'active", "evil": "1', count: 3 },
  planName: 'p',
  executionName: 'e',
  operation: 'Execute',
  outputs: {},
};
const feed = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' };

describe('checkOverrides', () => {
  it.each([
    ['JSONPatch', '[{"op": "replace", "path": "/spec/replicas", "value": 1}]'],
    ['JSONPatch', '- {op: remove, path: /metadata/labels/x}'],
    ['MergePatch', 'spec:\n  replicas: 1'],
    ['FieldMergePatch', '{}'],
  ])('takes %s %s', (type, value) => {
    expect(checkOverrides([{ name: 'o', type, value }], 'Deployment')).toBeUndefined();
  });
  it.each([
    ['JSONPatch', '{"op": "add"}', 'must be a list'],
    ['JSONPatch', '- {op: put, path: /a}', 'no valid op'],
    ['JSONPatch', '- {op: add, path: a}', 'no valid path'],
    ['MergePatch', '- 1', 'must be a map'],
    ['MergePatch', '', 'must be a map'],
    ['MergePatch', '{a: [', 'neither YAML nor JSON'],
    ['MergePatch', 'a: 1\na: 2', 'neither YAML nor JSON'],
    ['Kustomize', 'a: 1', 'is not known'],
  ])('refuses %s %s', (type, value, message) => {
    const refusal = checkOverrides([{ name: 'o', type, value }], undefined);
    expect(refusal).toMatchObject({ reason: 'InvalidOverride' });
    expect(refusal?.message).toContain(`overrides[0] "o": `);
    expect(refusal?.message).toContain(message);
  });
  it('knows which types work on charts', () => {
    const helm = [{ name: 'o', type: 'Helm', value: 'a: 1' }];
    expect(checkOverrides(helm, 'HelmChart')).toBeUndefined();
    expect(checkOverrides(helm, 'Deployment')).toBeUndefined();
    expect(checkOverrides([{ name: 'o', type: 'MergePatch', value: 'a: 1' }], 'HelmChart')).toBeDefined();
  });
});

describe('bodies', () => {
  it('fills override values by their structure: a value adds no field', () => {
    const overrides = [{ name: 'o', type: 'MergePatch', value: '{"data": {"mode": "{{ .params.mode }}"}}' }];
    const body = localizationSpec({ name: 'l', namespace: 'n', feed, overrides }, scope);
    const value = body.ok ? (body.spec.overrides as { value: string }[])[0]?.value : undefined;
    expect(JSON.parse(value ?? '')).toEqual({ data: { mode: scope.params.mode } });
  });
  it('gives the same from both forms [S1.2]', () => {
    const flat = localizationSpec({ name: 'l', namespace: 'n', feed, priority: 7 }, scope);
    expect(flat).toEqual(localizationSpec({ name: 'l', namespace: 'n', spec: { feed, priority: 7 } }, scope));
    const spec = { feeds: [feed], subscribers: [{ clusterAffinity: {}, weight: 1 }] };
    expect(subscriptionSpec({ name: 's', ...spec }, scope)).toEqual(
      subscriptionSpec({ name: 's', spec }, scope),
    );
  });
  it('refuses both at once', () => {
    const both = { name: 'l', namespace: 'n', feed, spec: {} };
    expect(localizationSpec(both, scope)).toMatchObject({ ok: false, reason: 'InvalidSpec' });
  });
});
