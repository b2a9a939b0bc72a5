import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Parameter } from '../../api/plan/types.js';
import { http, openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';

let stack: Stack;
/** For what admission refuses before the bridge can. */
let unreviewed: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, unreviewed, recorder] = await Promise.all([
    openStack('values'),
    openStack('values-unreviewed', { admission: 'disabled' }),
    startRecorder(),
  ]);
});
afterAll(async () => {
  await recorder.close();
  await Promise.all([stack.close(), unreviewed.close()]);
});

type Ref = NonNullable<NonNullable<Parameter['valueFrom']>['manifestRef']>;
const from = (name: string, ref: Partial<Ref>): Parameter => ({
  name,
  valueFrom: { manifestRef: { apiVersion: 'v1', kind: 'ConfigMap', jsonPath: '{.data.site}', ...ref } },
});
const configMap = (name: string, site: string, labels: Record<string, string> = {}) =>
  stack.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: stack.namespace, labels },
    data: { site, ns: stack.namespace },
  });
const plan = (name: string, globalParams: Parameter[], more: object = {}) =>
  stack.simplePlan(
    name,
    [
      http('main', `${recorder.url}/${name}/{{ .params.site }}`, {
        rollback: { http: { url: `${recorder.url}/${name}/undo-{{ .params.site }}`, method: 'POST' } },
      }),
    ],
    { plan: { globalParams, ...more } },
  );
const calls = (name: string): string[] =>
  recorder.requests.map(({ path }) => path).filter((path) => path.startsWith(`/${name}/`));
const fails = async (name: string, spec: object = {}) => {
  const ended = await stack.ended(await stack.execute(name, spec));
  expect(ended.status?.phase).toBe('Failed');
  expect(calls(name)).toEqual([]);
  expect((await stack.getPlan(name)).status?.currentExecution).toBeUndefined();
  return ended.status;
};

describe('a value from an object', () => {
  it('is looked up once, before the run: the revert goes by what was found then [S1.23]', async () => {
    const name = unique('once');
    await configMap(name, 'a');
    await plan(name, [{ name: 'config', value: name }, from('site', { name: '{{ .params.config }}' })]);
    const run = await stack.ended(await stack.execute(name));
    expect(run.status).toMatchObject({ phase: 'Succeeded' });
    await stack.kube.patch(
      { apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name },
      { data: { site: 'b' } },
      { kind: 'merge' },
    );
    expect((await stack.ended(await stack.revert(run))).status).toMatchObject({ phase: 'Succeeded' });
    expect(calls(name)).toEqual([`/${name}/a`, `/${name}/undo-a`]);
    const again = await stack.ended(await stack.execute(name));
    expect(again.status?.phase).toBe('Succeeded');
    expect(calls(name).at(-1)).toBe(`/${name}/b`);
    const digest = run.status?.snapshotRef?.digest;
    expect(again.status?.snapshotRef?.digest).not.toBe(digest);
  });

  it('may be picked by labels, and an execution gives or overrides it [S1.23]', async () => {
    const name = unique('pick');
    const labels = { app: name };
    await configMap(`${name}-1`, 'first', labels);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await configMap(`${name}-2`, 'last', labels);
    await plan(name, [from('site', { labelSelector: 'app={{ .planName }}' })]);
    const run = async (spec: object = {}) => {
      const ended = await stack.ended(await stack.execute(name, { rerun: 'Allowed', ...spec }));
      expect(ended.status).toMatchObject({ phase: 'Succeeded' });
      return calls(name).at(-1);
    };
    expect(await run()).toBe(`/${name}/last`);
    const first = from('site', { labelSelector: `app=${name}`, select: 'First' });
    expect(await run({ params: [first] })).toBe(`/${name}/first`);
    // What is overridden is not looked up.
    await stack.kube.delete({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: stack.namespace,
      name: `${name}-1`,
    });
    await stack.kube.delete({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: stack.namespace,
      name: `${name}-2`,
    });
    expect(await run({ params: [{ name: 'site', value: 'by-hand' }] })).toBe(`/${name}/by-hand`);
  });

  it('that is not there, not one, or not a value fails the execution before any action [S1.23]', async () => {
    const name = unique('none');
    const labels = { app: name };
    await plan(name, [from('site', { name })]);
    expect(await fails(name)).toMatchObject({
      reason: 'ValueNotFound',
      message: expect.stringContaining(`no ConfigMap "${name}"`) as string,
    });
    await configMap(name, '', labels);
    await configMap(`${name}-2`, 'x', labels);
    expect(await fails(name)).toMatchObject({ reason: 'ValueNotFound' });
    const single = from('site', { labelSelector: `app=${name}`, select: 'Single' });
    expect(await fails(name, { params: [single] })).toMatchObject({ reason: 'ValueAmbiguous' });
    const whole = from('site', { name, jsonPath: '{.data}' });
    expect(await fails(name, { params: [whole] })).toMatchObject({ reason: 'ValueInvalid' });
    const kind = from('site', { name, apiVersion: 'nowhere.io/v1', kind: 'Widget' });
    expect(await fails(name, { params: [kind] })).toMatchObject({ reason: 'ValueNotFound' });
  });

  it('is looked up as the account that the run acts as [S1.23]', async () => {
    const name = unique('who');
    await configMap(name, 'a');
    await stack.create({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'nobody', namespace: stack.namespace },
    });
    await plan(name, [from('site', { name })], { serviceAccountName: 'nobody' });
    expect(await fails(name)).toMatchObject({
      reason: 'ValueForbidden',
      message: expect.stringContaining(`system:serviceaccount:${stack.namespace}:nobody`) as string,
    });
  });

  it('is never that of a Secret [S1.23]', async () => {
    const name = unique('secret');
    await plan(name, [{ name: 'site', value: 'a' }]);
    const secret = { params: [from('site', { kind: 'Secret', name: 'credentials' })] };
    await expect(stack.execute(name, secret)).rejects.toThrow(/Secret/);
    await unreviewed.simplePlan(name, [http('main', `${recorder.url}/${name}/{{ .params.site }}`)], {
      plan: { globalParams: [{ name: 'site', value: 'a' }] },
    });
    const ended = await unreviewed.ended(await unreviewed.execute(name, secret));
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'SecretRefused' });
    expect(calls(name)).toEqual([]);
  });
});
