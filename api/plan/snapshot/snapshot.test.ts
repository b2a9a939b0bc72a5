import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../core/json.js';
import { decodeSnapshot, encodeSnapshot, resolveBody, takeSnapshot } from './snapshot.js';
import type { Snapshot } from './snapshot.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../types.js';

const snapshot = (manifest: string): Snapshot => ({
  plan: {
    name: 'shop',
    namespace: 'dr',
    uid: 'p',
    generation: 1,
    spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'w' } }] }] },
  },
  workflows: {
    'dr/w': {
      uid: 'w',
      generation: 2,
      spec: { actions: [{ name: 'a', type: 'KubernetesResource', resource: { manifest } }] },
    },
  },
  params: [{ name: 'x', value: 'y' }],
  operation: 'Execute',
  runMode: 'Planned',
});

const encoded = (value: Snapshot): Extract<ReturnType<typeof encodeSnapshot>, { ok: true }> => {
  const result = encodeSnapshot(value);
  if (!result.ok) throw new Error(result.problem.message);
  return result;
};

describe('canonicalJson', () => {
  it('does not depend on the order of keys', () => {
    expect(canonicalJson({ b: 1, a: [{ d: 1, c: 2 }] })).toBe('{"a":[{"c":2,"d":1}],"b":1}');
  });

  it('keeps every JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value));
      }),
    );
    expect(canonicalJson(JSON.parse('{"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1}}');
  });
});

describe('snapshot parts', () => {
  it('keeps a small snapshot readable', () => {
    const value = snapshot('kind: ConfigMap');
    const { parts, digest } = encoded(value);
    expect(parts).toHaveLength(1);
    expect(parts[0]).toMatchObject({ encoding: 'json', snapshot: { plan: { name: 'shop' } } });
    expect(decodeSnapshot(parts, digest)).toEqual(value);
  });

  it('splits a large one into parts below the limit, which join in any order', () => {
    const value = snapshot(randomBytes(2 * 1024 * 1024).toString('base64'));
    const { parts, digest } = encoded(value);
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(JSON.stringify(part).length).toBeLessThan(1_000_000);
    expect(decodeSnapshot([...parts].reverse(), digest)).toEqual(value);
  });

  it('refuses more than 8 MiB and says what to do [S5.20]', () => {
    const result = encodeSnapshot(snapshot('x'.repeat(9 * 1024 * 1024)));
    expect(result).toMatchObject({ ok: false, problem: { reason: 'SnapshotTooLarge' } });
  });

  it('refuses changed content, missing parts and foreign objects', () => {
    const { parts, digest } = encoded(snapshot('a'));
    expect(() => decodeSnapshot([{ encoding: 'json', snapshot: snapshot('b') }], digest)).toThrow(/SHA-256/);
    expect(() => decodeSnapshot([{ foo: 1 }], digest)).toThrow(/unreadable/);
    const large = encoded(snapshot(randomBytes(2 * 1024 * 1024).toString('base64')));
    expect(() => decodeSnapshot(large.parts.slice(1), large.digest)).toThrow(/parts/);
    expect(decodeSnapshot(parts, digest)).toBeDefined();
  });
});

describe('managers of fields', () => {
  const use = { workflowRef: { name: 'w' } };
  const taken = (stages: { name: string; workflows: object[] }[]): Snapshot => {
    const value = snapshot('kind: ConfigMap');
    return { ...value, plan: { ...value.plan, spec: { stages: stages as never } } };
  };
  const manager = (value: Snapshot, stage: number, workflow: number): string | undefined =>
    resolveBody(value, { stage, workflow, action: 0 }).manager;

  it('[F5] are the same wherever the stage stands, and differ between two uses of a workflow', () => {
    const before = taken([{ name: 's', workflows: [use, use] }]);
    const after = taken([
      { name: 'new', workflows: [use] },
      { name: 's', workflows: [{ workflowRef: { name: 'gone' } }, use, use] },
    ]);
    expect(manager(before, 0, 0)).toMatch(/^[0-9a-f]{12}$/);
    expect(manager(after, 1, 1)).toBe(manager(before, 0, 0));
    expect(manager(after, 1, 2)).toBe(manager(before, 0, 1));
    expect(new Set([manager(after, 0, 0), manager(after, 1, 1), manager(after, 1, 2)]).size).toBe(3);
  });

  it('[F5] are given to what writes objects only', () => {
    const value = snapshot('');
    const actions = [
      { name: 'call', type: 'HTTP', http: { url: 'https://x/' } },
      {
        name: 'called',
        type: 'HTTP',
        http: { url: 'https://x/' },
        rollback: { type: 'KubernetesResource' as const, resource: { manifest: '' } },
      },
    ];
    value.workflows['dr/w'] = { uid: 'w', generation: 1, spec: { actions } };
    expect(resolveBody(value, { stage: 0, workflow: 0, action: 0 })).not.toHaveProperty('manager');
    expect(resolveBody(value, { stage: 0, workflow: 0, action: 1 })).toHaveProperty('manager');
  });
});

describe('takeSnapshot', () => {
  const plan: DRPlan = {
    metadata: { name: 'shop', namespace: 'dr', uid: 'p', generation: 3 },
    spec: {
      stages: [
        {
          name: 's',
          workflows: [
            { workflowRef: { name: 'w' } },
            { workflowRef: { name: 'gone', namespace: 'other' } },
            { workflowRef: { name: 'gone', namespace: 'other' } },
          ],
        },
      ],
    },
  };
  const execution: DRPlanExecution = {
    metadata: { name: 'run', namespace: 'dr' },
    spec: { planRef: 'shop', operationType: 'Execute' },
  };
  const workflow: DRWorkflow = {
    metadata: { name: 'w', namespace: 'dr', uid: 'w', generation: 7 },
    spec: { actions: [{ name: 'a', type: 'HTTP', http: { url: 'https://x' } }] },
  };

  it('looks references up in the plan namespace unless they name another, and lists what is missing', () => {
    const { snapshot: taken, missing } = takeSnapshot({
      plan,
      execution,
      lookup: (namespace, name) => (namespace === 'dr' && name === 'w' ? workflow : undefined),
    });
    expect(missing).toEqual(['other/gone']);
    expect(taken.workflows['dr/w']).toEqual({ uid: 'w', generation: 7, spec: workflow.spec });
    expect(taken.runMode).toBe('Planned');
  });
});
