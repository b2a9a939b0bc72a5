import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/object.js';
import { judge } from './subscription-ready.js';
import type { SubscriptionState } from './subscription-ready.js';

const feed = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'app', name });
const raw = (name: string): string =>
  Buffer.from(
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'app' } }),
  ).toString('base64');
const inA = (name: string, fields: Record<string, unknown>): KubeObject => ({
  metadata: { name, namespace: 'ns-a' },
  ...fields,
});
const subscription = (feeds: unknown[], status: Record<string, unknown>, generation = 2): KubeObject => ({
  metadata: { name: 's', namespace: 'app', uid: 'u', generation },
  spec: { feeds, subscribers: [] },
  status: { bindingClusters: ['ns-a/a'], specHash: 2, ...status },
});
const state = (changes: Partial<SubscriptionState> = {}): SubscriptionState => ({
  subscription: subscription([feed('x')], {}),
  bases: [inA('b', { spec: { feeds: [feed('x')] } })],
  descriptions: [inA('b-generic', { spec: { raw: [raw('x')] }, status: { phase: 'Success' } })],
  clusters: [],
  ...changes,
});
const before = { generation: 1, specHash: 1 };
const waitsFor = (changes: Partial<SubscriptionState>): unknown => {
  const found = judge(state(changes), before);
  return found.kind === 'waiting' ? found.for : found.kind;
};

describe('judge', () => {
  it('is ready when everything has followed the spec', () => {
    expect(judge(state(), before)).toEqual({ kind: 'ready', bindings: ['ns-a/a'], stale: [] });
  });
  it('waits for the scheduler to have seen the new spec', () => {
    const old = { subscription: subscription([feed('x')], { specHash: 1 }) };
    expect(waitsFor(old)).toBe('Clusternet to schedule the new spec');
    expect(judge(state(old), { generation: 2, specHash: 1 }).kind).toBe('ready');
    expect(judge(state(old), undefined).kind).toBe('ready');
  });
  it('waits for bindings, and for the removal from clusters that are bound no longer', () => {
    expect(waitsFor({ subscription: subscription([], { bindingClusters: [] }) })).toContain('bind clusters');
    const elsewhere = { metadata: { name: 'b', namespace: 'ns-z' }, spec: {} };
    expect(waitsFor({ bases: [...state().bases, elsewhere] })).toBe('the removal from ns-z');
  });
  it('takes no Success of a Base or Description without the present feeds', () => {
    const both = { subscription: subscription([feed('x'), feed('y')], {}) };
    expect(waitsFor(both)).toContain('Base does not have the present feeds');
    const bases = [inA('b', { spec: { feeds: [feed('y'), feed('x')] } })];
    expect(waitsFor({ ...both, bases })).toContain('does not hold ConfigMap y yet');
    const descriptions = [inA('d', { spec: { raw: [raw('x'), raw('y')] }, status: { phase: 'Success' } })];
    expect(judge(state({ ...both, bases, descriptions }), before).kind).toBe('ready');
  });
  it('goes by the one Base of several that follows, and names what the others hold', () => {
    const of = (base: string, feeds: string[]): KubeObject => {
      const found = inA(`${base}-generic`, { spec: { raw: feeds.map(raw) }, status: { phase: 'Success' } });
      return {
        ...found,
        metadata: { ...found.metadata, labels: { 'apps.clusternet.io/config.uid': `uid-${base}` } },
      };
    };
    const base = (name: string, feeds: string[]): KubeObject => {
      const found = inA(name, { spec: { feeds: feeds.map(feed) } });
      return { ...found, metadata: { ...found.metadata, uid: `uid-${name}` } };
    };
    const two = {
      subscription: subscription([feed('y')], {}),
      bases: [base('one', ['x']), base('two', ['y'])],
      descriptions: [of('one', ['x']), of('two', ['y'])],
    };
    expect(judge(state(two), before)).toEqual({
      kind: 'ready',
      bindings: ['ns-a/a'],
      stale: ['ns-a/one-generic'],
    });
    expect(waitsFor({ ...two, descriptions: [of('one', ['x', 'y'])] })).toContain('no Description yet');
    expect(waitsFor({ ...two, bases: [base('one', ['x'])] })).toContain('not have the present feeds');
  });
  it('finds charts by name', () => {
    const chart = {
      apiVersion: 'apps.clusternet.io/v1alpha1',
      kind: 'HelmChart',
      namespace: 'app',
      name: 'c',
    };
    const descriptions = [
      inA('d', { spec: { charts: [{ name: 'c', namespace: 'app' }] }, status: { phase: 'Success' } }),
    ];
    const bases = [inA('b', { spec: { feeds: [chart] } })];
    expect(judge(state({ subscription: subscription([chart], {}), bases, descriptions }), before).kind).toBe(
      'ready',
    );
  });
  it('reports a failure with its reason, and a cluster that is not Ready', () => {
    const failed = [inA('d', { spec: { raw: [raw('x')] }, status: { phase: 'Failure', reason: 'quota' } })];
    expect(judge(state({ descriptions: failed }), before)).toMatchObject({
      kind: 'waiting',
      failure: 'ns-a/a: deployment failed: quota',
    });
    const fresh = [inA('d', { spec: { raw: [raw('x')] } })];
    const clusters = [{ metadata: { name: 'a', namespace: 'ns-a' } }];
    expect(waitsFor({ descriptions: fresh, clusters })).toBe(
      'ns-a/a: Description d is new; the cluster is not Ready',
    );
  });
  it('ends when the Subscription is gone or going', () => {
    expect(waitsFor({ subscription: undefined })).toBe('gone');
    const going = subscription([], {});
    going.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(waitsFor({ subscription: going })).toBe('gone');
  });
});
