import { describe, expect, it } from 'vitest';
import type { ManagedCluster } from './clusternet.js';
import { outOfReach } from './clusternet.js';
import { chooseTargets } from './subscription-targets.js';

const cluster = (site: string, ready = 'True'): ManagedCluster => ({
  metadata: { name: `site-${site}`, namespace: `ns-${site}`, labels: { site } },
  status: { conditions: [{ type: 'Ready', status: ready }] },
});
const clusters = [cluster('a'), cluster('b', 'Unknown')];
const to = (site: string) => ({ clusterAffinity: { matchLabels: { site } } });

describe('chooseTargets', () => {
  it('joins what the subscribers match and warns about those that match nothing', () => {
    const targets = chooseTargets([to('a'), to('z')], clusters);
    expect(targets).toMatchObject({ ok: true, matched: [clusters[0]] });
    expect(targets).toHaveProperty('warning', 'no ManagedCluster matches subscribers[1]');
  });
  it('takes an empty affinity as all clusters', () => {
    expect(chooseTargets([{ clusterAffinity: {} }], clusters)).toEqual({ ok: true, matched: clusters });
  });
  it('refuses what would remove everything everywhere, and names the known clusters', () => {
    expect(chooseTargets([to('z')], clusters)).toMatchObject({ ok: false, reason: 'NoMatchingCluster' });
    expect(chooseTargets([to('z')], clusters)).toHaveProperty(
      'message',
      expect.stringContaining('ns-a/site-a'),
    );
    expect(chooseTargets([{ clusterAffinity: {} }], [])).toMatchObject({
      ok: false,
      reason: 'NoMatchingCluster',
    });
  });
  it.each([
    [undefined],
    [[]],
    [[{}]],
    [[{ clusterAffinity: null }]],
    [[{ clusterAffinity: { matchLabels: [] } }]],
  ])('refuses %j', (subscribers) => {
    expect(chooseTargets(subscribers, clusters)).toMatchObject({ ok: false, reason: 'InvalidSpec' });
  });
  it('finds a wrong selector also where there is no cluster', () => {
    expect(
      chooseTargets([{ clusterAffinity: { matchExpressions: [{ key: 'a', operator: '?' }] } }], []),
    ).toMatchObject({
      reason: 'InvalidSpec',
    });
  });
});

describe('outOfReach', () => {
  it('names clusters that are not Ready or unknown', () => {
    expect(outOfReach(['ns-a/site-a'], clusters)).toEqual([]);
    expect(outOfReach(['ns-a/site-a', 'ns-b/site-b', 'ns-c/gone'], clusters)).toEqual([
      'ns-b/site-b',
      'ns-c/gone',
    ]);
  });
});
