import { expect, it } from 'vitest';
import type { Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { Parameter } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import type { KubeObject } from '../../../kube/object.js';
import { resolveValues } from './resolve-values.js';

/** Objects of one namespace, and what was asked about them. */
function cluster(objects: KubeObject[]) {
  const asked: string[] = [];
  const kube = {
    resolve: () => Promise.resolve({ namespaced: true }),
    get: ({ namespace, name }: { namespace: string; name: string }) => {
      asked.push(`${namespace}/${name}`);
      return Promise.resolve(objects.find((object) => object.metadata.name === name));
    },
    list: () => Promise.resolve({ metadata: { resourceVersion: '1' }, items: objects }),
  } as unknown as KubeClient;
  return { asked, context: { kube, identity: 'somebody', namespace: 'ns', executionName: 'e' } };
}

const site = (name: string, region: string, created = '2026-01-01T00:00:00Z'): KubeObject => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '7', creationTimestamp: created },
  data: { region },
});
const from = (name: string, ref: Record<string, string>): Parameter => ({
  name,
  valueFrom: { manifestRef: { apiVersion: 'v1', kind: 'ConfigMap', jsonPath: '{.data.region}', ...ref } },
});
const snapshotOf = (levels: {
  global?: Parameter[];
  use?: Parameter[];
  execution?: Parameter[];
}): Snapshot => ({
  plan: {
    name: 'p',
    namespace: 'ns',
    uid: 'plan',
    generation: 1,
    spec: {
      ...(levels.global !== undefined && { globalParams: levels.global }),
      stages: [
        {
          name: 's',
          workflows: [
            { workflowRef: { name: 'w' }, ...(levels.use !== undefined && { params: levels.use }) },
          ],
        },
      ],
    },
  },
  workflows: {},
  params: levels.execution ?? [],
  operation: 'Execute',
  runMode: 'Planned',
});

it('looks the same reference up once, and says of each value where it came from [S1.23]', async () => {
  const { asked, context } = cluster([site('here', 'eu')]);
  const { plan, resolved } = await resolveValues(
    snapshotOf({ global: [from('a', { name: 'here' }), from('b', { name: 'here' })] }),
    context,
  );
  expect(plan.spec.globalParams).toEqual([
    { name: 'a', value: 'eu' },
    { name: 'b', value: 'eu' },
  ]);
  expect(asked).toEqual(['ns/here']);
  const source = { from: 'v1 ConfigMap "ns/here" {.data.region}', uid: 'uid-here', resourceVersion: '7' };
  expect(resolved).toEqual([
    { path: 'plan.spec.globalParams[0]', name: 'a', ...source },
    { path: 'plan.spec.globalParams[1]', name: 'b', ...source },
  ]);
});

it('shows a reference what was found for lower levels, and asks for nothing that an execution overrides [S1.23]', async () => {
  const { asked, context } = cluster([site('here', 'eu'), site('eu', 'north'), site('north-p', 'last')]);
  const { plan, params } = await resolveValues(
    snapshotOf({
      global: [from('region', { name: 'here' }), from('given', { name: 'nowhere' })],
      execution: [from('zone', { name: '$(params.region)' }), { name: 'given', value: 1 }],
      use: [from('own', { name: '$(params.zone)-{{ .planName }}' }), from('given', { name: 'nowhere' })],
    }),
    context,
  );
  expect(asked).toEqual(['ns/here', 'ns/eu', 'ns/north-p']);
  expect(plan.spec.globalParams).toEqual([{ name: 'region', value: 'eu' }, { name: 'given' }]);
  expect(params).toEqual([
    { name: 'zone', value: 'north' },
    { name: 'given', value: 1 },
  ]);
  expect(plan.spec.stages[0]?.workflows[0]?.params).toEqual([
    { name: 'own', value: 'last' },
    { name: 'given' },
  ]);
});

it.each([
  ['First', 'a'],
  ['Last', 'c'],
  ['Single', /there are 3: a, b, c/],
])('chooses %s of several by age, and by name where they are as old [S1.23]', async (select, chosen) => {
  const old = '2025-01-01T00:00:00Z';
  const { context } = cluster([site('c', 'c'), site('a', 'a', old), site('b', 'b', old)]);
  const params = resolveValues(
    snapshotOf({ execution: [from('x', { labelSelector: 'of=site', select })] }),
    context,
  ).then((snapshot) => snapshot.params);
  if (typeof chosen === 'string') expect(await params).toEqual([{ name: 'x', value: chosen }]);
  else await expect(params).rejects.toThrow(chosen);
});
