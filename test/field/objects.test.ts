/** What is there already is not touched by accident, and what an action did is undone to the last byte. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Action } from '../../api/plan/types.js';
import type { KubeObject, ObjectKey } from '../../kube/object.js';
import { actionAt, condition, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('objects');
});
/** Policies have no namespace that would take them along. */
const policies: ObjectKey[] = [];
afterAll(async () => {
  for (const policy of policies) await stack.kube.delete(policy);
  await stack.close();
});

type Resource = NonNullable<Action['resource']>;
const act = (
  name: string,
  operation: Resource['operation'],
  manifest: object | object[],
  more: Partial<Resource> = {},
): Action => ({
  name,
  type: 'KubernetesResource',
  resource: {
    operation,
    manifest: (Array.isArray(manifest) ? manifest : [manifest])
      .map((document) => JSON.stringify(document))
      .join('\n---\n'),
    ...more,
  },
});
const deployment = (name: string, metadata: object, spec?: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, ...metadata },
  ...(spec !== undefined && { spec }),
});
const configMap = (name: string, metadata: object, data?: object) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  ...(data !== undefined && { data }),
});
const read = <T = KubeObject>(kind: 'Deployment' | 'ConfigMap', name: string) =>
  stack.kube.get<T & KubeObject>({
    apiVersion: kind === 'Deployment' ? 'apps/v1' : 'v1',
    kind,
    namespace: stack.namespace,
    name,
  });
const makeDeployment = (name: string) =>
  stack.create(
    deployment(
      name,
      { namespace: stack.namespace },
      {
        replicas: 3,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name: 'main', image: 'example/none' }] },
        },
      },
    ),
  );
/** All of an object that a person has written. */
const written = ({ metadata, ...rest }: KubeObject) => ({
  ...rest,
  labels: metadata.labels,
  annotations: metadata.annotations,
  status: undefined,
});

describe('an Apply', () => {
  it('takes nothing away from another of the same run, nor from one of another plan [F5] [S3.46]', async () => {
    const name = unique('old-site');
    await makeDeployment(name);
    // Its controller has a word on it once.
    const before = await poll(
      () => read('Deployment', name),
      (found) => found?.metadata.annotations !== undefined,
    );
    await stack.simplePlan('stop', [
      act('stop', 'Apply', deployment(name, {}, { replicas: 0 })),
      act('mark', 'Apply', deployment(name, { labels: { role: 'standby' } })),
    ]);
    await stack.simplePlan('note', [
      act('note', 'Apply', deployment(name, { annotations: { note: 'checked' } }), { force: false }),
    ]);
    const stopped = await stack.ended(await stack.execute('stop'));
    expect(stopped.status?.phase).toBe('Succeeded');
    const noted = await stack.ended(await stack.execute('note'));
    expect(noted.status?.phase).toBe('Succeeded');
    const now = await read<{ spec: { replicas: number } }>('Deployment', name);
    expect(now?.spec.replicas).toBe(0);
    expect(now?.metadata.labels).toMatchObject({ role: 'standby' });
    expect(now?.metadata.annotations).toMatchObject({ note: 'checked' });
    for (const one of [noted, stopped]) {
      const revert = await stack.ended(await stack.revert(one));
      expect(revert.status?.phase).toBe('Succeeded');
    }
    expect(written((await read('Deployment', name))!)).toEqual(written(before!));
  });
});

describe('a revert', () => {
  it('gives back labels and annotations that were not there: absent [F6] [S3.17]', async () => {
    const name = unique('bare');
    await stack.create(configMap(name, { namespace: stack.namespace }, { site: 'a' }));
    const before = await read('ConfigMap', name);
    await stack.simplePlan('bare', [
      act('first', 'Apply', configMap(name, {}, { site: 'b' })),
      act(
        'second',
        'Apply',
        configMap(name, { labels: { role: 'standby' }, annotations: { paused: 'true' } }, { site: 'b' }),
      ),
      act('third', 'Apply', configMap(name, { labels: { more: 'yes' } }, { extra: 'x' })),
    ]);
    const run = await stack.ended(await stack.execute('bare'));
    expect(run.status?.phase).toBe('Succeeded');
    const revert = await stack.ended(await stack.revert(run));
    expect(condition(revert, 'FullyReverted')).toMatchObject({ status: 'True' });
    expect(written((await read('ConfigMap', name))!)).toEqual(written(before!));
  });
});

describe('a field that the kind does not have', () => {
  it('is refused at once, with its path, by every operation, unless the action says otherwise [F7] [S3.50]', async () => {
    // Admission would refuse the workflow: here the run itself is asked.
    const unreviewed = await openStack('typo', { admission: 'disabled' });
    const name = unique('typo');
    await unreviewed.create(configMap(name, { namespace: unreviewed.namespace }, {}));
    const action = { failurePolicy: 'Continue' as const };
    await unreviewed.simplePlan(
      'typo',
      [
        act('create', 'Create', { ...configMap(`${name}-c`, {}), dta: { a: 'b' } }),
        {
          ...act('patch', 'Patch', { ...configMap(name, {}), datas: { a: 'b' } }),
          rollback: act('unpatch', 'Patch', configMap(name, {}, { a: 'c' })),
        },
        act('apply', 'Apply', deployment(name, {}, { replica: 3 })),
        act(
          'lenient',
          'Create',
          { ...configMap(`${name}-l`, {}), dta: { a: 'b' } },
          { fieldValidation: 'Warn' },
        ),
      ],
      { workflow: action },
    );
    const asked = Date.now();
    const ended = await unreviewed.ended(await unreviewed.execute('typo'));
    expect(Date.now() - asked).toBeLessThan(20_000);
    const found = [0, 1, 2, 3].map((index) => actionAt(ended, 0, 0, index));
    expect(found.map((one) => one?.reason)).toEqual(['Invalid', 'Invalid', 'Invalid', undefined]);
    expect(found[0]?.message).toContain('dta');
    expect(found[1]?.message).toContain('datas');
    expect(found[2]?.message).toContain('replica');
    expect(found[3]?.phase).toBe('Succeeded');
    await unreviewed.close();
  });

  it('and a label that is no text are told at admission [F7]', async () => {
    const manifest =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x, annotations: { enabled: yes } }\n';
    const spec = {
      actions: [
        {
          name: 'a',
          type: 'KubernetesResource' as const,
          resource: { operation: 'Apply' as const, manifest },
        },
      ],
    };
    await expect(stack.workflow(unique('norway'), spec)).rejects.toThrow(/annotations\S*.*(yes|quote)/s);
  });
});

describe('a manifest', () => {
  it('may hold an object before its definition [F8] [S3.45]', async () => {
    const group = `${unique('g')}.example.com`;
    const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'w' }, spec: { size: 1 } };
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `widgets.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    const policy = { apiVersion: 'dr.bkbcs.tencent.com/v1alpha1', kind: 'DRPolicy', name: unique('p') };
    policies.push(policy);
    await stack.create({
      apiVersion: policy.apiVersion,
      kind: policy.kind,
      metadata: { name: policy.name },
      spec: { namespaces: [stack.namespace], allow: ['APIExtensions'] },
    });
    await stack.simplePlan('widget', [act('both', 'Apply', [widget, definition])]);
    const asked = Date.now();
    const ended = await stack.ended(await stack.execute('widget'));
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Succeeded' });
    expect(Date.now() - asked).toBeLessThan(20_000);
  });
});
