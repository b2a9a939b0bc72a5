/** Subscriptions per cluster, through bridge, Temporal and worker, against the simulator of Clusternet. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createSubscriptionHandler } from '../../activities/actions/clusternet/subscription.js';
import { perCluster } from '../../activities/actions/clusternet/subscription-clusters.js';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { containing, openBench, startLife } from '../support/attempts.js';
import type { Bench } from '../support/attempts.js';
import { heal, kill, mend } from '../support/parts.js';
import { servers } from '../support/servers.js';
import { APPS, eventually, openSites } from '../support/sites.js';
import type { Sites } from '../support/sites.js';
import { actionAt, condition, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let sites: Sites;
let bench: Bench;
beforeAll(async () => {
  [stack, bench] = await Promise.all([openStack('clusters'), openBench(servers.kubeconfig)]);
  sites = await openSites(stack.kube, { sites: ['a', 'b', 'c'], feeds: ['web', 'shop'] });
});
afterEach(mend);
afterAll(async () => {
  await sites.close();
  await bench.close();
  await stack.close();
});

const roll = (
  name: string,
  more: Partial<Action> = {},
  block: Record<string, unknown> = {},
  targets = ['a', 'b', 'c'],
): Action => ({
  name,
  type: 'Subscription',
  waitReady: true,
  clusterExecutionMode: 'PerCluster',
  timeout: '2m',
  subscription: {
    name,
    spec: {
      feeds: [sites.feed('web')],
      subscribers: [{ clusterAffinity: sites.affinity(...targets) }],
      ...block,
    },
  },
  ...more,
});

interface Child extends KubeObject {
  spec: { feeds: unknown[]; subscribers: unknown[] };
}
const childName = (name: string, site: string): string => `${name}--${sites.namespaceOf(site)}.site-${site}`;
const child = (name: string, site: string, namespace = stack.namespace) =>
  stack.kube.get<Child>({ apiVersion: APPS, kind: 'Subscription', namespace, name: childName(name, site) });
const uidOf = async (name: string, site: string): Promise<string | undefined> =>
  (await child(name, site))?.metadata.uid;
const phases = (execution: DRPlanExecution, action = 0): string[] =>
  (actionAt(execution, 0, 0, action)?.clusterStatuses ?? []).map(
    ({ cluster, phase, reason }) =>
      `${cluster.split('site-').at(-1) ?? ''} ${phase}${reason === undefined ? '' : ` ${reason}`}`,
  );
const shown = (execution: DRPlanExecution, expected: string[], action = 0) =>
  stack.until(execution, (now) => phases(now, action).join() === expected.join());

describe('a Subscription per cluster', () => {
  it('is written for each cluster, tells the state of each, and is taken back everywhere by a revert [S3.42]', async () => {
    await stack.simplePlan('each', [roll('each')]);
    const execution = await stack.ended(await stack.execute('each'));
    expect(execution.status?.phase).toBe('Succeeded');
    expect(phases(execution)).toEqual(['a Succeeded', 'b Succeeded', 'c Succeeded']);
    const status = actionAt(execution, 0, 0, 0);
    const a = await child('each', 'a');
    expect(status).toMatchObject({
      message: '3 of 3 clusters done',
      outputs: {
        subscriptionRefs: expect.arrayContaining([expect.objectContaining({ uid: a?.metadata.uid })]),
      },
      clusterStatuses: [
        {
          cluster: sites.bindingOf('a'),
          clusterID: sites.clusterIdOf('a'),
          message: containing(`applied in ${sites.bindingOf('a')}`),
        },
        {},
        {},
      ],
    });
    expect(status?.outputs?.subscriptionRefs).toHaveLength(3);
    expect(a?.spec.subscribers).toEqual([
      { clusterAffinity: { matchLabels: { 'clusters.clusternet.io/cluster-id': sites.clusterIdOf('a') } } },
    ]);
    expect(await sites.deployed('b')).toEqual({ web: { mode: 'standby' } });

    const revert = await stack.ended(await stack.revert(execution));
    expect(condition(revert, 'FullyReverted')).toMatchObject({ status: 'True' });
    expect(phases(revert)).toEqual(['a Succeeded', 'b Succeeded', 'c Succeeded']);
    for (const site of ['a', 'b', 'c']) expect(await child('each', site)).toBeUndefined();
    await eventually(() => sites.deployed('a'), {});
  });

  it(
    'goes on where it was when the worker is killed in the middle, and repeats nothing that was done [S3.42]',
    { tags: ['nightly'] },
    async () => {
      await sites.fail('b', 'image cannot be pulled');
      await stack.simplePlan('killed', [roll('killed', { maxConcurrentClusters: 1 })]);
      const execution = await stack.execute('killed');
      await shown(execution, ['a Succeeded', 'b Running', 'c Pending']);
      await eventually(async () => (await uidOf('killed', 'b')) !== undefined, true);
      const before = [await uidOf('killed', 'a'), await uidOf('killed', 'b')];
      await kill('worker');
      await sites.fail('b', null);
      await heal();
      const ended = await stack.ended(execution);
      expect(ended.status?.phase).toBe('Succeeded');
      expect([await uidOf('killed', 'a'), await uidOf('killed', 'b')]).toEqual(before);
      expect((await child('killed', 'a'))?.metadata.generation).toBe(1);
      const { items } = await stack.kube.list(
        { apiVersion: APPS, kind: 'Subscription' },
        { namespace: stack.namespace },
      );
      expect(items.filter(({ metadata }) => metadata.name.startsWith('killed'))).toHaveLength(3);
      await stack.ended(await stack.revert(ended));
    },
  );

  it('stops rolling when it is cancelled, and a revert takes back what was begun [S3.43]', async () => {
    await sites.fail('b', 'image cannot be pulled');
    await stack.simplePlan('stopped', [roll('stopped', { maxConcurrentClusters: 1 })]);
    const execution = await stack.execute('stopped');
    await shown(execution, ['a Succeeded', 'b Running', 'c Pending']);
    await eventually(async () => (await uidOf('stopped', 'b')) !== undefined, true);
    await stack.kube.patch(
      {
        apiVersion: API_VERSION,
        kind: 'DRPlanExecution',
        namespace: stack.namespace,
        name: execution.metadata.name,
      },
      { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
      { kind: 'merge' },
    );
    const ended = await stack.ended(execution);
    await sites.fail('b', null);
    expect(ended.status?.phase).toBe('Cancelled');
    expect(phases(ended)).toEqual(['a Succeeded', 'b Failed Cancelled', 'c Skipped Cancelled']);
    expect(await child('stopped', 'c')).toBeUndefined();
    const revert = await stack.ended(await stack.revert(ended));
    expect(condition(revert, 'FullyReverted')).toMatchObject({ status: 'True' });
    expect(phases(revert)).toEqual(['a Succeeded', 'b Succeeded']);
    for (const site of ['a', 'b']) expect(await child('stopped', site)).toBeUndefined();
  });

  it('keeps to the clusters of its beginning: one that goes is passed over, one that comes has to wait [S3.43]', async () => {
    await sites.add('d');
    await sites.fail('a', 'image cannot be pulled');
    await stack.simplePlan('changed', [
      roll('changed', { maxConcurrentClusters: 1 }, {}, ['a', 'd', 'e']),
      roll('after', { maxConcurrentClusters: 1 }, {}, ['a', 'd', 'e']),
    ]);
    const execution = await stack.execute('changed');
    await shown(execution, ['a Running', 'd Pending']);
    await sites.remove('d');
    await sites.add('e');
    await sites.fail('a', null);
    const ended = await stack.ended(execution);
    expect(phases(ended)).toEqual(['a Succeeded', 'd Skipped ClusterGone']);
    expect(phases(ended, 1)).toEqual(['a Succeeded', 'd Skipped ClusterGone']);
    expect(await child('changed', 'e')).toBeUndefined();
    expect(ended.status?.phase).toBe('Succeeded');
    await stack.ended(await stack.revert(ended));
  });

  it('is deleted wherever it was written, and brought back by a revert [S3.42]', async () => {
    await stack.simplePlan('kept', [roll('kept', {}, {}, ['a', 'b'])]);
    await stack.ended(await stack.execute('kept'));
    const old = await uidOf('kept', 'a');
    await stack.simplePlan('removal', [
      {
        ...roll('kept'),
        subscription: { name: 'kept', operation: 'Delete' },
      },
    ]);
    const removal = await stack.ended(await stack.execute('removal'));
    expect(phases(removal)).toEqual(['a Succeeded', 'b Succeeded']);
    expect(await child('kept', 'a')).toBeUndefined();
    await stack.ended(await stack.revert(removal));
    const now = await child('kept', 'a');
    expect(now?.metadata.uid).not.toBe(old);
    expect(now?.spec.feeds).toEqual([sites.feed('web')]);
    for (const site of ['a', 'b']) {
      await stack.kube.delete({
        apiVersion: APPS,
        kind: 'Subscription',
        namespace: stack.namespace,
        name: childName('kept', site),
      });
    }
  });
});

describe('one cluster of several', () => {
  const handler = perCluster(createSubscriptionHandler({ finalizerWaitMs: 10_000 }));

  it('does not take over a Subscription of its name that is not its own [S3.42]', async () => {
    const { name: _, ...action } = roll('taken');
    const life = startLife(bench, handler, action);
    const attempt = life.attempt();
    const { at } = attempt.task;
    const part = {
      ...attempt,
      task: {
        ...attempt.task,
        at: { ...at, cluster: sites.bindingOf('a') },
        clusterId: sites.clusterIdOf('a'),
      },
    };
    await stack.kube.create({
      apiVersion: APPS,
      kind: 'Subscription',
      metadata: { name: childName('taken', 'a'), namespace: bench.namespace },
      spec: { feeds: [sites.feed('shop')], subscribers: [{ clusterAffinity: sites.affinity('b') }] },
    });
    expect(await handler.run(part)).toMatchObject({
      kind: 'failed',
      reason: 'AlreadyExists',
      effect: 'None',
    });
    expect((await child('taken', 'a', bench.namespace))?.spec.feeds).toEqual([sites.feed('shop')]);
    await stack.kube.delete({
      apiVersion: APPS,
      kind: 'Subscription',
      namespace: bench.namespace,
      name: childName('taken', 'a'),
    });
  });

  it('ends the wait when its cluster is taken out', async () => {
    await sites.add('f');
    await sites.fail('f', 'image cannot be pulled');
    const { name: _, ...action } = roll('lost');
    const life = startLife(bench, handler, action);
    const attempt = life.attempt();
    const { at } = attempt.task;
    const running = handler.run({
      ...attempt,
      task: {
        ...attempt.task,
        at: { ...at, cluster: sites.bindingOf('f') },
        clusterId: sites.clusterIdOf('f'),
      },
    });
    await eventually(
      async () => (await child('lost', 'f', bench.namespace))?.metadata.uid !== undefined,
      true,
    );
    await sites.remove('f');
    expect(await running).toMatchObject({
      kind: 'failed',
      reason: 'ClusterGone',
      effect: 'Done',
      outputs: { created: [{ name: childName('lost', 'f') }] },
    });
  });
});
