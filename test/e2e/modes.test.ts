import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Action } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { actionAt, http, openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';

const APPS = 'apps.clusternet.io/v1alpha1';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('modes'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

/** Which of the paths were called, in order. */
const calls = (prefix: string): string[] =>
  recorder.requests.map((request) => request.path).filter((path) => path.startsWith(`/${prefix}/`));
const call = (prefix: string, name: string, more: Partial<Action> = {}): Action =>
  http(name, `${recorder.url}/${prefix}/${name}`, more);

describe('without a mode', () => {
  it('comparisons on it are true, in both spellings [S1.18]', async () => {
    const prefix = unique('none');
    await stack.simplePlan(prefix, [
      call(prefix, 'install', { when: 'mode == "install"' }),
      call(prefix, 'upgrade', { when: 'mode == upgrade' }),
      call(prefix, 'either', { when: 'mode == "delete" || mode == "rollback"' }),
    ]);
    const ended = await stack.ended(await stack.execute(prefix));
    expect(ended.status).toMatchObject({ phase: 'Succeeded' });
    expect(calls(prefix)).toEqual(['install', 'upgrade', 'either'].map((name) => `/${prefix}/${name}`));
  });
});

describe('a mode', () => {
  it('decides conditions, hooks and placeholders; the plan takes an upgrade and a deletion after an install [S1.19]', async () => {
    const prefix = unique('m');
    await stack.simplePlan(prefix, [
      call(prefix, 'tested', { hookType: 'post-upgrade' }),
      http('main', `${recorder.url}/${prefix}/{{ .mode }}-$(params.mode)`, {
        when: 'mode == "install" || mode == upgrade',
      }),
      call(prefix, 'backup', { hookType: 'pre-upgrade' }),
      call(prefix, 'migrate', { hookType: 'pre-install', when: 'mode == "install"' }),
      call(prefix, 'removed', { hookType: 'post-delete' }),
    ]);
    const installed = await stack.ended(await stack.execute(prefix, { mode: 'Install' }));
    expect(installed.status).toMatchObject({ phase: 'Succeeded' });
    expect(calls(prefix)).toEqual([`/${prefix}/migrate`, `/${prefix}/install-install`]);
    expect(actionAt(installed, 0, 0, 2)).toMatchObject({
      phase: 'Skipped',
      reason: 'OtherMode',
      hookType: 'pre-upgrade',
      message: expect.stringContaining('Install') as string,
    });

    expect((await stack.ended(await stack.execute(prefix, { mode: 'Upgrade' }))).status?.phase).toBe(
      'Succeeded',
    );
    expect(calls(prefix).slice(2)).toEqual([
      `/${prefix}/backup`,
      `/${prefix}/upgrade-upgrade`,
      `/${prefix}/tested`,
    ]);
    expect((await stack.getPlan(prefix)).status?.phase).toBe('Executed');
    await expect(stack.execute(prefix, { mode: 'Install' })).rejects.toThrow(/PlanExecuted|was executed/);

    expect((await stack.ended(await stack.execute(prefix, { mode: 'Delete' }))).status?.phase).toBe(
      'Succeeded',
    );
    expect(calls(prefix).slice(5)).toEqual([`/${prefix}/removed`]);
    const plan = await stack.getPlan(prefix);
    expect(plan.status).toMatchObject({ phase: 'Ready' });
    expect(plan.status?.executionHistory?.map((row) => row.mode)).toEqual(['Delete', 'Upgrade', 'Install']);
  });

  it('Delete takes apart what a workflow applies, says what it leaves, and a Revert brings it back [S1.20]', async () => {
    const prefix = unique('d');
    const subscription = (name: string): Action => ({
      name,
      type: 'Subscription',
      subscription: {
        operation: 'Apply',
        name: `${prefix}-${name}`,
        namespace: stack.namespace,
        spec: {
          schedulingStrategy: 'Replication',
          feeds: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'none', namespace: 'default' }],
          subscribers: [{ clusterAffinity: { matchLabels: { test: prefix } } }],
        },
      },
    });
    const subscriptions = async () => {
      const { items } = await stack.kube.list<KubeObject>(
        { apiVersion: APPS, kind: 'Subscription' },
        { namespace: stack.namespace },
      );
      return items.map((item) => item.metadata.name).filter((name) => name.startsWith(prefix));
    };
    await stack.create({
      apiVersion: 'clusters.clusternet.io/v1beta1',
      kind: 'ManagedCluster',
      metadata: { name: prefix, namespace: stack.namespace, labels: { test: prefix } },
      spec: { clusterId: randomUUID(), syncMode: 'Dual' },
    });
    await stack.simplePlan(prefix, [subscription('db'), call(prefix, 'switch'), subscription('web')]);
    const installed = await stack.ended(await stack.execute(prefix, { mode: 'Install' }));
    expect(installed.status).toMatchObject({ phase: 'Succeeded' });
    expect(await subscriptions()).toEqual([`${prefix}-db`, `${prefix}-web`]);

    const deleted = await stack.ended(await stack.execute(prefix, { mode: 'Delete' }));
    expect(deleted.status).toMatchObject({ phase: 'Succeeded' });
    expect(
      deleted.status?.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses?.map((action) => [
        action.name,
        action.phase,
        action.reason,
      ]),
    ).toEqual([
      ['delete-web', 'Succeeded', undefined],
      ['switch', 'Skipped', 'NoDelete'],
      ['delete-db', 'Succeeded', undefined],
    ]);
    expect(await subscriptions()).toEqual([]);
    expect(calls(prefix)).toHaveLength(1);

    const reverted = await stack.ended(await stack.revert(deleted));
    expect(reverted.status).toMatchObject({ phase: 'Succeeded' });
    expect(await subscriptions()).toEqual([`${prefix}-db`, `${prefix}-web`]);
    expect((await stack.getPlan(prefix)).status).toMatchObject({
      phase: 'Executed',
      executedBy: { name: installed.metadata.name },
    });
  });
});

describe('rollback hooks', () => {
  it('run around a Revert and not in the execution [S1.21]', async () => {
    const prefix = unique('r');
    await stack.simplePlan(prefix, [
      call(prefix, 'end', { hookType: 'post-rollback' }),
      call(prefix, 'main', {
        rollback: { http: { url: `${recorder.url}/${prefix}/undo-{{ .mode }}`, method: 'POST' } },
      }),
      call(prefix, 'begin', { hookType: 'pre-rollback', when: 'mode == "rollback"' }),
    ]);
    const run = await stack.ended(await stack.execute(prefix));
    expect(run.status?.phase).toBe('Succeeded');
    expect(calls(prefix)).toEqual([`/${prefix}/main`]);
    const reverted = await stack.ended(await stack.revert(run, { mode: 'Rollback' }));
    expect(reverted.status).toMatchObject({ phase: 'Succeeded' });
    expect(calls(prefix).slice(1)).toEqual([
      `/${prefix}/begin`,
      `/${prefix}/undo-rollback`,
      `/${prefix}/end`,
    ]);
    expect(actionAt(reverted, 0, 0, 2)).toMatchObject({ phase: 'Succeeded', hookType: 'pre-rollback' });
  });
});
