import { expect, it } from 'vitest';
import type { RunDescription, Runs } from '../../../client/runs/runs.js';
import type { RunInput } from '../../../workflows/plan/contract.js';
import { remainsOf } from './remains.js';
import type { RemainsDeps } from './remains.js';

const closed: RunDescription = {
  workflowId: 'id',
  runId: 'r',
  firstRunId: 'r',
  state: 'Terminated',
  startTime: new Date(0),
  closeTime: new Date(0),
};

/** A run of two stages, of which the second still runs. */
function setup() {
  const terminated: string[] = [];
  let state: RunDescription['state'] = 'Running';
  const runs: Partial<Runs> = {
    input: () =>
      Promise.resolve({
        run: { namespace: 'ns', name: 'e', plan: { name: 'p' }, operation: 'Execute' },
        stages: [{ name: 'one' }, { name: 'two' }],
      } as RunInput),
    describeChild: (_run, workflowId) =>
      Promise.resolve(workflowId === 'id/s1' ? { ...closed, workflowId, state } : undefined),
    terminate: (workflowId) => {
      terminated.push(workflowId);
      state = 'Terminated';
      return Promise.resolve('accepted');
    },
    told: () => Promise.resolve({ begun: [], ended: [] }),
    unfinished: () => Promise.resolve({ actions: [], plans: [] }),
    settlements: { look: () => Promise.resolve({ kind: 'none' }), start: () => Promise.resolve() },
  };
  const silent = (): void => undefined;
  const deps = {
    runs,
    cluster: 'c',
    settings: { bounds: {}, taskWaitMs: 30_000 },
    log: { debug: silent, info: silent, warn: silent, error: silent },
  } as unknown as RemainsDeps;
  return { deps, terminated };
}

it('a stage that is left holds the plan, and is ended only by who is to act [S5.59]', async () => {
  const { deps, terminated } = setup();
  expect(await remainsOf(deps, closed, false)).toContain('id/s1');
  expect(terminated).toEqual([]);
  expect(await remainsOf(deps, closed, true)).toContain('id/s1');
  expect(terminated).toEqual(['id/s1']);
  expect(await remainsOf(deps, closed, false)).toBeUndefined();
});

it('a run that has completed by itself, or was forgotten, has left nothing', async () => {
  const { deps } = setup();
  expect(await remainsOf(deps, { ...closed, state: 'Completed' }, true)).toBeUndefined();
  const forgotten = { ...deps, runs: { ...deps.runs, input: () => Promise.resolve(undefined) } };
  expect(await remainsOf(forgotten, closed, true)).toBeUndefined();
});
