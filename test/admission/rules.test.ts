/** What admission refuses, what it lets in and what it warns of, as the API server tells it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { Kind } from '../../api/core/group.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { condition, http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { ask } from './asking.js';
import type { Asked } from './asking.js';

let stack: Stack;
let unreviewed: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, unreviewed, recorder] = await Promise.all([
    openStack('rules'),
    openStack('rules-unreviewed', { admission: 'disabled' }),
    startRecorder(),
  ]);
});
afterAll(async () => {
  await recorder.close();
  await Promise.all([stack.close(), unreviewed.close()]);
});

const send = (kind: Kind, spec: unknown, options?: { metadata?: object; name?: string }): Promise<Asked> =>
  ask(stack.namespace, kind, options?.name ?? unique('x'), spec, options);
const use = (name: string, more: object = {}) => ({
  name: 's',
  workflows: [{ workflowRef: { name }, ...more }],
});
const key = (kind: Kind, name: string) => ({
  apiVersion: API_VERSION,
  kind,
  namespace: stack.namespace,
  name,
});
const expectRefused = (asked: Asked, status: number, message: RegExp): void => {
  expect(asked.message).toMatch(message);
  // What one object can tell, its definition may have refused already.
  expect(asked.message).toMatch(/denied the request|is invalid/);
  expect(asked.status).toBe(status);
};

/** How often the bridge has been asked about objects of a kind. */
async function reviewsOf(kind: Kind): Promise<number> {
  const page = await (await fetch(servers.endpoints.metrics.bridge ?? '')).text();
  const counts = page.matchAll(/^drover_bridge_admission_seconds_count\{(.*)\} (\d+)$/gm);
  return [...counts].reduce(
    (sum, [, labels, n]) => sum + (labels?.includes(`kind="${kind}"`) ? Number(n) : 0),
    0,
  );
}

describe('a workflow', () => {
  const manifest = (text: string, operation = 'Create') => ({
    actions: [{ name: 'a', type: 'KubernetesResource', resource: { operation, manifest: text } }],
  });

  it('names each wrong field with its value and what is allowed, for programs too [S1.9]', async () => {
    const asked = await send('DRWorkflow', {
      failurePolicy: 'Continue',
      actions: [
        http('a', 'http://x/', { hookType: 'Magic' }),
        http('a', 'http://x/', { totalTimeout: '0s' }),
      ],
    });
    expectRefused(asked, 422, /spec\.actions\[0\]\.hookType: is "Magic"; allowed are pre-install, /);
    expect(asked.message).toMatch(/spec\.actions\[1\]\.totalTimeout: is "0s"; must be a duration/);
    const fields = asked.causes.map(({ field }) => field);
    expect(fields).toEqual(
      expect.arrayContaining(['spec.actions[0].hookType', 'spec.actions[1].totalTimeout']),
    );
  });

  it.each<[string, object, RegExp]>([
    ['a manifest that is no YAML', manifest('kind: {'), /resource\.manifest/],
    [
      'Patch without rollback',
      manifest('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}', 'Patch'),
      /rollback/,
    ],
    [
      'a rollback of no known type',
      { actions: [http('a', 'http://x/', { rollback: { type: 'Magic' } })] },
      /rollback\.type.*Magic/,
    ],
    [
      'an output of a later action',
      { actions: [http('a', 'http://x/{{ .outputs.b.phase }}'), http('b', 'http://x/')] },
      /"b"/,
    ],
    [
      'a hook that there is not',
      { actions: [http('a', 'http://x/', { hookType: 'pre-flight' })] },
      /hookType/,
    ],
  ])('with %s is refused [S1.9] [S3.53]', async (_, spec, message) => {
    expectRefused(await send('DRWorkflow', spec), 422, message);
  });

  it('that is legal but dangerous is let in with a warning', async () => {
    const asked = await send('DRWorkflow', {
      executor: { type: 'Argo' },
      actions: [http('a', 'http://x/{{ .params.site }}')],
    });
    expect(asked.status).toBe(201);
    expect(asked.warnings).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/spec\.executor\.type: is Argo.*natively/),
        expect.stringMatching(/spec\.actions\[0\]\.http.*"site".*does not declare/),
      ]),
    );
  });

  it('is checked on a change of its spec, and left alone on one of its metadata', async () => {
    const { metadata } = await unreviewed.workflow('odd', {
      actions: [http('a', 'http://x/', { hookType: 'Magic' })],
    });
    await unreviewed.kube.patch(
      { apiVersion: 'v1', kind: 'Namespace', name: unreviewed.namespace },
      { metadata: { labels: null } },
      { kind: 'merge' },
    );
    const odd = { ...key('DRWorkflow', metadata.name), namespace: unreviewed.namespace };
    const change = (hookType?: string) =>
      unreviewed.kube.patch<DRWorkflow>(
        odd,
        { spec: { actions: [http('a', 'http://x/', hookType === undefined ? {} : { hookType })] } },
        { kind: 'merge' },
      );
    const answer = await poll(
      () =>
        change(`Magic${unique('')}`).then(
          () => 'let in',
          (error: unknown) => String(error),
        ),
      (text) => text.includes('denied the request'),
    );
    expect(answer).toContain('hookType');
    const labels = { a: 'b' };
    const labelled = await unreviewed.kube.patch<DRWorkflow>(
      odd,
      { metadata: { labels } },
      { kind: 'merge' },
    );
    expect(labelled).toMatchObject({ metadata: { labels }, spec: { actions: [{ hookType: 'Magic' }] } });
    expect((await change()).spec.actions?.[0]).not.toHaveProperty('hookType');
  });

  it('warns of the plans that a valid change makes invalid', async () => {
    const name = unique('used');
    await stack.simplePlan(name, [http('a', 'http://x/{{ .params.site }}')], {
      plan: { globalParams: [{ name: 'site', value: 'b' }] },
    });
    const found = await stack.kube.get<DRWorkflow>(key('DRWorkflow', name));
    const asked = await send(
      'DRWorkflow',
      { parameters: [{ name: 'site', type: 'number' }], actions: [http('a', 'http://x/{{ .params.site }}')] },
      { name, metadata: { resourceVersion: found?.metadata.resourceVersion } },
    );
    expect(asked.status).toBe(200);
    expect(asked.warnings.join()).toMatch(
      new RegExp(`makes DRPlan "${stack.namespace}/${name}" Invalid.*number`),
    );
  });
});

describe('a plan', () => {
  beforeAll(async () => {
    await stack.workflow('ok', { actions: [http('a', `${recorder.url}/ok`)] });
    await stack.workflow('typed', {
      parameters: [{ name: 'count', type: 'number' }],
      actions: [http('a', 'http://x/{{ .params.count }}')],
    });
  });

  it.each<[string, object, RegExp]>([
    ['stages of one name', { stages: [use('ok'), use('ok')] }, /stages\[1\]\.name.*"s"/],
    ['a cycle', { stages: [{ ...use('ok'), dependsOn: ['s'] }] }, /dependsOn/],
    [
      'a value of another type',
      { stages: [use('typed', { params: [{ name: 'count', value: 'many' }] })] },
      /spec\.stages\[0\]\.workflows\[0\]\.params\[0\].*"many".*number/s,
    ],
  ])('with %s is refused [S4.3]', async (_, spec, message) => {
    expectRefused(await send('DRPlan', spec), 422, message);
  });

  it('is let in with a warning before its workflow and before its required parameters', async () => {
    const early = await send('DRPlan', { stages: [use('nowhere')] });
    expect(early.status).toBe(201);
    expect(early.warnings.join()).toMatch(/workflowRef: DRWorkflow ".*\/nowhere" does not exist/);
    await stack.workflow('asks', {
      parameters: [{ name: 'site', required: true }],
      actions: [http('a', 'http://x/{{ .params.site }}')],
    });
    const open = await send('DRPlan', { stages: [use('asks')] });
    expect(open.status).toBe(201);
    expect(open.warnings.join()).toMatch(/"site" is required/);
  });

  it('that runs may be changed, and says from when on the change counts [S5.3]', async () => {
    const name = unique('live');
    await stack.simplePlan(name, [http('a', `${recorder.url}/${name}?delay=1500`)]);
    const execution = await stack.execute(name);
    await stack.until(execution, (now) => now.status?.phase === 'Running');
    const plan = await stack.getPlan(name);
    const asked = await send(
      'DRPlan',
      { ...plan.spec, description: 'new' },
      { name, metadata: { resourceVersion: plan.metadata.resourceVersion } },
    );
    expect(asked).toMatchObject({
      status: 200,
      warnings: [expect.stringContaining(`"${execution.metadata.name}" goes on with the plan as it was`)],
    });
    await stack.ended(execution);
  });
});

describe('an execution', () => {
  const execute = (planRef: string, more: object = {}, metadata?: object): Promise<Asked> =>
    send(
      'DRPlanExecution',
      { planRef, operationType: 'Execute', ...more },
      { ...(metadata && { metadata }) },
    );
  const revert = (planRef: string, revertExecutionRef: string): Promise<Asked> =>
    send('DRPlanExecution', { planRef, operationType: 'Revert', revertExecutionRef });

  it('needs a plan that is there and valid', async () => {
    expectRefused(await execute('nowhere'), 403, /no DRPlan "nowhere"/);
    const name = unique('invalid');
    await send('DRPlan', { stages: [use('absent')] }, { name });
    expectRefused(await execute(name), 403, /is Invalid \(WorkflowNotFound\).*absent/);
  });

  it('needs a plan that nobody runs on, and one that is Ready or may run again', async () => {
    const name = unique('busy');
    await stack.simplePlan(name, [http('a', `${recorder.url}/${name}?delay=1500`)]);
    const first = await stack.execute(name);
    await stack.until(first, (now) => now.status?.phase === 'Running');
    expectRefused(await execute(name), 403, new RegExp(`in use: execution "${first.metadata.name}"`));
    expectRefused(await revert(name, first.metadata.name), 403, /in use|is Running/);
    await stack.ended(first);
    expectRefused(await execute(name), 403, /was executed by .*rerun: Allowed/);
    expect((await execute(name, { rerun: 'Allowed' })).status).toBe(201);
  });

  it('that reverts needs a target of its plan, ended, an Execute, and not reverted yet', async () => {
    const [name, other] = [unique('back'), unique('other')];
    for (const plan of [name, other]) {
      await stack.simplePlan(plan, [
        http('a', `${recorder.url}/${plan}`, {
          rollback: { http: { url: `${recorder.url}/undo`, method: 'POST' } },
        }),
      ]);
    }
    expectRefused(await revert(name, 'nowhere'), 403, /no DRPlanExecution "nowhere"/);
    const first = await stack.ended(await stack.execute(name));
    expectRefused(await revert(other, first.metadata.name), 403, new RegExp(`ran plan "${name}"`));
    const undone = await stack.ended(await stack.revert(first));
    expect(undone.status?.phase).toBe('Succeeded');
    expectRefused(await revert(name, first.metadata.name), 403, /was reverted by/);
    expectRefused(await revert(name, undone.metadata.name), 403, /only an Execute can be reverted/);
  });

  it('brings the parameters that are missing [S2.2]', async () => {
    const name = unique('params');
    await stack.simplePlan(name, [http('a', `${recorder.url}/${name}/{{ .params.count }}`)], {
      workflow: { parameters: [{ name: 'count', type: 'number', required: true }] },
    });
    expectRefused(await execute(name), 422, /"count" is required/);
    expectRefused(
      await execute(name, { params: [{ name: 'count', value: 'x' }] }),
      422,
      /count.*"x".*number/s,
    );
    expect((await execute(name, { params: [{ name: 'count', value: 2 }] })).status).toBe(201);
  });

  it('that is a copy of another, or uses a name again, is let in to be recorded, and does not start [S5.11] [S5.12]', async () => {
    const name = unique('copy');
    await stack.simplePlan(name, [http('a', `${recorder.url}/${name}`)]);
    const copy = unique('copied');
    const spec = { planRef: name, operationType: 'Execute' };
    const asked = await send('DRPlanExecution', spec, {
      name: copy,
      metadata: { annotations: { [ANNOTATIONS.stamp]: 'another' } },
    });
    expect(asked).toMatchObject({ status: 201, warnings: [expect.stringContaining('copy of an execution')] });
    const ended = await stack.ended({ metadata: { name: copy }, spec } as DRPlanExecution);
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'RestoredCopy' });
    expect(recorder.of(`/${name}`)).toHaveLength(0);
  });

  it('asks for a start deadline of seven days at most; one that is stored with more still starts [F21] [S5.10]', async () => {
    const name = unique('patient');
    const years = { startDeadlineSeconds: 63_072_000 };
    const refused = /spec\.startDeadlineSeconds: is 63072000; must be at most 604800 \(7 days\)/;
    expectRefused(await execute(name, years), 422, refused);
    const earlier = await openStack('rules-earlier', { admission: 'disabled' });
    try {
      await earlier.simplePlan(name, [http('a', `${recorder.url}/${name}`)]);
      const ended = await earlier.ended(await earlier.execute(name, years));
      expect(ended.status?.phase).toBe('Succeeded');
    } finally {
      await earlier.close();
    }
  });

  it('cannot be changed, and can be labelled [S5.57]', async () => {
    const name = unique('fixed');
    await stack.simplePlan(name, [http('a', `${recorder.url}/${name}`)]);
    const { metadata } = await stack.ended(await stack.execute(name));
    const patch = (body: object) =>
      stack.kube.patch(key('DRPlanExecution', metadata.name), body, { kind: 'merge' });
    await expect(patch({ spec: { runMode: 'Drill' } })).rejects.toThrow(/cannot be changed/);
    const labels = { a: 'b' };
    expect(await patch({ metadata: { labels } })).toMatchObject({ metadata: { labels } });
  });

  it('is let in right after the plan and workflow it needs', async () => {
    for (let n = 0; n < 5; n += 1) {
      const name = unique('at-once');
      await send('DRPlan', { stages: [use(name)] }, { name });
      await stack.workflow(name, { actions: [http('a', `${recorder.url}/${name}`)] });
      const execution = await stack.execute(name);
      expect((await stack.ended(execution)).status?.phase).toBe('Succeeded');
    }
  });
});

it('status is not asked about', async () => {
  const plan = await stack.kube.create<DRPlan>({
    ...key('DRPlan', 'status'),
    metadata: { name: 'status', namespace: stack.namespace },
    spec: { stages: [use('nowhere')] },
  });
  await poll(
    () => stack.getPlan('status'),
    (now) => condition(now, 'Ready')?.status === 'False',
  );
  const before = await reviewsOf('DRPlan');
  const change = (body: object, subresource?: 'status') =>
    stack.kube.patch<DRPlan>(key('DRPlan', plan.metadata.name), body, {
      kind: 'merge',
      ...(subresource !== undefined && { subresource }),
    });
  const written = await change({ status: { lastExecutionRef: 'x' } }, 'status');
  expect(written.status?.lastExecutionRef).toBe('x');
  expect(await reviewsOf('DRPlan')).toBe(before);
  await change({ spec: { description: 'changed' } });
  await expect.poll(() => reviewsOf('DRPlan')).toBeGreaterThan(before);
});
