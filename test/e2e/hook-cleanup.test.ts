import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LABELS } from '../../api/core/group.js';
import type { Action } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { actionAt, openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('cleanup');
});
afterAll(() => stack.close());

const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  namespace: stack.namespace,
  name,
});
const find = (name: string) =>
  stack.kube.get<KubeObject & { data?: Record<string, string> }>(configMap(name));
const creates = (name: string, hookCleanup: Action['hookCleanup']): Action => ({
  name,
  type: 'KubernetesResource',
  hookType: 'pre-install',
  hookCleanup,
  resource: {
    operation: 'Create',
    manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}}, data: {run: '{{ .executionName }}'}}`,
  },
});
const job = (name: string, hookCleanup: Action['hookCleanup']): Action => ({
  name,
  type: 'Job',
  hookType: 'pre-install',
  hookCleanup,
  job: {
    namespace: stack.namespace,
    template: {
      spec: {
        backoffLimit: 0,
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x.example/x' }] } },
      },
    },
  },
});
const install = async (plan: string) =>
  stack.ended(await stack.execute(plan, { mode: 'Install', rerun: 'Allowed' }));

describe('hookCleanup', () => {
  it('beforeCreate makes room for the next run, whoever made what is there; without it the hook fails [S1.22]', async () => {
    const plan = unique('room');
    const name = `${plan}-c`;
    await stack.create({
      ...configMap(name),
      metadata: { name, namespace: stack.namespace },
      data: { run: 'other' },
    });
    await stack.simplePlan(plan, [creates(name, { beforeCreate: true })]);
    const first = await install(plan);
    expect(first.status).toMatchObject({ phase: 'Succeeded' });
    const uid = (await find(name))?.metadata.uid;
    const second = await install(plan);
    expect(second.status).toMatchObject({ phase: 'Succeeded' });
    expect(await find(name)).toMatchObject({ data: { run: second.metadata.name } });
    expect((await find(name))?.metadata.uid).not.toBe(uid);
    // The revert takes away what this run has made, and nothing else.
    expect((await stack.ended(await stack.revert(second))).status).toMatchObject({ phase: 'Succeeded' });
    expect(await find(name)).toBeUndefined();

    const strict = unique('strict');
    await stack.create({ ...configMap(strict), metadata: { name: strict, namespace: stack.namespace } });
    await stack.simplePlan(strict, [creates(strict, { onFailure: true })]);
    expect((await install(strict)).status?.phase).toBe('Failed');
    expect(await find(strict)).toBeDefined();
  });

  it('deletes nothing where the condition of the hook is false [S1.22]', async () => {
    const plan = unique('when');
    await stack.create({ ...configMap(plan), metadata: { name: plan, namespace: stack.namespace } });
    await stack.simplePlan(plan, [{ ...creates(plan, { beforeCreate: true }), when: 'runMode == "Drill"' }]);
    const ended = await install(plan);
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Skipped', reason: 'WhenFalse' });
    expect(await find(plan)).toBeDefined();
  });

  it('onSuccess removes what the hook created, says so, and leaves nothing to a revert [S1.22]', async () => {
    const plan = unique('done');
    await stack.simplePlan(plan, [creates(plan, { onSuccess: true })]);
    const ended = await install(plan);
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({
      phase: 'Succeeded',
      message: expect.stringContaining('removed ConfigMap') as string,
    });
    expect(await find(plan)).toBeUndefined();
    expect((await stack.ended(await stack.revert(ended))).status).toMatchObject({ phase: 'Succeeded' });
  });

  it('finds the Jobs of earlier runs, whose names differ [S1.22]', async () => {
    const plan = unique('job');
    const jobs = async () => {
      const { items } = await stack.kube.list<KubeObject>(
        { apiVersion: 'batch/v1', kind: 'Job' },
        { namespace: stack.namespace },
      );
      return items.filter(({ metadata }) => metadata.name.includes('migrate'));
    };
    await stack.simplePlan(plan, [job('migrate', { beforeCreate: true })]);
    const first = await install(plan);
    expect(first.status).toMatchObject({ phase: 'Succeeded' });
    const [one] = await jobs();
    expect(one?.metadata.labels?.[LABELS.hook]).toMatch(/^[0-9a-f]{32}$/);
    await install(plan);
    const left = await jobs();
    expect(left).toHaveLength(1);
    expect(left[0]?.metadata.name).not.toBe(one?.metadata.name);
  });

  it('onSuccess deletes a Job that has completed', async () => {
    const plan = unique('once');
    await stack.simplePlan(plan, [job('once', { onSuccess: true })]);
    const ended = await install(plan);
    expect(ended.status).toMatchObject({ phase: 'Succeeded' });
    const { jobRef } = actionAt(ended, 0, 0, 0)?.outputs ?? {};
    const key = { apiVersion: 'batch/v1', kind: 'Job', namespace: stack.namespace, name: jobRef?.name ?? '' };
    expect(await stack.kube.get(key)).toBeUndefined();
    expect((await stack.ended(await stack.revert(ended))).status).toMatchObject({ phase: 'Succeeded' });
  });
});
