import { describe, expect, it } from 'vitest';
import type { ActionStatus, ClusterActionStatus } from '../../api/plan/types.js';
import {
  addOutputs,
  applyInCluster,
  concludeClusters,
  mayHaveEffect,
  reopenInCluster,
} from './cluster-outcome.js';

const cluster = (name: string, more: Partial<ClusterActionStatus>): ClusterActionStatus => ({
  cluster: `ns/${name}`,
  clusterID: name,
  phase: 'Succeeded',
  effect: 'Done',
  ...more,
});
const failed = (name: string): ClusterActionStatus =>
  cluster(name, { phase: 'Failed', reason: 'NotReady', message: `${name} broke`, effect: 'Unknown' });

describe('concludeClusters', () => {
  const conclude = (...clusters: ClusterActionStatus[]) => concludeClusters(clusters, 0, {});

  it('succeeds with all clusters, and counts their tries together', () => {
    expect(
      conclude(cluster('a', { retryCount: 2, round: 3 }), cluster('b', { retryCount: 1 })),
    ).toMatchObject({
      phase: 'Succeeded',
      message: '2 of 2 clusters done',
      round: 3,
      retryCount: 3,
    });
  });

  it('names three of the clusters that failed, and what is known of the effect of all', () => {
    expect(conclude(...['a', 'b', 'c', 'd'].map(failed), cluster('e', {}))).toMatchObject({
      phase: 'Failed',
      reason: 'NotReady',
      effect: 'Done',
      message: '1 of 5 clusters done; failed in ns/a: a broke; ns/b: b broke; ns/c: c broke and 1 more',
    });
  });

  it('fails as cut off where some cluster had no turn', () => {
    const cut = cluster('b', { phase: 'Skipped', reason: 'Cancelled', message: 'cancelled', effect: 'None' });
    expect(conclude(cluster('a', {}), cut)).toMatchObject({ phase: 'Failed', reason: 'Cancelled' });
  });

  it('is skipped where every cluster was, whatever the reason', () => {
    const skipped = cluster('a', { phase: 'Skipped', reason: 'Cancelled', message: 'm', effect: 'None' });
    expect(conclude(skipped)).toMatchObject({ phase: 'Skipped', reason: 'Cancelled', message: 'm' });
  });

  it('fails where every cluster was skipped and an earlier round had an effect', () => {
    const skipped = cluster('a', { phase: 'Skipped', reason: 'Cancelled', message: 'm', effect: 'Done' });
    expect(conclude(skipped)).toMatchObject({ phase: 'Failed', reason: 'Cancelled', effect: 'Done' });
  });

  it('succeeds although a cluster was gone before its turn', () => {
    const gone = cluster('b', { phase: 'Skipped', reason: 'ClusterGone', message: 'gone', effect: 'None' });
    expect(conclude(cluster('a', {}), gone)).toMatchObject({
      phase: 'Succeeded',
      message: '1 of 2 clusters done; not in ns/b: gone',
    });
  });

  it('succeeds without any cluster', () => {
    expect(conclude()).toMatchObject({ phase: 'Succeeded', message: '0 of 0 clusters done' });
  });
});

it('cuts a message, of which there may be one for each cluster', () => {
  const status = cluster('a', { phase: 'Running' });
  applyInCluster(status, { phase: 'Succeeded', message: 'x'.repeat(5000), round: 0, retryCount: 0 });
  expect(status.message).toHaveLength(400);
});

it('keeps what is needed to undo the part in a cluster', () => {
  const status = cluster('a', { phase: 'Running' });
  const priorRef = { name: 'p', key: 'k', digest: 'd' };
  const subscriptionRef = { apiVersion: 'v1', kind: 'Subscription', namespace: 'ns', name: 'sub', uid: 'u' };
  applyInCluster(status, {
    phase: 'Succeeded',
    outputs: { priorRef, subscriptionRef },
    round: 0,
    retryCount: 0,
  });
  expect(status).toMatchObject({ priorRef, subscription: 'sub' });
});

it('gathers what was made in several clusters; of one object the later word counts', () => {
  const status = { name: 'a', phase: 'Running' } as ActionStatus;
  const made = (name: string, uid: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name, uid });
  for (const created of [[made('x', '1')], [made('y', '2')], [made('x', '3')]])
    addOutputs(status, { phase: 'Succeeded', outputs: { created }, round: 0, retryCount: 0 });
  expect(status.outputs?.created?.map(({ name, uid }) => [name, uid])).toEqual([
    ['y', '2'],
    ['x', '3'],
  ]);
  addOutputs(status, { phase: 'Skipped', reason: 'WhenFalse', message: '', round: 0, retryCount: 0 });
  expect(status.outputs?.created).toHaveLength(2);
});

it('gives a cluster its turn again unless it has succeeded or is gone', () => {
  const again = failed('a');
  reopenInCluster(again);
  expect(again).toMatchObject({ phase: 'Pending', effect: 'Unknown' });
  expect(again).not.toHaveProperty('message');
  for (const closed of [cluster('b', {}), cluster('c', { phase: 'Skipped', reason: 'ClusterGone' })]) {
    const before = { ...closed };
    reopenInCluster(closed);
    expect(closed).toEqual(before);
  }
});

it('looks for effects where there may be some', () => {
  expect(mayHaveEffect(cluster('a', {}))).toBe(true);
  expect(mayHaveEffect({ cluster: 'ns/a', clusterID: 'a', phase: 'Failed' })).toBe(true);
  expect(mayHaveEffect(cluster('a', { phase: 'Failed', effect: 'None' }))).toBe(false);
  expect(mayHaveEffect({ cluster: 'ns/a', clusterID: 'a', phase: 'Skipped' })).toBe(false);
});
