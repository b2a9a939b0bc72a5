import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, LABELS } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { actionAt, condition, http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';

let stack: Stack;
/** For what admission refuses before the bridge can. */
let unreviewed: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, unreviewed, recorder] = await Promise.all([
    openStack('run'),
    openStack('run-unreviewed', { admission: 'disabled' }),
    startRecorder(),
  ]);
});
afterAll(async () => {
  await recorder.close();
  await Promise.all([stack.close(), unreviewed.close()]);
});

async function eventReasons(name: string): Promise<string[]> {
  const { items } = await stack.kube.list<{
    regarding?: { name?: string };
    involvedObject?: { name?: string };
    reason?: string;
  }>({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }, { namespace: stack.namespace });
  return items.filter((item) => item.regarding?.name === name).map((item) => item.reason ?? '');
}

describe('an execution', () => {
  it('runs again, whatever characters the plan holds', async () => {
    const odd = '<a href="x&y">\u2028\u2029\u007f\b\f\\ü😀 %26 &amp; {{ .Values.x }} $(date)</a>';
    await stack.simplePlan('odd', [
      {
        name: 'tell',
        type: 'HTTP',
        http: { url: `${recorder.url}/odd?a=1&b=2`, method: 'POST', body: odd },
      },
    ]);
    for (const round of [1, 2]) {
      expect((await stack.ended(await stack.execute('odd', { rerun: 'Allowed' }))).status?.phase).toBe(
        'Succeeded',
      );
      expect(recorder.of('/odd')).toHaveLength(round);
    }
    expect(new Set(recorder.of('/odd').map(({ body }) => body))).toEqual(new Set([odd]));
  });

  it('runs, reports everything in status, and leaves the plan Executed [S1.10] [S1.16] [S1.24] [S5.22] [S5.28]', async () => {
    await stack.workflow('shop', {
      parameters: [{ name: 'weight', type: 'number', default: 10 }],
      actions: [
        http('drain', `${recorder.url}/drain?w={{ .params.weight }}`),
        {
          name: 'note',
          type: 'HTTP',
          http: {
            url: `${recorder.url}/note`,
            method: 'POST',
            body: 'drain said {{ .outputs.drain.httpResponse.body }}',
          },
        },
      ],
    });
    await stack.plan('shop', {
      globalParams: [{ name: 'weight', value: 20 }],
      stages: [
        { name: 'one', workflows: [{ workflowRef: { name: 'shop' } }] },
        {
          name: 'two',
          workflows: [{ workflowRef: { name: 'shop' }, params: [{ name: 'weight', value: 30 }] }],
        },
      ],
    });
    const execution = await stack.execute('shop', { params: [{ name: 'weight', value: 40 }] });
    const ended = await stack.ended(execution);

    expect(ended.status).toMatchObject({
      phase: 'Succeeded',
      summary: {
        totalStages: 2,
        completedStages: 2,
        totalWorkflows: 2,
        completedWorkflows: 2,
        pendingStages: 0,
      },
      temporal: { workflowId: expect.stringMatching(/^dr\//), runId: expect.any(String) },
      snapshotRef: { digest: expect.any(String) },
    });
    expect(ended.metadata.labels).toMatchObject({ [LABELS.plan]: 'shop' });
    // A moment after the terminal status it holds nothing any more, and a copy of it can be told.
    const over = await poll(
      () => stack.get(ended),
      ({ metadata }) => metadata.finalizers === undefined,
    );
    expect(over.metadata.annotations).toMatchObject({ [ANNOTATIONS.stamp]: ended.metadata.uid });
    expect(condition(ended, 'Succeeded')?.status).toBe('True');
    expect(condition(ended, 'Finished')?.status).toBe('True');
    expect(condition(ended, 'Progressing')?.status).toBe('False');
    for (const [s, stage] of (ended.status?.stageStatuses ?? []).entries()) {
      expect(stage).toMatchObject({
        phase: 'Succeeded',
        startTime: expect.any(String),
        completionTime: expect.any(String),
        duration: expect.any(String),
      });
      expect(stage.workflowExecutions?.[0]).toMatchObject({
        progress: '2/2 actions completed',
        phase: 'Succeeded',
      });
      expect(actionAt(ended, s, 0, 0)).toMatchObject({
        phase: 'Succeeded',
        outputs: { httpResponse: { statusCode: 200, body: 'ok' } },
        completionTime: expect.any(String),
      });
    }
    expect(recorder.of('/note').map((request) => request.body)).toEqual(['drain said ok', 'drain said ok']);
    expect(recorder.effects('/drain')).toBe(2);

    const plan = await stack.getPlan('shop');
    expect(plan.status).toMatchObject({
      phase: 'Executed',
      lastExecutionRef: execution.metadata.name,
      lastExecutionTime: expect.any(String),
    });
    expect(plan.status?.currentExecution).toBeUndefined();
    expect(plan.status?.executionHistory?.[0]).toMatchObject({
      name: execution.metadata.name,
      uid: execution.metadata.uid,
      operationType: 'Execute',
      phase: 'Succeeded',
      startTime: expect.any(String),
      completionTime: expect.any(String),
    });
    expect(plan.metadata.labels).toMatchObject({ [LABELS.workflow]: 'shop' });
    await poll(
      () => eventReasons(execution.metadata.name),
      (reasons) => reasons.includes('ExecutionSucceeded'),
    );
  });

  it('of a busy plan fails and names the holder; nothing queues [S5.4]', async () => {
    await unreviewed.simplePlan('busy', [http('slow', `${recorder.url}/busy?delay=2000`)]);
    const first = await unreviewed.execute('busy');
    await unreviewed.until(first, (now) => now.status?.phase === 'Running');
    const second = await unreviewed.ended(await unreviewed.execute('busy'));
    expect(second.status).toMatchObject({ phase: 'Failed', reason: 'PlanBusy' });
    expect(second.status?.message).toContain(first.metadata.name);
    expect((await unreviewed.ended(first)).status?.phase).toBe('Succeeded');
    expect(recorder.of('/busy')).toHaveLength(1);
  });

  it('created twice at once runs exactly once [S6.2]', async () => {
    await unreviewed.simplePlan('race', [http('once', `${recorder.url}/race?delay=500`)]);
    const both = await Promise.all([unreviewed.execute('race'), unreviewed.execute('race')]);
    const ended = await Promise.all(both.map((execution) => unreviewed.ended(execution)));
    expect(ended.map((execution) => execution.status?.reason).sort()).toEqual(['Completed', 'PlanBusy']);
    expect(recorder.of('/race')).toHaveLength(1);
  });

  it('runs from its snapshot when plan and workflow are changed or deleted meanwhile [S5.3]', async () => {
    await unreviewed.simplePlan('snap', [
      http('slow', `${recorder.url}/snap-1?delay=1500`),
      http('next', `${recorder.url}/snap-2`),
    ]);
    const execution = await unreviewed.execute('snap');
    await poll(
      () => Promise.resolve(recorder.of('/snap-1').length),
      (count) => count > 0,
    );
    await unreviewed.kube.delete({
      apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
      kind: 'DRWorkflow',
      namespace: unreviewed.namespace,
      name: 'snap',
    });
    await poll(
      () => unreviewed.getPlan('snap'),
      (plan) => plan.status?.phase === 'Invalid',
    );
    expect((await unreviewed.ended(execution)).status?.phase).toBe('Succeeded');
    expect(recorder.of('/snap-2')).toHaveLength(1);
    const plan = await unreviewed.getPlan('snap');
    expect(plan.status?.currentExecution).toBeUndefined();
  });

  it('retries what may pass, counts the retries, and sends each definite attempt its own key [S3.6]', async () => {
    await stack.simplePlan('retry', [
      http('flaky', `${recorder.url}/flaky?fail=2`, {
        retryPolicy: { limit: 3, interval: '100ms', backoffMultiplier: '1.5' },
      }),
    ]);
    const ended = await stack.ended(await stack.execute('retry'));
    expect(ended.status?.phase).toBe('Succeeded');
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Succeeded', retryCount: 2 });
    expect(recorder.of('/flaky')).toHaveLength(3);
    expect(recorder.effects('/flaky')).toBe(3);
  });

  it('fails after its last attempt with a message that says what happened', async () => {
    await stack.simplePlan('down', [
      http('gslb', `${recorder.url}/gslb?status=503&body=maintenance`, {
        retryPolicy: { limit: 1, interval: '100ms' },
      }),
    ]);
    const ended = await stack.ended(await stack.execute('down'));
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'StageFailed' });
    const failed = actionAt(ended, 0, 0, 0);
    expect(failed?.message).toContain('503');
    expect(failed?.message).toContain('maintenance');
    expect(failed?.message).toContain('2 attempts');
    expect(failed?.outputs?.httpResponse).toMatchObject({ statusCode: 503 });
    expect(condition(ended, 'Succeeded')).toMatchObject({ status: 'False' });
    expect(condition(ended, 'Finished')).toMatchObject({ status: 'True' });
    // A failed run leaves the plan ready for another try.
    expect((await stack.getPlan('down')).status?.phase).toBe('Ready');
  });

  it('needs a Ready plan, unless a rerun is allowed [S5.6]', async () => {
    await unreviewed.simplePlan('again', [http('a', `${recorder.url}/again`)]);
    await unreviewed.ended(await unreviewed.execute('again'));
    const refused = await unreviewed.ended(await unreviewed.execute('again'));
    expect(refused.status).toMatchObject({ phase: 'Failed' });
    expect(refused.status?.message).toMatch(/was executed by .*rerun: Allowed/);
    const allowed = await unreviewed.ended(await unreviewed.execute('again', { rerun: 'Allowed' }));
    expect(allowed.status?.phase).toBe('Succeeded');
    expect(recorder.of('/again')).toHaveLength(2);
  });

  it('created in one go with its plan and workflow waits until they are seen [S5.5]', async () => {
    const created = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const name = `at-once-${index}`;
        await stack.workflow(name, { actions: [http('a', `${recorder.url}/${name}`)] });
        await stack.create({
          apiVersion: API_VERSION,
          kind: 'DRPlan',
          metadata: { name, namespace: stack.namespace },
          spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name } }] }] },
        });
        return stack.execute(name);
      }),
    );
    const ended = await Promise.all(created.map((execution) => stack.ended(execution)));
    expect(ended.map((execution) => execution.status?.message)).toEqual(Array(10).fill('1 stage completed'));
  });

  it('runs workflows of a parallel stage at once, and the same workflow twice in a stage [S4.14]', async () => {
    await stack.workflow('twice', {
      parameters: [{ name: 'site' }],
      actions: [http('call', `${recorder.url}/twice/{{ .params.site }}?delay=800`)],
    });
    await stack.plan('twice', {
      stages: [
        {
          name: 'both',
          parallel: true,
          workflows: ['a', 'b'].map((site) => ({
            workflowRef: { name: 'twice' },
            params: [{ name: 'site', value: site }],
          })),
        },
      ],
    });
    const ended = await stack.ended(await stack.execute('twice'));
    expect(ended.status?.phase).toBe('Succeeded');
    expect(recorder.of('/twice/a')).toHaveLength(1);
    expect(recorder.of('/twice/b')).toHaveLength(1);
    const [first, second] = ended.status?.stageStatuses?.[0]?.workflowExecutions ?? [];
    expect(Date.parse(second?.startTime ?? '')).toBeLessThan(Date.parse(first?.completionTime ?? ''));
  });

  it('evaluates conditions of actions over outputs, in both spellings [S2.7] [S4.7]', async () => {
    await stack.simplePlan('cond', [
      http('probe', `${recorder.url}/probe`),
      http('yes', `${recorder.url}/cond-yes`, { when: "{{ .outputs.probe.phase == 'Succeeded' }}" }),
      http('no', `${recorder.url}/cond-no`, { when: 'outputs.probe.httpResponse.statusCode == 500' }),
      http('install', `${recorder.url}/cond-install`, { when: 'mode == "install" || mode == "upgrade"' }),
    ]);
    const ended = await stack.ended(await stack.execute('cond'));
    expect(ended.status?.phase).toBe('Succeeded');
    expect(actionAt(ended, 0, 0, 2)).toMatchObject({ phase: 'Skipped', reason: 'WhenFalse' });
    expect(recorder.of('/cond-yes')).toHaveLength(1);
    expect(recorder.of('/cond-no')).toHaveLength(0);
    expect(recorder.of('/cond-install')).toHaveLength(1);
  });

  it('shows progress while it runs', async () => {
    await stack.simplePlan('live', [
      http('first', `${recorder.url}/live-1?delay=1000`),
      http('second', `${recorder.url}/live-2?delay=4000`),
    ]);
    const execution = await stack.execute('live');
    const now = await stack.until(execution, (seen) => actionAt(seen, 0, 0, 0)?.phase === 'Succeeded');
    expect(now.status).toMatchObject({ phase: 'Running' });
    expect(now.status?.stageStatuses?.[0]?.workflowExecutions?.[0]).toMatchObject({
      phase: 'Running',
      currentAction: 'second',
      progress: '1/2 actions completed',
    });
    await stack.ended(execution);
  });
});

describe('revert', () => {
  it('runs custom rollbacks in reverse, frees the plan for another run, and cannot be done twice [S5.21] [S5.45] [S5.47]', async () => {
    await unreviewed.simplePlan('back', [
      http('a', `${recorder.url}/back-a`, {
        rollback: { http: { url: `${recorder.url}/undo-a`, method: 'POST' } },
      }),
      http('b', `${recorder.url}/back-b`, {
        rollback: { type: 'HTTP', http: { url: `${recorder.url}/undo-b`, method: 'POST' } },
      }),
    ]);
    const execution = await unreviewed.execute('back');
    await unreviewed.ended(execution);
    const revert = await unreviewed.ended(await unreviewed.revert(execution));
    expect(revert.status).toMatchObject({ phase: 'Succeeded', reason: 'Reverted' });
    expect(condition(revert, 'FullyReverted')).toMatchObject({ status: 'True' });
    const order = recorder.requests
      .filter((request) => request.path.startsWith('/undo-'))
      .map((request) => request.path);
    expect(order).toEqual(['/undo-b', '/undo-a']);
    expect((await unreviewed.get(execution)).status?.revertedBy).toMatchObject({
      name: revert.metadata.name,
    });
    expect((await unreviewed.getPlan('back')).status).toMatchObject({
      phase: 'Ready',
      lastExecutionRef: revert.metadata.name,
    });

    const twice = await unreviewed.ended(await unreviewed.revert(execution));
    expect(twice.status?.phase).toBe('Failed');
    expect(recorder.requests.filter((request) => request.path.startsWith('/undo-'))).toHaveLength(2);
  });

  it('says what it could not undo [S5.49]', async () => {
    await stack.simplePlan('half', [http('plain', `${recorder.url}/half`)]);
    const execution = await stack.execute('half');
    await stack.ended(execution);
    const revert = await stack.ended(await stack.revert(execution));
    expect(condition(revert, 'FullyReverted')).toMatchObject({ status: 'False' });
    expect(revert.status?.unreverted).toEqual(['0/0/0']);
  });

  it('of a failed run undoes what was done [S5.45]', async () => {
    await stack.simplePlan('partial', [
      http('a', `${recorder.url}/partial-a`, {
        rollback: { http: { url: `${recorder.url}/partial-undo`, method: 'POST' } },
      }),
      http('b', `${recorder.url}/partial-b?status=400`),
    ]);
    const execution = await stack.execute('partial');
    expect((await stack.ended(execution)).status?.phase).toBe('Failed');
    const revert = await stack.ended(await stack.revert(execution));
    expect(revert.status?.phase).toBe('Succeeded');
    expect(recorder.of('/partial-undo')).toHaveLength(1);
  });
});

describe('a name made from the execution', () => {
  it('is the same when a rollback or a revert uses it', async () => {
    const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: "by-{{ .executionName }}"}
`;
    await stack.simplePlan('named', [
      {
        name: 'make',
        type: 'KubernetesResource',
        resource: { operation: 'Create', manifest },
        rollback: { resource: { operation: 'Delete', manifest } },
      },
    ]);
    const execution = await stack.execute('named');
    await stack.ended(execution);
    const key = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: stack.namespace,
      name: `by-${execution.metadata.name}`,
    };
    expect(await stack.kube.get(key)).toBeDefined();
    expect((await stack.ended(await stack.revert(execution))).status?.phase).toBe('Succeeded');
    expect(await stack.kube.get(key)).toBeUndefined();
  });
});

describe('a large stage', () => {
  it(
    'shows every action in status, although no step and no result carries them all [S6.8]',
    { tags: ['nightly'] },
    async () => {
      const actions = Array.from({ length: 300 }, (_, index) => ({
        ...http(`a${index}`, `${recorder.url}/large?body=${'x'.repeat(1200)}`),
        // A graph of independent actions but for one, so that they run many at once.
        ...(index === 299 && { dependsOn: ['a0'] }),
      }));
      await stack.simplePlan('large', actions);
      const ended = await stack.ended(await stack.execute('large'), 100_000);
      expect(ended.status?.phase).toBe('Succeeded');
      const statuses = ended.status?.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses ?? [];
      expect(statuses).toHaveLength(300);
      expect(statuses.filter((action) => action.phase === 'Succeeded' && action.completionTime)).toHaveLength(
        300,
      );
      expect(statuses[150]?.outputs?.httpResponse?.statusCode).toBe(200);
    },
  );
});

describe('onFailure: Rollback', () => {
  it('never says that it undid what it cannot know: a stage ended from outside', async () => {
    await stack.simplePlan(
      'blind',
      [http('a', `${recorder.url}/blind-a`), http('slow', `${recorder.url}/blind-slow?delay=15000`)],
      { plan: { onFailure: 'Rollback' } },
    );
    const execution = await stack.execute('blind');
    const running = await stack.until(execution, (now) => actionAt(now, 0, 0, 0)?.phase === 'Succeeded');
    await stack.temporal.workflow
      .getHandle(`${running.status?.temporal?.workflowId ?? ''}/s0`)
      .terminate('from outside');
    const ended = await stack.ended(execution);
    expect(ended.status?.phase).toBe('Failed');
    expect(condition(ended, 'RolledBack')).toMatchObject({ status: 'False' });
    expect(condition(ended, 'RolledBack')?.message).toContain('stage "stage"');
    // What status knew is still there, and what was under way is closed.
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Succeeded' });
    expect(actionAt(ended, 0, 0, 1)).toMatchObject({ phase: 'Failed', reason: 'Interrupted' });
  });

  it('undoes what the run did, ends Failed, and says that it is rolled back [S4.13]', async () => {
    await stack.simplePlan(
      'saga',
      [
        http('a', `${recorder.url}/saga-a`, {
          rollback: { http: { url: `${recorder.url}/saga-undo`, method: 'POST' } },
        }),
        http('b', `${recorder.url}/saga-b?status=400`),
      ],
      { plan: { onFailure: 'Rollback' } },
    );
    const ended = await stack.ended(await stack.execute('saga'));
    expect(ended.status?.phase).toBe('Failed');
    expect(recorder.of('/saga-undo')).toHaveLength(1);
    expect(condition(ended, 'RolledBack')).toBeDefined();
  });
});

describe('names', () => {
  it('may be as long as Kubernetes allows [S6.3]', async () => {
    await stack.simplePlan('long', [http('a'.repeat(63), `${recorder.url}/long`)]);
    const execution: DRPlanExecution = await stack.execute('long', {}, `${unique('x')}-${'n'.repeat(200)}`);
    const ended = await stack.ended(execution);
    expect(ended.status?.phase).toBe('Succeeded');
    expect(ended.status?.temporal?.workflowId.length).toBeLessThanOrEqual(200);
  });
});
