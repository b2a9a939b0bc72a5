import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { generatedFiles } from './generate.js';
import { KINDS } from '../api/kinds.js';
import { TERRAFORM_KINDS } from '../api/terraform/kinds.js';
import { kindSchema } from './generate/crd.js';
import { structuralSchema } from './generate/structural.js';
import type { StructuralSchema } from './generate/structural.js';

const CHART = [
  ...['drworkflows', 'drplans', 'drplanexecutions', 'drpolicies'].map(
    (plural) => `files/crds/dr.bkbcs.tencent.com_${plural}.yaml`,
  ),
  ...['overview', 'run', 'capacity'].map((name) => `files/dashboards/drover-${name}.json`),
  'files/alerts.yaml',
  ...[
    'rbac-bridge',
    'rbac-worker',
    'rbac-users',
    'rbac-profiles',
    'webhook-rbac',
    'webhook-configurations',
  ].map((name) => `templates/generated/${name}.yaml`),
];

/** Every node with its path. */
function* nodes(schema: StructuralSchema, path: string): Generator<[string, StructuralSchema]> {
  yield [path, schema];
  for (const [name, child] of Object.entries(schema.properties ?? {})) yield* nodes(child, `${path}.${name}`);
  if (schema.items !== undefined) yield* nodes(schema.items, `${path}[]`);
  if (schema.additionalProperties !== undefined) yield* nodes(schema.additionalProperties, `${path}{}`);
}

describe.each([...KINDS, ...TERRAFORM_KINDS].map((row) => [row.kind, row] as const))(
  'CRD of %s',
  (kind, row) => {
    const all = [...nodes(kindSchema(row), kind)];

    it('describes every field [S1.7]', () => {
      const silent = all.filter(
        ([path, node]) => node.description === undefined && !/(\[\]|\{\}|\.metadata)$/.test(path),
      );
      expect(silent.map(([path]) => path)).toEqual([]);
    });

    it('has one type a node, or keeps what it does not know', () => {
      for (const [path, node] of all) {
        const known = typeof node.type === 'string' || node['x-kubernetes-preserve-unknown-fields'] === true;
        expect(known, path).toBe(true);
        // Alternatives are of values, never of types.
        for (const one of (node.anyOf ?? []) as object[]) expect(one, path).not.toHaveProperty('type');
      }
    });

    it('bounds every list [S1.7]', () => {
      const open = all.filter(
        ([path, { type, maxItems }]) =>
          type === 'array' && !path.endsWith('.conditions') && typeof maxItems !== 'number',
      );
      expect(open.map(([path]) => path)).toEqual([]);
    });
  },
);

describe('generated files', () => {
  const files = generatedFiles();

  it('are CRDs that kubectl apply can store, and the reference [S1.1] [S1.7]', () => {
    expect([...files.keys()]).toEqual([
      'deploy/crds/dr.bkbcs.tencent.com_drworkflows.yaml',
      'deploy/crds/dr.bkbcs.tencent.com_drplans.yaml',
      'deploy/crds/dr.bkbcs.tencent.com_drplanexecutions.yaml',
      'deploy/crds/dr.bkbcs.tencent.com_drpolicies.yaml',
      'docs/reference.md',
      'docs/settings.md',
      'docs/limits.md',
      'deploy/webhook/configurations.yaml',
      'docs/metrics.md',
      'deploy/observability/prometheus-rule.yaml',
      'deploy/observability/dashboards/drover-overview.json',
      'deploy/observability/dashboards/drover-run.json',
      'deploy/observability/dashboards/drover-capacity.json',
      'deploy/rbac/bridge.yaml',
      'deploy/rbac/users.yaml',
      'deploy/rbac/worker.yaml',
      ...CHART.map((path) => `deploy/chart/${path}`),
    ]);
    for (const [path, text] of files) {
      if (!path.startsWith('deploy/crds/')) continue;
      expect(files.get(path.replace('deploy/', 'deploy/chart/files/'))).toBe(text);
      expect(text.length).toBeLessThan(200_000);
      expect(parse(text)).toMatchObject({
        kind: 'CustomResourceDefinition',
        spec: { scope: path.includes('drpolicies') ? 'Cluster' : 'Namespaced' },
      });
    }
  });

  it('name every field of the original in the reference, with defaults', () => {
    const text = files.get('docs/reference.md') ?? '';
    for (const field of [
      'revertExecutionRef',
      'successCodes',
      'overrideChart',
      'executionHistory',
      'dependsOn',
    ]) {
      expect(text).toContain(`\`${field}\``);
    }
    expect(text).toMatch(/\| `timeout` \| duration \| {2}\| 5m \|/);
    expect(text).toMatch(/\| `limit` \| integer \| {2}\| 3 \|/);
  });

  it('link only to headings that exist', () => {
    const text = files.get('docs/reference.md') ?? '';
    const headings = new Set([...text.matchAll(/^#+ (.+)$/gm)].map((match) => match[1]?.toLowerCase()));
    for (const [, target] of text.matchAll(/\]\(#([^)]+)\)/g)) expect(headings).toContain(target);
  });
});

describe('structuralSchema', () => {
  it('refuses what a structural schema cannot say', () => {
    expect(() => structuralSchema(z.object({ x: z.union([z.string(), z.number()]) }))).toThrow(
      /\.x: several/,
    );
  });

  it('tells 32-bit integers from larger ones and drops the edges of a double', () => {
    const { properties } = structuralSchema(z.object({ a: z.int().min(0).max(9), b: z.int() }));
    expect(properties?.a).toEqual({ type: 'integer', format: 'int32', minimum: 0, maximum: 9 });
    expect(properties?.b).toEqual({ type: 'integer', format: 'int64' });
  });
});
