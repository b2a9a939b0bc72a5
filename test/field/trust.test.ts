/** Nothing starts by accident, late, or past admission; and what is over holds nothing. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, FINALIZERS } from '../../api/core/group.js';
import type { Kind } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { createAccount, grant } from '../support/accounts.js';
import { heal, kill, mend } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('trust'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

const TRACKED = { 'argocd.argoproj.io/tracking-id': 'dr:dr.bkbcs.tencent.com/DRPlanExecution:x/y' };
const keyOf = (kind: Kind, name: string) => ({
  apiVersion: API_VERSION,
  kind,
  namespace: stack.namespace,
  name,
});
const execution = (plan: string, metadata: object, spec: object = {}) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  metadata: { name: unique('run'), namespace: stack.namespace, ...metadata },
  spec: { planRef: plan, operationType: 'Execute', ...spec },
});
const finalizersOf = async (of: DRPlanExecution): Promise<string[]> =>
  (await stack.get(of)).metadata.finalizers ?? [];

describe('an execution', () => {
  it('has its finalizer and its stamp from admission, and neither finalizer nor copy once it is over [F11] [S5.1] [S5.39]', async () => {
    const plan = unique('over');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}?delay=500`)]);
    const created = await stack.execute(plan);
    expect(created.metadata.finalizers).toEqual([FINALIZERS.execution]);
    expect(created.metadata.annotations).toHaveProperty([ANNOTATIONS.admission]);
    expect(created.metadata.annotations).not.toHaveProperty([ANNOTATIONS.stamp]);
    const ended = await stack.ended(created);
    expect(ended.status?.phase).toBe('Succeeded');
    await poll(
      () => finalizersOf(created),
      (found) => found.length === 0,
    );
    expect((await stack.get(created)).metadata.annotations).toMatchObject({
      [ANNOTATIONS.stamp]: created.metadata.uid,
    });
    // What somebody makes again of its YAML never starts.
    const { name, annotations } = (await stack.get(created)).metadata;
    await stack.kube.delete(keyOf('DRPlanExecution', name));
    const copy = await stack.ended(
      await stack.create<DRPlanExecution>(execution(plan, { name, annotations })),
    );
    expect(copy.status).toMatchObject({ phase: 'Failed', reason: 'RestoredCopy' });
  });

  it('that is the target of a revert holds its finalizer until the revert is over [F11] [S5.39]', async () => {
    const plan = unique('target');
    await stack.simplePlan(plan, [
      http('call', `${recorder.url}/${plan}`, {
        rollback: { http: { url: `${recorder.url}/${plan}/undo?delay=2000`, method: 'POST' } },
      }),
    ]);
    const target = await stack.ended(await stack.execute(plan));
    await poll(
      () => finalizersOf(target),
      (found) => found.length === 0,
    );
    const revert = await stack.revert(target);
    await poll(
      () => finalizersOf(target),
      (found) => found.includes(FINALIZERS.execution),
    );
    expect((await stack.ended(revert)).status?.phase).toBe('Succeeded');
    for (const one of [target, revert]) {
      await poll(
        () => finalizersOf(one),
        (found) => found.length === 0,
      );
    }
  });

  it('that a GitOps tool keeps says when it was asked for, and starts only then [F21] [S5.13]', async () => {
    const plan = unique('gitops');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}`)]);
    await expect(stack.create(execution(plan, { annotations: TRACKED }))).rejects.toThrow(
      /spec\.requestedAt/,
    );
    const at = (ms: number) => ({ requestedAt: new Date(Date.now() + ms).toISOString() });
    await expect(stack.create(execution(plan, {}, at(10 * 60_000)))).rejects.toThrow(/five minutes ahead/);
    await expect(stack.create(execution(plan, {}, { requestedAt: 'yesterday' }))).rejects.toThrow(
      /requestedAt.*2026-/,
    );
    const old = await stack.ended(
      await stack.create<DRPlanExecution>(execution(plan, { annotations: TRACKED }, at(-3600_000))),
    );
    expect(old.status).toMatchObject({ phase: 'Failed', reason: 'RequestTooOld' });
    expect(recorder.of(`/${plan}`)).toHaveLength(0);
    const meant = await stack.ended(
      await stack.create<DRPlanExecution>(execution(plan, { annotations: TRACKED }, at(-1000))),
    );
    expect(meant.status?.phase).toBe('Succeeded');
  });
});

describe('a plan', () => {
  it('uses workflows of another namespace only where its author may read them [F22] [S5.58]', async () => {
    const other = await openStack('trust-other');
    try {
      await other.workflow('shared', { actions: [http('call', `${recorder.url}/shared`)] });
      const name = unique('author');
      const group = 'dr.bkbcs.tencent.com';
      await createAccount(stack.kube, { namespace: stack.namespace, name }, [
        { apiGroups: [group], resources: ['drplans'], verbs: ['create', 'get'] },
        { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['use'] },
      ]);
      const author = stack.kube.as({ user: `system:serviceaccount:${stack.namespace}:${name}` });
      const plan = {
        apiVersion: API_VERSION,
        kind: 'DRPlan',
        metadata: { name, namespace: stack.namespace },
        spec: {
          stages: [
            { name: 's', workflows: [{ workflowRef: { name: 'shared', namespace: other.namespace } }] },
          ],
        },
      };
      await expect(author.create(plan)).rejects.toThrow(/may not read workflow/);
      await grant(
        stack.kube,
        { namespace: other.namespace, name },
        [{ apiGroups: [group], resources: ['drworkflows'], verbs: ['get'] }],
        { kind: 'ServiceAccount', name, namespace: stack.namespace },
      );
      await poll(
        () =>
          author.create(plan).then(
            () => 'created',
            (error: unknown) => String(error),
          ),
        (answer) => answer === 'created',
      );
    } finally {
      await other.close();
    }
  });
});

describe('while the bridge is gone', () => {
  afterEach(mend);

  it('what is created past the webhooks never starts, and what is over lets its namespace go [F11] [F20] [S5.8] [S5.39]', async () => {
    const going = await openStack('trust-going');
    await going.simplePlan('done', [http('call', `${recorder.url}/done`)]);
    const done = await going.ended(await going.execute('done'));
    await poll(
      async () => (await going.get(done)).metadata.finalizers ?? [],
      (found) => found.length === 0,
    );
    const plan = unique('past');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}`)]);
    await kill('bridge');
    const configurations = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'].map((kind) => ({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind,
      name: 'drover',
    }));
    for (const configuration of configurations) await stack.kube.delete(configuration);
    const made = await stack.create<DRPlanExecution>(execution(plan, {}));
    await going.close();
    await poll(
      () => stack.kube.get({ apiVersion: 'v1', kind: 'Namespace', name: going.namespace }),
      (found) => found === undefined,
    );
    await heal();
    const ended = await stack.ended(made);
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'NotAdmitted' });
    expect(recorder.of(`/${plan}`)).toHaveLength(0);
    const again = await stack.ended(await stack.execute(plan));
    expect(again.status?.phase).toBe('Succeeded');
  });
});
