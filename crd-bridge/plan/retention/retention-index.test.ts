import { expect, it } from 'vitest';
import type { Change } from '../../../kube/informer.js';
import { createRetentionIndex } from './retention-index.js';
import type { CachedExecution } from '../types.js';

const execution = (uid: string, planRef: string, parent?: string): CachedExecution => ({
  metadata: {
    name: uid,
    namespace: 'ns',
    uid,
    ...(parent !== undefined && {
      annotations: {
        'dr.bkbcs.tencent.com/nested-in': JSON.stringify({
          parent: { name: parent, uid: parent },
          at: '0/0/0',
          plans: ['p'],
        }),
      },
    }),
  },
  spec: { planRef, operationType: 'Execute' },
});

it('goes with its cache: what is new, what changed, what is gone', () => {
  let tell: (change: Change<CachedExecution>) => void = () => undefined;
  const index = createRetentionIndex({ onChange: (handler) => (tell = handler) });
  const [a, b, part] = [execution('a', 'p'), execution('b', 'p'), execution('part', 'q', 'a')];
  for (const object of [a, b, part]) tell({ kind: 'set', object });
  expect(index.plans()).toEqual(['ns/p', 'ns/q']);
  expect(index.ofPlan('ns/p')).toEqual([a, b]);
  expect(index.nestedIn('a')).toEqual([part]);

  const ended = { ...a, status: { phase: 'Succeeded' } };
  tell({ kind: 'set', object: ended, previous: a });
  expect(index.ofPlan('ns/p').map(({ status }) => status?.phase)).toEqual([undefined, 'Succeeded']);
  tell({ kind: 'set', object: execution('part', 'q'), previous: part });
  expect(index.nestedIn('a')).toEqual([]);

  tell({ kind: 'gone', object: ended });
  tell({ kind: 'gone', object: b });
  expect(index.plans()).toEqual(['ns/q']);
  expect(index.ofPlan('ns/p')).toEqual([]);
});
