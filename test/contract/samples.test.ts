/** YAML in the shapes and spellings of both generations of the original, applied as it is (S1.2). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kind } from '../../api/core/group.js';
import { ask } from '../admission/asking.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { expectWhole } from './whole.js';

let stack: Stack;
let recorder: Recorder;
let sites: string[];
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('samples'), startRecorder()]);
  sites = ['a', 'b'].map((site) => `${stack.namespace}-${site}`);
  for (const [n, name] of sites.entries()) {
    await stack.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await stack.create({
      apiVersion: 'clusters.clusternet.io/v1beta1',
      kind: 'ManagedCluster',
      metadata: { name: 'site', namespace: name, labels: { 'samples/zone': stack.namespace } },
      spec: { clusterId: `00000000-0000-4000-8000-00000000000${n}`, syncMode: 'Dual' },
    });
  }
});
afterAll(async () => {
  await recorder.close();
  for (const name of sites) await stack.kube.delete({ apiVersion: 'v1', kind: 'Namespace', name });
  await stack.close();
});

async function apply(file: string): Promise<void> {
  const text = await readFile(join('test/samples', file), 'utf8');
  await stack.apply(
    text
      .replaceAll('RECORDER', recorder.url)
      .replaceAll('NAMESPACE', stack.namespace)
      .replaceAll('SITE_A', sites[0] ?? '')
      .replaceAll('SITE_B', sites[1] ?? ''),
  );
}
const localization = (site: number, name: string) =>
  stack.kube.get<{ spec: object }>({
    apiVersion: 'apps.clusternet.io/v1alpha1',
    kind: 'Localization',
    namespace: sites[site] ?? '',
    name,
  });

describe('samples', () => {
  it.each([
    ['first-generation.yaml', 'first'],
    ['later-generation.yaml', 'later'],
  ])('of %s are taken as they are, run, and are reverted [S1.2]', async (file, plan) => {
    await apply(file);
    await poll(
      () => stack.getPlan(plan),
      ({ status }) => status?.phase === 'Ready',
    );
    const execution = await stack.ended(await stack.execute(plan));
    expect(execution.status?.message).toMatch(/^\d stages? completed$/);
    await expectWhole(stack, execution);
    if (plan === 'first') {
      expect(JSON.parse(recorder.of('/samples/tell')[0]?.body ?? '')).toEqual({ plan: 'first', attempts: 2 });
      // What decides a failover: an override that counts at once.
      expect((await localization(1, 'first-on'))?.spec).toMatchObject({
        overridePolicy: 'ApplyNow',
        priority: 710,
      });
    } else {
      expect(recorder.of('/samples/later')).toHaveLength(1);
      expect((await localization(1, 'shop-tuned'))?.spec).toMatchObject({ priority: 800 });
    }
    const revert = await stack.ended(await stack.revert(execution));
    expect(revert.status?.phase).toBe('Succeeded');
    const name = plan === 'first' ? 'first-on' : 'shop-tuned';
    await poll(
      () => localization(1, name),
      (found) => found === undefined,
    );
    if (plan === 'first') expect(recorder.of('/samples/undo-tell')).toHaveLength(1);
  });

  it.each([
    ['installed-by-chart.yaml', 'chart-install-plan', 'chart-overrides-b', { priority: 500 }],
    ['switchover.yaml', 'web-switchover-plan', 'web-switchover-b', { priority: 800 }],
  ])(
    'of %s are taken as they are, with executions that are files too [S1.2]',
    async (file, plan, made, spec) => {
      await apply(file);
      await poll(
        () => stack.getPlan(plan),
        ({ status }) => status?.phase === 'Ready',
      );
      const run = await stack.execute(plan, {}, `${plan}-exec-001`);
      await expectWhole(stack, await stack.ended(run));
      expect((await localization(1, made))?.spec).toMatchObject({ ...spec, overridePolicy: 'ApplyNow' });
      const revert = await stack.revert(run);
      expect((await stack.ended(revert)).status?.phase).toBe('Succeeded');
      await poll(
        () => localization(1, made),
        (found) => found === undefined,
      );
    },
  );

  const pod = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] };
  it.each<[string, Kind, unknown, RegExp]>([
    ['an empty spec', 'DRPlan', undefined, /spec: Required value/],
    [
      'a plan as an object and "operation", as one of its documents has it',
      'DRPlanExecution',
      { planRef: { name: 'first', namespace: 'x' }, operation: 'Execute' },
      /spec\.planRef|spec\.operationType/,
    ],
    [
      'a pod where a Job template has to be',
      'DRWorkflow',
      { actions: [{ name: 'sync', type: 'Job', job: { template: { spec: pod } } }] },
      /spec\.actions\[0\]\.job\.template\.spec\.template.*(pod|template)/s,
    ],
    [
      'a failure policy of a workflow that plans have',
      'DRWorkflow',
      { failurePolicy: 'Stop', actions: [{ name: 'a', type: 'HTTP', http: { url: 'http://x/' } }] },
      /failurePolicy.*Stop.*FailFast/s,
    ],
    [
      'a type of parameter that there never was',
      'DRWorkflow',
      {
        parameters: [{ name: 'n', type: 'int' }],
        actions: [{ name: 'a', type: 'HTTP', http: { url: 'http://x/' } }],
      },
      /int.*number/s,
    ],
  ])('with %s are refused, and told why [S1.2]', async (_, kind, spec, message) => {
    const asked = await ask(stack.namespace, kind, 'refused', spec, { dryRun: true });
    expect(asked.message).toMatch(message);
    expect([400, 422]).toContain(asked.status);
  });
});
