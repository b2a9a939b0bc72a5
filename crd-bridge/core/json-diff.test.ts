import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diffFields, sameJson } from './json-diff.js';
import type { PatchOperation } from './json-diff.js';

/** Applies what the API server would, for paths of one or two steps. */
function apply(
  object: Record<string, unknown>,
  operations: readonly PatchOperation[],
): Record<string, unknown> {
  const result = structuredClone(object);
  for (const operation of operations) {
    const [key = '', index] = operation.path
      .slice('/status/'.length)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    if (index !== undefined && operation.op === 'replace') {
      const list = result[key];
      if (!Array.isArray(list) || Number(index) >= list.length)
        throw new Error(`no item at ${operation.path}`);
      list[Number(index)] = operation.value;
    } else if (operation.op === 'remove') {
      if (!(key in result)) throw new Error(`nothing at ${operation.path}`);
      delete result[key];
    } else {
      result[key] = operation.value;
    }
  }
  return result;
}

const value = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.array(fc.dictionary(fc.string(), fc.integer()), { maxLength: 4 }),
);
const object = fc.dictionary(
  fc.oneof(fc.constantFrom('a', 'b', 'x/y', '~z', 'toString', 'constructor'), fc.string({ minLength: 1 })),
  value,
  {
    maxKeys: 5,
    noNullPrototype: true,
  },
);

it('turns any object into any other, and equal ones with nothing', () => {
  fc.assert(
    fc.property(object, object, (from, to) => {
      // The little patcher above cannot set this one key on a plain object.
      fc.pre(!Object.hasOwn(from, '__proto__') && !Object.hasOwn(to, '__proto__'));
      expect(sameJson(apply(from, diffFields('/status', from, to)), to)).toBe(true);
      expect(diffFields('/status', to, structuredClone(to))).toEqual([]);
    }),
  );
});

it('replaces only the items that changed', () => {
  const from = { stages: [{ n: 1 }, { n: 2 }, { n: 3 }], phase: 'Running' };
  const to = { stages: [{ n: 1 }, { n: 9 }, { n: 3 }], phase: 'Running' };
  expect(diffFields('/status', from, to)).toEqual([
    { op: 'replace', path: '/status/stages/1', value: { n: 9 } },
  ]);
});

it('takes an undefined field for an absent one', () => {
  expect(diffFields('/status', { a: 1 }, { a: 1, b: undefined })).toEqual([]);
  expect(diffFields('/status', { a: 1 }, { a: undefined })).toEqual([{ op: 'remove', path: '/status/a' }]);
});
