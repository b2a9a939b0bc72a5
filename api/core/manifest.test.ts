import { expect, it } from 'vitest';
import { objectsIn } from './manifest.js';

it('[F8] takes the items of a List for the objects, also in a list of lists', () => {
  const one = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  const list = { apiVersion: 'v1', kind: 'List', items: [one, { ...one, kind: 'Secret' }] };
  expect(objectsIn([one, list])).toEqual([one, one, { ...one, kind: 'Secret' }]);
  expect(objectsIn([{ ...list, items: [list, one] }])).toHaveLength(3);
});

it('[F8] gives the items of a list of one kind that kind', () => {
  const items = [{ metadata: { name: 'a' } }, { kind: 'Other', metadata: { name: 'b' } }];
  expect(objectsIn([{ apiVersion: 'v1', kind: 'ConfigMapList', items }])).toEqual([
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
    { apiVersion: 'v1', kind: 'Other', metadata: { name: 'b' } },
  ]);
});

it('leaves alone what is no list of objects', () => {
  const documents = [{ kind: 'AllowList', spec: {} }, null, 'text', { kind: 5, items: [] }];
  expect(objectsIn(documents)).toEqual(documents);
});
