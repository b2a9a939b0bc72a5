import { beforeEach, describe, expect, it } from 'vitest';
import type { TypedObject } from '../../kube/object.js';
import { mergePatch, type Json } from './json-patch.js';
import { names, simulatorAnnotations } from './labels.js';
import { reconcile } from './reconcile.js';
import { manifestNamespace } from './sites.js';
import {
  resources,
  type Description,
  type Feed,
  type ManagedCluster,
  type Resource,
  type World,
} from './world.js';

/** Plays the API server: keeps objects, applies writes, removes what is deleted and has no finalizer left. */
class Store {
  readonly objects = new Map<Resource, TypedObject[]>();
  readonly warnings: string[] = [];
  /** What the deployer of real child clusters has dealt with. */
  readonly handled = new Map<string, number>();
  now = new Date('2026-01-01T00:00:00Z');
  #uid = 0;

  add(
    resource: Resource,
    object: { metadata: TypedObject['metadata']; [field: string]: unknown },
  ): TypedObject {
    const { group, kind } = resources[resource];
    const full: TypedObject = {
      ...structuredClone(object),
      apiVersion: group,
      kind,
      metadata: { ...structuredClone(object.metadata), uid: `uid-${++this.#uid}`, generation: 1 },
    };
    this.objects.set(resource, [...this.all(resource), full]);
    return full;
  }

  all(resource: Resource): TypedObject[] {
    return this.objects.get(resource) ?? [];
  }

  find(resource: Resource, name: string, namespace?: string): TypedObject | undefined {
    return this.all(resource).find((o) => o.metadata.name === name && o.metadata.namespace === namespace);
  }

  patch(resource: Resource, name: string, namespace: string | undefined, body: object): void {
    const changed = this.all(resource).map((o) =>
      o.metadata.name === name && o.metadata.namespace === namespace
        ? (mergePatch(o as unknown as Json, body as Json) as unknown as TypedObject)
        : o,
    );
    this.objects.set(resource, changed);
    this.#collect(resource);
  }

  delete(resource: Resource, name: string, namespace?: string): void {
    this.patch(resource, name, namespace, { metadata: { deletionTimestamp: '2026-01-01T00:00:01Z' } });
  }

  #collect(resource: Resource): void {
    const gone = (o: TypedObject): boolean =>
      o.metadata.deletionTimestamp !== undefined && (o.metadata.finalizers ?? []).length === 0;
    this.objects.set(
      resource,
      this.all(resource).filter((o) => !gone(o)),
    );
  }

  world(): World {
    const all = (Object.keys(resources) as Resource[]).map((r) => [r, this.all(r)]);
    return { ...Object.fromEntries(all), handled: this.handled } as World;
  }

  /** Reconciles until nothing is left to do; fails when that never comes. */
  settle(): void {
    for (let pass = 0; pass < 30; pass++) {
      const writes = reconcile(this.world(), this.now);
      for (const write of writes) {
        if (write.op === 'create') this.add(write.resource, write.object);
        else if (write.op === 'patch') this.patch(write.resource, write.name, write.namespace, write.body);
        else if (write.op === 'delete') this.delete(write.resource, write.name, write.namespace);
        else if (write.op === 'warn')
          this.warnings.push(`${write.object.kind} ${write.reason}: ${write.message}`);
      }
      if (writes.every(({ op }) => op === 'warn' || op === 'deploy' || op === 'undeploy')) return;
    }
    throw new Error('the reconciliation never settles');
  }
}

const feed: Feed = { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings', namespace: 'shop' };
let store: Store;

function cluster(site: string): void {
  store.add('managedclusters', {
    metadata: { name: `site-${site}`, namespace: `clusternet-site-${site}`, labels: { site } },
    spec: { clusterId: site, syncMode: 'Dual' },
  });
}

function manifest(mode = 'standby'): TypedObject {
  return store.add('manifests', {
    metadata: {
      name: 'configmaps.shop.settings',
      namespace: manifestNamespace,
      labels: {
        [names.config.group]: '',
        [names.config.version]: 'v1',
        [names.config.kind]: 'ConfigMap',
        [names.config.name]: 'settings',
        [names.config.namespace]: 'shop',
      },
    },
    template: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', namespace: 'shop' },
      data: { mode, replicas: '1' },
    },
  });
}

function subscription(clusterAffinity: object): void {
  store.add('subscriptions', {
    metadata: { name: 'shop', namespace: 'default' },
    spec: { subscribers: [{ clusterAffinity }], feeds: [feed] },
  });
}

function localization(name: string, value: object | string, spec: object = {}): void {
  store.add('localizations', {
    metadata: { name, namespace: 'clusternet-site-a' },
    spec: {
      overridePolicy: 'ApplyNow',
      feed,
      overrides: [
        { name, type: 'MergePatch', value: typeof value === 'string' ? value : JSON.stringify(value) },
      ],
      ...spec,
    },
  });
}

function description(site: string): Description | undefined {
  return store
    .all('descriptions')
    .find(({ metadata }) => metadata.namespace === `clusternet-site-${site}`) as Description | undefined;
}

function data(site: string): unknown {
  const raw = description(site)?.spec.raw?.[0];
  return raw === undefined
    ? undefined
    : (JSON.parse(Buffer.from(raw, 'base64').toString()) as TypedObject)['data'];
}

function bound(): unknown {
  return (store.find('subscriptions', 'shop', 'default')?.['status'] as { bindingClusters?: string[] })
    ?.bindingClusters;
}

beforeEach(() => {
  store = new Store();
  cluster('a');
  cluster('b');
  manifest();
  store.settle();
});

describe('a ManagedCluster', () => {
  const ready = (): unknown =>
    (store.find('managedclusters', 'site-a', 'clusternet-site-a') as ManagedCluster).status?.conditions?.[0]
      ?.status;

  it('is Ready, and its heartbeat goes on', () => {
    const seen = (): unknown =>
      (store.find('managedclusters', 'site-a', 'clusternet-site-a') as ManagedCluster).status
        ?.lastObservedTime;
    expect(ready()).toBe('True');
    expect(seen()).toBe('2026-01-01T00:00:00Z');
    store.now = new Date('2026-01-01T00:01:00Z');
    store.settle();
    expect(seen()).toBe('2026-01-01T00:01:00Z');
  });

  it('can be put out of reach and comes back', () => {
    const annotate = (value: string | null): void =>
      store.patch('managedclusters', 'site-a', 'clusternet-site-a', {
        metadata: { annotations: { [simulatorAnnotations.notReady]: value } },
      });
    annotate('1');
    store.settle();
    expect(ready()).toBe('Unknown');
    subscription({});
    store.settle();
    expect(bound()).toEqual(['clusternet-site-b/site-b']);
    annotate(null);
    store.settle();
    annotate('1');
    store.settle();
    expect(bound()).toEqual(['clusternet-site-b/site-b']);
    expect(store.all('bases')).toHaveLength(1);
    const clusterTolerations = [{ key: 'clusters.clusternet.io/unschedulable', operator: 'Exists' }];
    store.patch('subscriptions', 'shop', 'default', { spec: { clusterTolerations } });
    store.settle();
    expect(bound()).toHaveLength(2);
    annotate(null);
    store.settle();
    expect(ready()).toBe('True');
    expect(bound()).toEqual(['clusternet-site-a/site-a', 'clusternet-site-b/site-b']);
  });
});

describe('a Subscription', () => {
  it('is deployed to the clusters its affinity selects', () => {
    subscription({ matchExpressions: [{ key: 'site', operator: 'In', values: ['a'] }] });
    store.settle();
    expect(bound()).toEqual(['clusternet-site-a/site-a']);
    expect(data('a')).toEqual({ mode: 'standby', replicas: '1' });
    expect(description('a')?.status?.phase).toBe('Success');
    expect(description('a')?.metadata.labels?.[names.subscription.uid]).toBe(
      store.find('subscriptions', 'shop', 'default')?.metadata.uid,
    );
    expect(data('b')).toBeUndefined();
  });

  it('moves with its affinity', () => {
    subscription({ matchLabels: { site: 'a' } });
    store.settle();
    store.patch('subscriptions', 'shop', 'default', {
      spec: { subscribers: [{ clusterAffinity: { matchLabels: { site: 'b' } } }] },
    });
    store.settle();
    expect(bound()).toEqual(['clusternet-site-b/site-b']);
    expect(description('a')).toBeUndefined();
    expect(description('b')?.status?.phase).toBe('Success');
  });

  it('is un-deployed everywhere when nothing matches, with a warning', () => {
    subscription({});
    store.settle();
    expect(store.all('bases')).toHaveLength(2);
    store.patch('subscriptions', 'shop', 'default', {
      spec: { subscribers: [{ clusterAffinity: { matchLabels: { site: 'typo' } } }] },
    });
    store.settle();
    expect(bound()).toBeUndefined();
    expect(store.all('bases')).toHaveLength(0);
    expect(store.warnings.join()).toContain('FailedScheduling');
  });

  it('waits for its Bases to go, which do not wait for what they have deployed', () => {
    subscription({});
    store.settle();
    store.patch('managedclusters', 'site-a', 'clusternet-site-a', {
      metadata: { annotations: { [simulatorAnnotations.lag]: '5' } },
    });
    store.delete('subscriptions', 'shop', 'default');
    expect(store.all('subscriptions')).toHaveLength(1);
    store.settle();
    expect(store.all('subscriptions')).toEqual([]);
    expect(store.all('bases')).toEqual([]);
    expect(store.all('descriptions').map(({ metadata }) => metadata.namespace)).toEqual([
      'clusternet-site-a',
    ]);
    store.now = new Date('2026-01-01T00:00:10Z');
    store.settle();
    expect(store.all('descriptions')).toEqual([]);
  });

  it('marks what belongs to it as the real controllers do', () => {
    subscription({ matchLabels: { site: 'a' } });
    store.settle();
    const own = store.find('subscriptions', 'shop', 'default')!.metadata;
    const base = store.all('bases')[0]!.metadata;
    expect(own.labels).toEqual({ [own.uid!]: 'Subscription' });
    expect(base.name).toMatch(/^shop-[0-9a-f]{5}$/);
    expect(base.labels).toMatchObject({
      [names.config.kind]: 'Subscription',
      [names.config.name]: 'shop',
      [names.config.uid]: own.uid,
      [names.subscription.name]: 'shop',
      [names.subscription.uid]: own.uid,
      [names.cluster.id]: 'a',
      [names.cluster.name]: 'site-a',
      [base.uid!]: 'Base',
    });
    const { metadata } = description('a')!;
    expect(metadata.name).toBe(`${base.name}-generic`);
    expect(metadata.labels).toMatchObject({ [names.config.kind]: 'Base', [names.config.uid]: base.uid });
    expect(metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'Base', uid: base.uid, controller: true }),
    ]);
    expect(store.all('manifests')[0]?.metadata).toMatchObject({
      finalizers: [names.finalizer, names.feedProtection],
      labels: { [own.uid!]: 'Subscription', [base.uid!]: 'Base' },
    });
    store.delete('subscriptions', 'shop', 'default');
    store.settle();
    expect(store.all('manifests')[0]?.metadata.labels).not.toHaveProperty(own.uid!);
  });

  it('gets two Bases in a cluster by a race, and a change reaches one of them only', () => {
    store.patch('managedclusters', 'site-a', 'clusternet-site-a', {
      metadata: { annotations: { [simulatorAnnotations.twoBases]: 'yes' } },
    });
    subscription({ matchLabels: { site: 'a' } });
    store.settle();
    expect(store.all('bases')).toHaveLength(2);
    expect(store.all('descriptions')).toHaveLength(2);
    store.patch('subscriptions', 'shop', 'default', { spec: { feeds: [{ ...feed, name: 'other' }] } });
    store.settle();
    const names = store.all('bases').map(({ spec }) => (spec as { feeds: Feed[] }).feeds[0]?.name);
    expect(names.sort()).toEqual(['other', 'settings']);
    store.delete('subscriptions', 'shop', 'default');
    store.settle();
    expect(store.all('descriptions')).toEqual([]);
  });

  it('without feeds is removed', () => {
    subscription({ matchLabels: { site: 'a' } });
    store.settle();
    store.patch('subscriptions', 'shop', 'default', { spec: { feeds: [] } });
    store.settle();
    expect(store.all('bases')).toHaveLength(1);
    expect(store.all('descriptions')).toEqual([]);
  });

  it('gets no Description while a feed does not exist, and a warning says why', () => {
    store.add('subscriptions', {
      metadata: { name: 'shop', namespace: 'default' },
      spec: { subscribers: [{ clusterAffinity: {} }], feeds: [{ ...feed, name: 'nowhere' }] },
    });
    store.settle();
    expect(store.all('bases')).toHaveLength(2);
    expect(store.all('descriptions')).toEqual([]);
    expect(store.warnings.join()).toContain('nonexistent ConfigMap shop/nowhere');
  });

  it('fails where the cluster is told to fail', () => {
    store.patch('managedclusters', 'site-b', 'clusternet-site-b', {
      metadata: { annotations: { [simulatorAnnotations.fail]: 'no space' } },
    });
    subscription({});
    store.settle();
    expect(description('a')?.status?.phase).toBe('Success');
    expect(description('b')?.status).toMatchObject({ phase: 'Failure', reason: 'no space' });
  });

  it('protects its feeds from removal', () => {
    subscription({});
    store.settle();
    store.delete('manifests', 'configmaps.shop.settings', manifestNamespace);
    store.settle();
    expect(store.all('manifests')).toHaveLength(1);
    store.delete('subscriptions', 'shop', 'default');
    store.settle();
    expect(store.all('manifests')).toEqual([]);
  });
});

describe('a Localization', () => {
  beforeEach(() => {
    subscription({});
    store.settle();
  });

  it('with ApplyNow takes effect at once, in its own cluster, and is taken back when removed', () => {
    localization('now', { data: { mode: 'active' } });
    store.settle();
    expect(data('a')).toEqual({ mode: 'active', replicas: '1' });
    expect(data('b')).toEqual({ mode: 'standby', replicas: '1' });
    store.delete('localizations', 'now', 'clusternet-site-a');
    store.settle();
    expect(store.all('localizations')).toEqual([]);
    expect(data('a')).toEqual({ mode: 'standby', replicas: '1' });
  });

  it('with ApplyLater waits for the next change of what is deployed', () => {
    localization('later', { data: { mode: 'active' } }, { overridePolicy: 'ApplyLater' });
    store.settle();
    expect(data('a')).toEqual({ mode: 'standby', replicas: '1' });
    store.patch('manifests', 'configmaps.shop.settings', manifestNamespace, {
      template: { data: { replicas: '2' } },
    });
    store.settle();
    expect(data('a')).toEqual({ mode: 'active', replicas: '2' });
    store.delete('localizations', 'later', 'clusternet-site-a');
    store.settle();
    expect(data('a')).toEqual({ mode: 'active', replicas: '2' });
  });

  it('of higher priority wins, whichever came first', () => {
    localization('high', { data: { mode: 'high' } }, { priority: 600 });
    localization('low', { data: { mode: 'low', replicas: '5' } }, { priority: 400 });
    store.settle();
    expect(data('a')).toEqual({ mode: 'high', replicas: '5' });
  });

  it('that cannot be read stops the cluster from changing, and a warning says why', () => {
    localization('broken', '{"data": ');
    store.settle();
    expect(data('a')).toEqual({ mode: 'standby', replicas: '1' });
    const cause = 'failed to convert patch {"data":  to JSON: ';
    expect(store.warnings.join()).toMatch(
      /Base FailedApplyingOverrides: .*-generic: failed to convert patch/,
    );
    expect(store.warnings.join()).toContain(`Localization FailedSynced: ${cause}`);
  });

  it('with ApplyLater is taken in by a change of an ApplyNow one of any cluster, not by other clusters joining', () => {
    localization('later', { data: { mode: 'active' } }, { overridePolicy: 'ApplyLater' });
    store.settle();
    cluster('c');
    store.settle();
    expect(data('c')).toEqual({ mode: 'standby', replicas: '1' });
    expect(data('a')).toEqual({ mode: 'standby', replicas: '1' });
    store.add('localizations', {
      metadata: { name: 'now', namespace: 'clusternet-site-b' },
      spec: { overridePolicy: 'ApplyNow', feed, overrides: [] },
    });
    store.settle();
    expect(data('a')).toEqual({ mode: 'active', replicas: '1' });
  });

  it('cannot go while another one of its feed cannot be read', () => {
    localization('good', { data: { mode: 'active' } });
    localization('broken', '{"data": ');
    store.settle();
    store.delete('localizations', 'good', 'clusternet-site-a');
    store.settle();
    expect(store.all('localizations')).toHaveLength(2);
    store.delete('localizations', 'broken', 'clusternet-site-a');
    store.settle();
    expect(store.all('localizations')).toEqual([]);
    expect(data('a')).toEqual({ mode: 'standby', replicas: '1' });
  });

  it('of type Helm is merged into an object too', () => {
    localization('helm', '', { overrides: [{ name: 'h', type: 'Helm', value: 'data: {mode: helm}' }] });
    store.settle();
    expect(data('a')).toEqual({ mode: 'helm', replicas: '1' });
  });

  it('of equal priority wins by the second within the minute in which it was created, not by its age', () => {
    localization('older', { data: { mode: 'older' } });
    localization('newer', { data: { mode: 'newer' } });
    const create = (name: string, creationTimestamp: string): void =>
      store.patch('localizations', name, 'clusternet-site-a', { metadata: { creationTimestamp } });
    create('older', '2026-01-01T00:00:50Z');
    create('newer', '2026-01-01T00:01:10Z');
    store.settle();
    expect(data('a')).toMatchObject({ mode: 'older' });
  });

  it('whose JSONPatch names a path that does not exist changes nothing, without a word', () => {
    const value = '[{"op":"remove","path":"/data/nowhere"}]';
    localization('missing', '', { overrides: [{ name: 'm', type: 'JSONPatch', value }] });
    store.settle();
    expect(data('a')).toEqual({ mode: 'standby', replicas: '1' });
    expect(store.warnings).toEqual([]);
  });

  it('changes the document inside a text field, as newer versions can', () => {
    store.patch('manifests', 'configmaps.shop.settings', manifestNamespace, {
      template: { data: { config: 'db: {host: a, port: 1}' } },
    });
    const field = { fieldPath: '/data/config', fieldFormat: 'YAML' };
    localization('field', '', {
      overrides: [
        { name: 'merge', type: 'FieldMergePatch', value: 'db: {host: b}', ...field },
        { name: 'patch', type: 'FieldJSONPatch', value: '[{op: remove, path: /db/port}]', ...field },
      ],
    });
    store.settle();
    expect(data('a')).toMatchObject({ config: 'db:\n  host: b\n' });
  });

  it('comes after a Globalization', () => {
    store.add('globalizations', {
      metadata: { name: 'everywhere' },
      spec: {
        overridePolicy: 'ApplyNow',
        priority: 1000,
        feed,
        overrides: [
          { name: 'g', type: 'JSONPatch', value: '[{"op":"replace","path":"/data/mode","value":"global"}]' },
        ],
      },
    });
    localization('local', { data: { mode: 'local' } });
    store.settle();
    expect(data('a')).toMatchObject({ mode: 'local' });
    expect(data('b')).toMatchObject({ mode: 'global' });
  });
});

describe('a cluster with a real API server', () => {
  const annotate = (annotations: Record<string, string>): void =>
    store.patch('managedclusters', 'site-a', 'clusternet-site-a', { metadata: { annotations } });
  const asked = (): string[] =>
    reconcile(store.world(), store.now).flatMap((write) =>
      write.op === 'deploy' || write.op === 'undeploy'
        ? [`${write.op} ${write.description.metadata.name}`]
        : [],
    );

  beforeEach(() => {
    annotate({ [simulatorAnnotations.child]: 'https://127.0.0.1:1' });
    subscription({ matchLabels: { site: 'a' } });
    store.settle();
  });

  it('is deployed to once for each change; what it says of the former one stays until then', () => {
    const name = description('a')!.metadata.name;
    expect(asked()).toEqual([`deploy ${name}`]);
    expect(description('a')?.status).toBeUndefined();
    const { uid = '', generation = 0 } = description('a')?.metadata ?? {};
    store.handled.set(uid, generation);
    expect(asked()).toEqual([]);
    store.handled.set(uid, generation - 1);
    expect(asked()).toEqual([`deploy ${name}`]);
  });

  it('is told to remove, after its lag, what a deleted Description holds', () => {
    annotate({ [simulatorAnnotations.lag]: '3' });
    const name = description('a')!.metadata.name;
    store.delete('descriptions', name, 'clusternet-site-a');
    expect(asked()).toEqual([]);
    store.now = new Date('2026-01-01T00:00:04Z');
    expect(asked()).toEqual([`undeploy ${name}`]);
  });

  it('is let go when it is out of reach: the Description goes, nothing is removed', () => {
    annotate({ [simulatorAnnotations.notReady]: '1' });
    store.settle();
    store.delete('subscriptions', 'shop', 'default');
    store.settle();
    expect(description('a')).toBeUndefined();
    expect(asked()).toEqual([]);
  });
});

describe('a HelmChart', () => {
  it('is deployed by a Description of its own, with values from Helm overrides', () => {
    store.add('helmcharts', {
      metadata: { name: 'web', namespace: 'default' },
      spec: { repo: 'https://charts.invalid', chart: 'web', targetNamespace: 'web' },
    });
    const chart: Feed = {
      apiVersion: 'apps.clusternet.io/v1alpha1',
      kind: 'HelmChart',
      name: 'web',
      namespace: 'default',
    };
    store.add('subscriptions', {
      metadata: { name: 'web', namespace: 'default' },
      spec: { subscribers: [{ clusterAffinity: { matchLabels: { site: 'a' } } }], feeds: [chart] },
    });
    store.add('localizations', {
      metadata: { name: 'values', namespace: 'clusternet-site-a' },
      spec: {
        overridePolicy: 'ApplyNow',
        feed: chart,
        overrides: [{ name: 'v', type: 'Helm', value: 'replicas: 3' }],
      },
    });
    store.settle();
    const helm = description('a')!;
    expect(helm.metadata.name).toMatch(/^web-.{5}-helm$/);
    expect(helm.spec.charts).toEqual([{ name: 'web', namespace: 'default' }]);
    expect(JSON.parse(Buffer.from(helm.spec.raw![0]!, 'base64').toString())).toEqual({ replicas: 3 });
    expect(store.find('helmcharts', 'web', 'default')?.['status']).toEqual({ phase: 'Found' });
  });
});
