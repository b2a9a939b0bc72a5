import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGlobalizationHandler } from '../../activities/actions/clusternet/globalization.js';
import type { GlobalizationAction } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { containing, openBench, startLife } from '../support/attempts.js';
import type { Bench, Life } from '../support/attempts.js';
import { servers } from '../support/servers.js';
import { APPS, eventually, openSites } from '../support/sites.js';
import type { Sites } from '../support/sites.js';

const globalizations = createGlobalizationHandler({ finalizerWaitMs: 10_000 });
let bench: Bench;
let sites: Sites;

beforeAll(async () => {
  bench = await openBench(servers.kubeconfig);
  sites = await openSites(bench.kube, { sites: ['a', 'b'], feeds: ['web', 'shop'] });
  await bench.kube.create({
    apiVersion: APPS,
    kind: 'Subscription',
    metadata: { name: 'base', namespace: bench.namespace },
    spec: {
      feeds: [sites.feed('web')],
      subscribers: [{ clusterAffinity: sites.affinity('a', 'b') }],
    },
  });
  await eventually(() => modes(), ['standby', 'standby']);
});

afterAll(async () => {
  await bench.kube.delete({
    apiVersion: APPS,
    kind: 'Subscription',
    namespace: bench.namespace,
    name: 'base',
  });
  await eventually(() => sites.deployed('a'), {});
  await eventually(() => sites.deployed('b'), {});
  await sites.close();
  await bench.close();
});

interface Glob extends KubeObject {
  spec: { overridePolicy: string; priority: number };
}
/** There is one of a name in the whole cluster. */
const named = (name: string): string => `${name}-${sites.id}`;
const get = (name: string) =>
  bench.kube.get<Glob>({ apiVersion: APPS, kind: 'Globalization', name: named(name) });

/** What web says on both sites. */
async function modes(): Promise<unknown[]> {
  const both = await Promise.all([sites.deployed('a'), sites.deployed('b')]);
  return both.map((site) => (site.web as { mode?: string } | undefined)?.mode);
}

const globalization = ({ name, ...block }: GlobalizationAction): Life =>
  startLife(
    bench,
    globalizations,
    { type: 'Globalization', globalization: { name: named(name), ...block } },
    { params: { mode: 'active', site: 'a' } },
  );
const merge = (value: string) => [{ name: 'mode', type: 'MergePatch', value }];

describe('Globalization', () => {
  it('takes effect on every cluster at once by default, and is taken back [S3.33]', async () => {
    const action = globalization({
      name: 'all',
      spec: { feed: sites.feed('web'), overrides: merge('data: {mode: "{{ .params.mode }}"}') },
    });
    expect(await action.run()).toMatchObject({
      kind: 'succeeded',
      outputs: {
        globalizationRef: { kind: 'Globalization', name: named('all') },
        created: [{ kind: 'Globalization' }],
      },
    });
    expect(await get('all')).toMatchObject({ spec: { overridePolicy: 'ApplyNow', priority: 500 } });
    await eventually(modes, ['active', 'active']);
    expect(await action.settle()).toMatchObject({ kind: 'succeeded' });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('all')).toBeUndefined();
    await eventually(modes, ['standby', 'standby']);
  });

  it('patches only what is written, restores it, and brings a deleted one back [S3.30] [S3.33]', async () => {
    const base = globalization({
      name: 'some',
      operation: 'Apply',
      spec: {
        feed: sites.feed('web'),
        priority: 600,
        clusterAffinity: { matchLabels: { test: sites.id, site: '{{ .params.site }}' } },
        overrides: merge('data: {mode: first}'),
      },
    });
    await base.capture();
    expect(await base.run()).toMatchObject({ kind: 'succeeded' });
    await eventually(modes, ['first', 'standby']);

    const patch = globalization({
      name: 'some',
      operation: 'Patch',
      spec: { overrides: merge('data: {mode: second}') },
    });
    await patch.capture();
    expect(await patch.run()).toMatchObject({ kind: 'succeeded' });
    expect(await get('some')).toMatchObject({ spec: { priority: 600, overridePolicy: 'ApplyNow' } });
    await eventually(modes, ['second', 'standby']);
    expect(await patch.undo()).toMatchObject({ kind: 'succeeded' });
    await eventually(modes, ['first', 'standby']);

    const removal = globalization({ name: 'some', operation: 'Delete' });
    await removal.capture();
    expect(await removal.run()).toMatchObject({ kind: 'succeeded' });
    await eventually(modes, ['standby', 'standby']);
    expect(await removal.undo()).toMatchObject({ kind: 'succeeded' });
    await eventually(modes, ['first', 'standby']);
    // What was recreated is not what the first action made, which so leaves it alone.
    await base.undo();
    await bench.kube.delete({ apiVersion: APPS, kind: 'Globalization', name: named('some') });
  });

  it('hints that its affinity matches nothing', async () => {
    const action = globalization({
      name: 'astray',
      spec: { feed: sites.feed('web'), clusterAffinity: sites.affinity('z') },
    });
    expect(await action.run()).toMatchObject({
      kind: 'succeeded',
      message: containing('no ManagedCluster matches its clusterAffinity'),
    });
    await action.undo();
  });

  it.each<[string, GlobalizationAction, string]>([
    ['no feed', { name: 'x', spec: { overrides: [] } }, 'InvalidSpec'],
    [
      'a value that is no YAML',
      { name: 'x', spec: { feed: { kind: 'ConfigMap' }, overrides: merge('{a: [') } },
      'InvalidOverride',
    ],
    ['Replace', { name: 'x', operation: 'Replace' }, 'InvalidOperation'],
  ])('refuses %s [S3.33]', async (_name, block, reason) => {
    expect(await globalization(block).run()).toMatchObject({ kind: 'failed', reason, effect: 'None' });
    expect(await get('x')).toBeUndefined();
  });

  it('refuses to be retargeted', async () => {
    const base = globalization({ name: 'aimed', spec: { feed: sites.feed('web') } });
    await base.run();
    const action = globalization({
      name: 'aimed',
      operation: 'Patch',
      spec: { feed: sites.feed('shop') },
    });
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'failed', message: containing('feed') });
    await base.undo();
  });
});
