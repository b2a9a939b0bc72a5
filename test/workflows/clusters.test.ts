import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planUndo } from '../../api/plan/undo/undo.js';
import type { ActionStatus, StageStatus } from '../../api/plan/types.js';
import {
  action,
  phasesOf,
  stages,
  startScriptedWorker,
  untilCancelled,
  workflow,
  until,
} from '../support/scripted.js';
import type { Script, ScriptedRun, ScriptedWorker } from '../support/scripted.js';
import { servers } from '../support/servers.js';

let scripted: ScriptedWorker;
beforeAll(async () => {
  scripted = await startScriptedWorker(servers.temporal, servers.temporalNamespace);
});
afterAll(() => scripted.close());

const clusters = (...names: string[]): Script[string] => ({
  kind: 'clusters',
  clusters: names.map((name) => ({ cluster: `ns/${name}`, clusterId: `id-${name}` })),
});
const spread = (name: string, extra: Parameters<typeof action>[1] = {}) =>
  action(name, { type: 'Subscription', perCluster: {}, ...extra });
/** Ends once the run has seen an event. */
const after = (run: () => ScriptedRun, event: string) => async () => {
  await until(run(), event);
  return {};
};
const actionOf = (list: readonly StageStatus[], index: number): ActionStatus => {
  const found = list[0]?.workflowExecutions?.[0]?.actionStatuses?.[index];
  if (found === undefined) throw new Error(`no action ${index}`);
  return found;
};
const inClusters = (status: ActionStatus): string[] =>
  (status.clusterStatuses ?? []).map(
    ({ cluster, phase, reason }) => `${cluster} ${phase}${reason === undefined ? '' : ` ${reason}`}`,
  );
const subscription = (name: string) => ({ apiVersion: 'v', kind: 'Subscription', name, uid: `uid-${name}` });
const made = (name: string) => ({
  outputs: { subscriptionRef: subscription(name), created: [subscription(name)] },
});

describe('actions per cluster', () => {
  it('take every cluster through what follows each other in order, whatever another cluster is at [S3.43]', async () => {
    const state: { run?: ScriptedRun } = {};
    const run = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([spread('x'), spread('y'), 'last'])] }) },
      {
        'targets x': clusters('a', 'b'),
        'targets y': clusters('a', 'b', 'c'),
        'x@ns/a': made('x-a'),
        'x@ns/b': after(() => state.run ?? fail(), 'Succeeded y@ns/a'),
      },
    );
    state.run = run;
    const result = await run.result();
    expect(phasesOf(result.stages)).toEqual([
      'one=Succeeded(Succeeded:x=Succeeded,y=Succeeded,last=Succeeded)',
    ]);
    const { events } = run.recording;
    expect(events.slice(0, 2)).toEqual(['targets x', 'targets y']);
    expect(events.indexOf('start y@ns/a')).toBeLessThan(events.indexOf('Succeeded x@ns/b'));
    expect(events.indexOf('start y@ns/b')).toBeGreaterThan(events.indexOf('Succeeded x@ns/b'));
    expect(events.slice(-2)).toEqual(['start last', 'Succeeded last']);
    expect(inClusters(actionOf(result.stages, 1))).toEqual([
      'ns/a Succeeded',
      'ns/b Succeeded',
      'ns/c Succeeded',
    ]);
    expect(actionOf(result.stages, 0)).toMatchObject({
      effect: 'Done',
      message: '2 of 2 clusters done',
      outputs: { subscriptionRefs: [subscription('x-a')], created: [subscription('x-a')] },
      clusterStatuses: [{ clusterID: 'id-a', subscription: 'x-a', effect: 'Done', round: 0 }, {}],
    });
  });

  it('roll through the clusters as many at once as is said, and start no more after a failure [S3.43]', async () => {
    const run = await scripted.run(
      {
        stages: stages({
          name: 'one',
          workflows: [workflow([spread('x', { perCluster: { limit: 1 } }), 'last'])],
        }),
      },
      {
        'targets x': clusters('a', 'b', 'c'),
        'x@ns/b': { phase: 'Failed', reason: 'NotReady', message: 'no Base yet' },
      },
    );
    const { stages: ended } = await run.result();
    expect(run.recording.events).toEqual([
      'targets x', 'start x@ns/a', 'Succeeded x@ns/a', 'start x@ns/b', 'Failed x@ns/b',
    ]); // oxfmt-ignore
    expect(phasesOf(ended)).toEqual(['one=Failed(Failed:x=Failed/NotReady,last=Skipped/FailFast)']);
    expect(actionOf(ended, 0).message).toBe('1 of 3 clusters done; failed in ns/b: no Base yet');
    expect(inClusters(actionOf(ended, 0))).toEqual([
      'ns/a Succeeded',
      'ns/b Failed NotReady',
      'ns/c Skipped FailFast',
    ]);
  });

  it('go on elsewhere with Continue, and leave the rest of the order out where a cluster failed', async () => {
    const run = await scripted.run(
      {
        stages: stages({
          name: 'one',
          workflows: [workflow([spread('x'), spread('y')], { failurePolicy: 'Continue' })],
        }),
      },
      {
        'targets x': clusters('a', 'b'),
        'targets y': clusters('a', 'b'),
        'x@ns/a': { phase: 'Failed', reason: 'NotReady', message: 'no' },
      },
    );
    const { stages: ended } = await run.result();
    expect(phasesOf(ended)).toEqual(['one=Failed(Failed:x=Failed/NotReady,y=Failed/DependencyFailed)']);
    expect(inClusters(actionOf(ended, 1))).toEqual(['ns/a Skipped DependencyFailed', 'ns/b Succeeded']);
  });

  it('that are hooks end in every cluster although one failed', async () => {
    const hook = (name: string) => spread(name, { perCluster: { limit: 1, independent: true } });
    const run = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([hook('x'), hook('y'), 'last'])] }) },
      {
        'targets x': clusters('a', 'b'),
        'targets y': clusters('a', 'b'),
        'x@ns/a': { phase: 'Failed', reason: 'NotReady', message: 'no' },
      },
    );
    const { stages: ended } = await run.result();
    expect(inClusters(actionOf(ended, 1))).toEqual(['ns/a Skipped DependencyFailed', 'ns/b Succeeded']);
    expect(phasesOf(ended)[0]).toContain('last=Skipped/FailFast');
  });

  it('leave out a cluster that was taken out before its turn', async () => {
    const run = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([spread('x')])] }) },
      {
        'targets x': clusters('a', 'b'),
        'x@ns/a': { phase: 'Failed', reason: 'ClusterGone', message: 'not there any more', effect: 'None' },
      },
    );
    const { stages: ended } = await run.result();
    expect(inClusters(actionOf(ended, 0))).toEqual(['ns/a Skipped ClusterGone', 'ns/b Succeeded']);
    expect(actionOf(ended, 0)).toMatchObject({
      phase: 'Succeeded',
      message: '1 of 2 clusters done; not in ns/a: not there any more',
    });
  });

  it('without clusters, or that a condition skips, never begin', async () => {
    const run = await scripted.run(
      {
        stages: stages({
          name: 'one',
          workflows: [workflow([spread('x'), spread('y'), spread('z')], { failurePolicy: 'Continue' })],
        }),
      },
      {
        'targets x': { kind: 'skipped', reason: 'WhenFalse', message: 'no' },
        'targets y': { kind: 'failed', reason: 'NoMatchingCluster', message: 'no cluster' },
        'targets z': clusters('a'),
      },
    );
    const { stages: ended } = await run.result();
    expect(phasesOf(ended)).toEqual([
      'one=Failed(Failed:x=Skipped/WhenFalse,y=Failed/NoMatchingCluster,z=Succeeded)',
    ]);
    expect(actionOf(ended, 1).effect).toBe('None');
  });

  it('wait for the whole action before them whose outputs they read', async () => {
    const run = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([spread('x'), spread('y', { uses: ['x'] })])] }) },
      { 'targets x': clusters('a', 'b'), 'targets y': clusters('a') },
    );
    await run.result();
    expect(run.recording.events.indexOf('targets y')).toBeGreaterThan(
      run.recording.events.indexOf('Succeeded x@ns/b'),
    );
  });

  it('[F3] are refused before anything is touched where the run would come to too many actions [S3.44]', async () => {
    const named = (count: number): Script[string] =>
      clusters(...Array.from({ length: count }, (_, index) => `c${index}`));
    const run = await scripted.run(
      {
        stages: stages(
          { name: 'one', workflows: [workflow([spread('x')])] },
          { name: 'two', workflows: [workflow([spread('y')])] },
        ),
      },
      { 'targets x': named(3), 'targets y': named(1998) },
    );
    const { phase, stages: ended } = await run.result();
    expect(phase).toBe('Failed');
    expect(ended[1]?.workflowExecutions?.[0]?.actionStatuses?.[0]).toMatchObject({
      reason: 'TooManyClusters',
      effect: 'None',
      message: expect.stringMatching(/^1998 clusters match, and the run has room for 1997 more/) as string,
    });
    expect(run.recording.events.filter((event) => event.startsWith('start y'))).toEqual([]);
  });

  it('are interrupted by a cancel, settled where they ran, and leave the other clusters alone', async () => {
    const run = await scripted.run(
      {
        stages: stages({
          name: 'one',
          workflows: [workflow([spread('x', { perCluster: { limit: 1 } }), 'last'])],
        }),
      },
      { 'targets x': clusters('a', 'b', 'c'), 'x@ns/b': () => untilCancelled() },
    );
    await until(run, 'start x@ns/b');
    await run.handle.signal('cancel', 'test');
    const { phase, stages: ended } = await run.result();
    expect(phase).toBe('Cancelled');
    expect(inClusters(actionOf(ended, 0))).toEqual([
      'ns/a Succeeded',
      'ns/b Failed Cancelled',
      'ns/c Skipped Cancelled',
    ]);
    expect(actionOf(ended, 0)).toMatchObject({ phase: 'Failed', reason: 'Cancelled', effect: 'Done' });
  });

  it('are tried again by a person only where they did not succeed, in a new round [S3.43]', async () => {
    const rounds: string[] = [];
    const counted = (name: string, failing: boolean) => (task: { round: number }) => {
      rounds.push(`${name} ${task.round}`);
      return Promise.resolve(failing && task.round === 0 ? ({ phase: 'Failed' } as const) : {});
    };
    const run = await scripted.run(
      {
        onFailure: 'Pause',
        stages: stages({ name: 'one', workflows: [workflow([spread('x'), spread('y')])] }),
      },
      {
        'targets x': clusters('a', 'b'),
        'targets y': clusters('a', 'b'),
        'x@ns/a': counted('x-a', false),
        'x@ns/b': counted('x-b', true),
        'y@ns/b': counted('y-b', false),
      },
    );
    for (let i = 0; i < 400 && !run.recording.mirrors.some((one) => one.paused !== undefined); i += 1)
      await new Promise((resolve) => setTimeout(resolve, 25));
    await run.handle.signal('retry');
    const { phase, stages: ended } = await run.result();
    expect(phase).toBe('Succeeded');
    expect(rounds.sort()).toEqual(['x-a 0', 'x-b 0', 'x-b 1', 'y-b 0']);
    expect(run.recording.events.filter((event) => event === 'targets x')).toHaveLength(1);
    expect(inClusters(actionOf(ended, 1))).toEqual(['ns/a Succeeded', 'ns/b Succeeded']);
  });

  it('are undone in every cluster that they may have had an effect in, and only there', async () => {
    const list = stages({
      name: 'one',
      workflows: [workflow([spread('x', { capture: true, perCluster: { limit: 1 } })])],
    });
    const target = await scripted.run(
      { stages: list },
      {
        'targets x': clusters('a', 'b', 'c'),
        'x@ns/a': (task) =>
          Promise.resolve({ outputs: { ...made('x-a').outputs, priorRef: task.prior } } as never),
        'x@ns/b': { phase: 'Failed', reason: 'Timeout', message: 'no end', effect: 'Unknown' },
      },
    );
    const { stages: statuses } = await target.result();
    const undo = planUndo({ stages: list, statuses, undone: [] });
    const seen: unknown[] = [];
    const revert = await scripted.run(
      {
        run: { operation: 'Revert', target: { name: 'target', uid: 'uid' } } as never,
        undo,
        undoStatuses: undo.map((item) => item.status),
      },
      {
        'undo x@ns/a': (task) => {
          seen.push(task.clusterId, task.forward, task.prior);
          return Promise.resolve({});
        },
      },
    );
    const { phase, stages: ended } = await revert.result();
    expect(phase).toBe('Succeeded');
    expect(revert.recording.events).toEqual([
      'start undo x@ns/b', 'Succeeded undo x@ns/b', 'start undo x@ns/a', 'Succeeded undo x@ns/a',
    ]); // oxfmt-ignore
    expect(seen).toEqual([
      'id-a',
      expect.objectContaining({
        phase: 'Succeeded',
        outputs: {
          created: [subscription('x-a')],
          priorRef: expect.objectContaining({ name: 'prior' }) as unknown,
        },
      }),
      expect.objectContaining({ name: 'prior' }),
    ]);
    expect(inClusters(actionOf(ended, 0))).toEqual(['ns/a Succeeded', 'ns/b Succeeded']);
  });
});

function fail(): never {
  throw new Error('too early');
}
