import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkGraph, dependencies, isGraph, layers } from './graph.js';

/** A list of nodes that depend on earlier ones only, in any order of the list. */
const acyclic = fc.array(fc.array(fc.nat(), { maxLength: 4 }), { minLength: 1, maxLength: 30 }).chain((raw) =>
  fc.shuffledSubarray(
    raw.map((picks, index) => ({
      name: `n${index}`,
      dependsOn: index === 0 ? [] : [...new Set(picks.map((pick) => `n${pick % index}`))],
    })),
    { minLength: raw.length },
  ),
);

describe('checkGraph', () => {
  it('accepts every acyclic graph, however it is listed', () => {
    fc.assert(
      fc.property(acyclic, (nodes) => {
        expect(checkGraph(nodes)).toEqual([]);
      }),
    );
  });

  it('finds the cycle that an added edge closes [S4.3]', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 40 }), (length) => {
        const nodes = Array.from({ length }, (_, index) => ({
          name: `n${index}`,
          dependsOn: [`n${(index + 1) % length}`],
        }));
        const [fault] = checkGraph(nodes);
        expect(fault).toMatchObject({ kind: 'cycle' });
        if (fault?.kind !== 'cycle') return;
        expect(fault.path[0]).toBe(fault.path.at(-1));
        expect(new Set(fault.path).size).toBe(length);
      }),
    );
  });

  it('names unknown dependencies and a node that waits for itself, by position', () => {
    expect(
      checkGraph([
        { name: 'a', dependsOn: ['b', 'nowhere'] },
        { name: 'b', dependsOn: ['b'] },
      ]),
    ).toEqual([
      { kind: 'unknown', index: 0, dependency: 1, name: 'nowhere' },
      { kind: 'self', index: 1, dependency: 0 },
    ]);
  });

  it('takes a chain of thousands of nodes', () => {
    const nodes = Array.from({ length: 5000 }, (_, index) => ({
      name: `n${index}`,
      dependsOn: index === 0 ? [] : [`n${index - 1}`],
    }));
    expect(checkGraph(nodes)).toEqual([]);
  });
});

describe('order', () => {
  it('is the list without any dependency and a graph with one', () => {
    expect(isGraph([{ name: 'a' }, { name: 'b', dependsOn: [] }])).toBe(false);
    expect(isGraph([{ name: 'a' }, { name: 'b', dependsOn: ['a'] }])).toBe(true);
  });

  it('layers never put a node before what it waits for, and hold every node once', () => {
    fc.assert(
      fc.property(acyclic, (nodes) => {
        const level = new Map(layers(nodes).flatMap((layer, depth) => layer.map((index) => [index, depth])));
        expect(level.size).toBe(nodes.length);
        if (!isGraph(nodes)) return;
        dependencies(nodes).forEach((needs, index) => {
          for (const need of needs) expect(level.get(need)).toBeLessThan(level.get(index) ?? -1);
        });
      }),
    );
  });
});
