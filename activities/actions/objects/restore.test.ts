import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyMergePatch, fieldPath, joinMasks, maskOf, mergePatchOf, planRestore } from './restore.js';

const key = fc.constantFrom('a', 'b', 'c', 'd');
const scalar = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('x', 'y'), fc.boolean());
const { value } = fc.letrec<{ value: unknown; map: unknown }>((tie) => ({
  map: fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(fc.oneof(scalar, fc.dictionary(key, scalar, { noNullPrototype: true })), { maxLength: 2 }),
    tie('map'),
  ),
}));
const object = fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true });

function restored(states: {
  prior: unknown;
  after: unknown;
  current: unknown;
  mask?: ReturnType<typeof maskOf>;
}): unknown {
  const plan = planRestore(states);
  if (plan.kind === 'conflict') throw new Error(`unexpected conflict: ${JSON.stringify(plan.conflicts)}`);
  return plan.kind === 'nothing' ? states.current : plan.desired;
}

describe('planRestore', () => {
  it('gives back exactly the prior object when nobody else wrote', () => {
    fc.assert(
      fc.property(object, object, (prior, after) => {
        expect(restored({ prior, after, current: after })).toEqual(prior);
      }),
    );
  });

  it('has nothing to do on the prior object', () => {
    fc.assert(
      fc.property(object, object, (prior, after) => {
        expect(planRestore({ prior, after, current: prior })).toEqual({ kind: 'nothing' });
      }),
    );
  });

  it('has nothing to do a second time', () => {
    fc.assert(
      fc.property(object, object, object, (prior, after, current) => {
        const plan = planRestore({ prior, after, current });
        if (plan.kind !== 'change') return;
        const once = plan.desired;
        expect(planRestore({ prior, after, current: once })).toEqual({ kind: 'nothing' });
      }),
    );
  });

  it('keeps what others added', () => {
    fc.assert(
      fc.property(object, object, value, (prior, after, foreign) => {
        const result = restored({ prior, after, current: { ...after, foreign } });
        expect(result).toEqual({ ...prior, foreign });
      }),
    );
  });

  it('changes no field that the action did not change', () => {
    fc.assert(
      fc.property(object, object, object, (prior, after, current) => {
        const plan = planRestore({ prior, after, current });
        if (plan.kind !== 'change') return;
        const result = plan.desired as Record<string, unknown>;
        for (const name of ['a', 'b', 'c', 'd']) {
          if (JSON.stringify(prior[name]) === JSON.stringify(after[name]))
            expect(result[name]).toEqual(current[name]);
        }
      }),
    );
  });

  it('names field, expected and found when somebody else changed a field since [S3.16]', () => {
    const plan = planRestore({
      prior: { spec: { replicas: 1, paused: true } },
      after: { spec: { replicas: 3 } },
      current: { spec: { replicas: 5 } },
    });
    expect(plan).toEqual({
      kind: 'conflict',
      conflicts: [{ field: 'spec.replicas', expected: 3, found: 5, prior: 1 }],
    });
  });

  it('treats a list as one value [S3.16]', () => {
    const plan = planRestore({ prior: { l: [1] }, after: { l: [1, 2] }, current: { l: [1, 2, 3] } });
    expect(plan.kind).toBe('conflict');
  });

  it('removes a map that the action brought in, not only its keys', () => {
    expect(
      restored({ prior: {}, after: { selector: { a: '1' } }, current: { selector: { a: '1' } } }),
    ).toEqual({});
    expect(
      restored({ prior: {}, after: { m: { a: '1' } }, current: { m: { a: '1', theirs: '2' } } }),
    ).toEqual({ m: { theirs: '2' } });
  });

  it('leaves alone what changed outside the fields that the action wrote', () => {
    const states = {
      prior: { spec: { replicas: 1, image: 'a' } },
      after: { spec: { replicas: 3, image: 'b' } },
      current: { spec: { replicas: 3, image: 'b' } },
    };
    const result = restored({ ...states, mask: maskOf({ spec: { replicas: 3 } }) });
    expect(result).toEqual({ spec: { replicas: 1, image: 'b' } });
  });
});

describe('mergePatchOf', () => {
  it('turns one object into the other', () => {
    fc.assert(
      fc.property(object, object, (from, to) => {
        expect(applyMergePatch(from, mergePatchOf(from, to))).toEqual(to);
      }),
    );
  });
});

describe('masks and paths', () => {
  it('joins masks', () => {
    expect(joinMasks(maskOf({ a: { b: 1 } }), maskOf({ a: { c: 1 }, d: [] }))).toEqual({
      a: { b: true, c: true },
      d: true,
    });
  });
  it('quotes keys that are not plain words', () => {
    expect(fieldPath(['metadata', 'labels', 'app.kubernetes.io/name'])).toBe(
      'metadata.labels["app.kubernetes.io/name"]',
    );
  });
});
