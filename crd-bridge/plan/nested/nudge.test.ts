import { expect, it } from 'vitest';
import { ANNOTATIONS } from '../../../api/core/group.js';
import type { Runs } from '../../../client/runs/runs.js';
import type { Change } from '../../../kube/informer.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { createNudge } from './nudge.js';

const nesting = { parent: { name: 'outer', uid: '12345678-rest' }, at: '3/0/1', plans: ['a'] };

function execution(phase: string, more: { completionTime?: string; nested?: boolean } = {}): CachedExecution {
  return {
    metadata: {
      name: 'inner',
      namespace: 'ns',
      uid: 'u',
      ...(more.nested !== false && { annotations: { [ANNOTATIONS.nestedIn]: JSON.stringify(nesting) } }),
    },
    spec: { planRef: 'b', operationType: 'Execute' },
    status: {
      phase,
      ...(more.completionTime !== undefined && { completionTime: more.completionTime }),
    },
  };
}

/** Workflows that are asked to look because of a change. */
async function told(change: Change<CachedExecution>, open: 's' | 'r' = 's'): Promise<string[]> {
  const seen: string[] = [];
  const runs: Pick<Runs, 'look'> = {
    look: (id) => {
      seen.push(id);
      return Promise.resolve(id.includes(`/${open}3`) ? 'accepted' : 'notRunning');
    },
  };
  createNudge({ runs: runs as Runs, cluster: 'c', log: {} as DrDeps['log'] })(change);
  await new Promise(setImmediate);
  return seen;
}

const STAGE = 'dr/c/ns/outer/12345678/s3';
const now = new Date().toISOString();

it('tells the stage of the action, or its rollback', async () => {
  const change: Change<CachedExecution> = {
    kind: 'set',
    object: execution('Succeeded'),
    previous: execution('Running'),
  };
  expect(await told(change)).toEqual([STAGE]);
  expect(await told(change, 'r')).toEqual([STAGE, 'dr/c/ns/outer/12345678/r3']);
  expect(await told({ kind: 'gone', object: execution('Running') })).toEqual([STAGE]);
});

it('tells after a start what ended lately, and nothing that is no news', async () => {
  expect(await told({ kind: 'set', object: execution('Failed', { completionTime: now }) })).toEqual([STAGE]);
  const old = new Date(0).toISOString();
  expect(await told({ kind: 'set', object: execution('Failed', { completionTime: old }) })).toEqual([]);
  expect(await told({ kind: 'set', object: execution('Running') })).toEqual([]);
  const same = execution('Running');
  expect(await told({ kind: 'set', object: same, previous: execution('Running') })).toEqual([]);
  expect(await told({ kind: 'gone', object: execution('Failed', { nested: false }) })).toEqual([]);
});
