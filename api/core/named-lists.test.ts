import { expect, it } from 'vitest';
import { describeLosses, lostItems, namedLists } from './named-lists.js';

const pod = (containers: unknown[]) => ({ spec: { template: { spec: { containers } } } });

it('[F8] finds the lists of named items in a patch, and none within them', () => {
  const patch = {
    ...pod([{ name: 'web', env: [{ name: 'A', value: '1' }] }]),
    metadata: { finalizers: ['a'], ownerReferences: [{ name: 'o' }] },
  };
  expect(namedLists(patch)).toEqual([
    { path: 'spec.template.spec.containers', names: ['web'] },
    { path: 'metadata.ownerReferences', names: ['o'] },
  ]);
  expect(namedLists({ spec: { list: [{ name: 'a' }, { value: 1 }], empty: [] } })).toEqual([]);
});

it('[F8] says which items, and which fields of those that stay, are lost', () => {
  const before = pod([
    { name: 'web', image: 'a', ports: [{ name: 'http' }], env: [{ name: 'A' }, { name: 'B' }] },
    { name: 'sidecar', image: 'b' },
    { name: 'kept', image: 'c' },
  ]);
  const after = pod([
    { name: 'kept', image: 'd' },
    { name: 'web', image: 'b', env: [{ name: 'B' }] },
  ]);
  const lost = lostItems(after, before, after);
  expect(lost).toEqual([
    {
      path: 'spec.template.spec.containers',
      items: ['sidecar'],
      fields: [{ item: 'web', fields: ['ports', 'env[A]'] }],
    },
  ]);
  expect(describeLosses(lost)).toBe('spec.template.spec.containers: item "sidecar"; of "web": ports, env[A]');
  expect(lostItems({ spec: { other: [] } }, before, {})).toEqual([]);
  expect(lostItems(pod([]), before, pod([]))).toMatchObject([{ items: ['web', 'sidecar', 'kept'] }]);
});
