import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHelmChartHandler } from '../../activities/actions/clusternet/helm-chart.js';
import { createLocalizationHandler } from '../../activities/actions/clusternet/localization.js';
import type { HelmChartAction } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { containing, openBench, startLife } from '../support/attempts.js';
import type { Bench, Life } from '../support/attempts.js';
import { servers } from '../support/servers.js';
import { APPS, eventually, FAIL, openSites } from '../support/sites.js';
import type { Sites } from '../support/sites.js';

const charts = createHelmChartHandler({ finalizerWaitMs: 3000 });
let bench: Bench;
let sites: Sites;

beforeAll(async () => {
  bench = await openBench(servers.kubeconfig);
  sites = await openSites(bench.kube, { sites: ['a'], feeds: [] });
});
afterAll(async () => {
  await sites.close();
  await bench.close();
});

interface Chart extends KubeObject {
  spec: Record<string, unknown>;
}
const key = (name: string) => ({ apiVersion: APPS, kind: 'HelmChart', namespace: bench.namespace, name });
const get = (name: string) => bench.kube.get<Chart>(key(name));
const spec = { repo: 'oci://example.org/charts', chart: 'web', targetNamespace: 'shop', version: '1.0.0' };
const chart = (block: Omit<HelmChartAction, 'namespace'>, waitReady = true, timeoutMs = 20_000): Life =>
  startLife(
    bench,
    charts,
    { type: 'HelmChart', helmChart: { namespace: '{{ .params.where }}', ...block }, waitReady },
    { timeoutMs, params: { where: bench.namespace, version: '2.0.0' } },
  );

describe('HelmChart', () => {
  it('is created, found, and deleted on undo [S3.36]', async () => {
    const action = chart({ name: 'web', spec });
    expect(await action.run()).toMatchObject({
      kind: 'succeeded',
      message: containing('has found the chart'),
      outputs: { helmChartRef: { name: 'web' }, created: [{ kind: 'HelmChart' }] },
    });
    expect(await action.settle()).toMatchObject({ kind: 'succeeded' });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('web')).toBeUndefined();
  });

  it('is patched, and gets its version back [S3.30] [S3.36]', async () => {
    const base = chart({ name: 'patched', operation: 'Apply', spec });
    await base.capture();
    await base.run();
    const action = chart({
      name: 'patched',
      operation: 'Patch',
      spec: { version: '{{ .params.version }}' },
    });
    await action.capture();
    expect(await action.run()).toMatchObject({ kind: 'succeeded' });
    expect(await get('patched')).toMatchObject({ spec: { ...spec, version: '2.0.0' } });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('patched')).toMatchObject({ spec });
    expect(await base.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('patched')).toBeUndefined();
  });

  it('that is not found is told with the reason, and undone all the same [S3.36]', async () => {
    await bench.kube.create({
      apiVersion: APPS,
      kind: 'HelmChart',
      metadata: {
        name: 'lost',
        namespace: bench.namespace,
        annotations: { [FAIL]: 'no such chart in the repository' },
      },
      spec: { ...spec, chart: 'other' },
    });
    const action = chart({ name: 'lost', operation: 'Apply', spec });
    await action.capture();
    expect(await action.run()).toMatchObject({
      kind: 'retry',
      reason: 'ChartNotFound',
      effect: 'Done',
      message: containing('no such chart in the repository'),
      outputs: { helmChartRef: { name: 'lost' } },
    });
    expect(await action.settle()).toMatchObject({ kind: 'failed', reason: 'NotReady', effect: 'Done' });
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get('lost')).toMatchObject({ spec: { chart: 'other' } });
    await bench.kube.delete(key('lost'));
  });

  it('that a Subscription still names is not deleted, which is told in bounded time [S3.36]', async () => {
    const action = chart({ name: 'used', spec });
    await action.run();
    const subscription = {
      apiVersion: APPS,
      kind: 'Subscription',
      metadata: { name: 'user', namespace: bench.namespace },
      spec: {
        feeds: [{ apiVersion: APPS, kind: 'HelmChart', name: 'used', namespace: bench.namespace }],
        subscribers: [{ clusterAffinity: sites.affinity('a') }],
      },
    };
    await bench.kube.create(subscription);
    expect(await action.undo()).toMatchObject({
      kind: 'failed',
      reason: 'StillTerminating',
      message: containing('HelmChart'),
    });
    await bench.kube.delete({ ...subscription, namespace: bench.namespace, name: 'user' });
    await eventually(() => get('used'), undefined);
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
  });

  it('keeps the values that a Localization gives, which is told when it is written and when it is undone', async () => {
    const feed = { apiVersion: APPS, kind: 'HelmChart', name: 'valued', namespace: bench.namespace };
    const localize = (override: { value: string; overrideChart?: boolean }): Life =>
      startLife(
        bench,
        createLocalizationHandler(),
        {
          type: 'Localization',
          localization: {
            name: 'values',
            namespace: sites.namespaceOf('a'),
            feed,
            overrides: [{ name: 'o', type: 'Helm', ...override }],
          },
        },
        { timeoutMs: 20_000, params: {} },
      );
    const values = localize({ value: 'replicas: 3' });
    const told = { kind: 'succeeded', message: containing('stay in it when the override goes') };
    expect(await values.run()).toMatchObject(told);
    expect(await values.undo()).toMatchObject(told);
    const version = localize({ value: 'version: 2.0.0', overrideChart: true });
    expect((await version.run()).message ?? '').not.toContain('stay in it');
    expect(await version.undo()).toMatchObject({ kind: 'succeeded' });
  });

  it.each<[string, Omit<HelmChartAction, 'namespace'>, string]>([
    ['no repo', { name: 'x', spec: { chart: 'web', targetNamespace: 'shop' } }, 'InvalidSpec'],
    ['nothing to apply', { name: 'x', operation: 'Apply' }, 'InvalidSpec'],
    ['Replace', { name: 'x', operation: 'Replace', spec }, 'InvalidOperation'],
  ])('refuses %s', async (_name, block, reason) => {
    expect(await chart(block).run()).toMatchObject({ kind: 'failed', reason, effect: 'None' });
    expect(await get('x')).toBeUndefined();
  });
});
