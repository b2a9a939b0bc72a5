/** The life of executions and what it leaves on their plan (docs/semantics.md#5-executions). */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ANNOTATIONS, API_VERSION, FINALIZERS, GROUP, LABELS } from '../../api/core/group.js';
import type { DRPlan, DRPlanExecution, DRPlanExecutionSpec } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { actionAt, condition, http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { historyText } from './history.js';
import { expectWhole } from './whole.js';

let stack: Stack;
let unreviewed: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, unreviewed, recorder] = await Promise.all([
    openStack('runs'),
    openStack('runs-unreviewed', { admission: 'disabled' }),
    startRecorder(),
  ]);
});
afterAll(async () => {
  await recorder.close();
  await Promise.all([stack.close(), unreviewed.close()]);
});

const key = (kind: 'DRPlan' | 'DRPlanExecution' | 'DRWorkflow', name: string, of = stack) => ({
  apiVersion: API_VERSION,
  kind,
  namespace: of.namespace,
  name,
});
const status = [{ name: 'status', default: 200 }];
const again = (value: number) => ({
  rerun: 'Allowed' as const,
  params: [{ name: 'status', value }],
});

/** A schema, as far as it names fields. */
interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
}
const fieldsOf = ({ properties = {}, items }: Schema): string[] => [
  ...Object.entries(properties).flatMap(([name, schema]) => [name, ...fieldsOf(schema)]),
  ...(items === undefined ? [] : fieldsOf(items)),
];

/** All changes of a kind in the namespace, until stopped. */
function watch<T extends { metadata: { resourceVersion?: string } }>(kind: 'DRPlan' | 'DRPlanExecution') {
  const stop = new AbortController();
  const seen: T[] = [];
  const ended = (async () => {
    const { metadata } = await stack.kube.list<T>(
      { apiVersion: API_VERSION, kind },
      { namespace: stack.namespace },
    );
    try {
      for await (const { type, object } of stack.kube.watch<T>(
        { apiVersion: API_VERSION, kind },
        { namespace: stack.namespace, resourceVersion: metadata.resourceVersion, signal: stop.signal },
      )) {
        if (type !== 'BOOKMARK') seen.push(object);
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  })();
  return {
    seen,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}
const version = (object: { metadata: { resourceVersion?: string } } | undefined): number =>
  Number(object?.metadata.resourceVersion);

describe('an execution', () => {
  it('cannot change what its plan fixes: other fields are not kept, and a strict client is refused [SEC4]', async () => {
    await stack.simplePlan('fixed', [http('a', `${recorder.url}/fixed`)]);
    const fields = {
      serviceAccountName: 'admin',
      failurePolicy: 'Continue',
      globalParams: [{ name: 'x', value: 'y' }],
      stages: [{ name: 's', workflows: [{ workflowRef: { name: 'other' } }] }],
      retryPolicy: { limit: 100 },
    };
    const execution = await stack.execute('fixed', fields as Partial<DRPlanExecutionSpec>);
    expect(execution.spec).toEqual({ planRef: 'fixed', operationType: 'Execute' });
    expect((await stack.ended(execution)).status?.phase).toBe('Succeeded');
    for (const [field, value] of Object.entries(fields)) {
      const refused = stack.kube.raw({
        method: 'POST',
        path: `/apis/${API_VERSION}/namespaces/${stack.namespace}/drplanexecutions?fieldValidation=Strict&dryRun=All`,
        body: {
          apiVersion: API_VERSION,
          kind: 'DRPlanExecution',
          metadata: { name: unique('strict') },
          spec: { planRef: 'fixed', operationType: 'Execute', rerun: 'Allowed', [field]: value },
        },
      });
      await expect(refused).rejects.toThrow(`unknown field "spec.${field}"`);
    }
  });

  it('keeps no field but its own, whatever plans, workflows and actions have [SEC4]', async () => {
    const own = ['planRef', 'operationType', 'revertExecutionRef', 'params', 'mode', 'runMode'];
    own.push('rerun', 'force', 'startDeadlineSeconds', 'ttlSecondsAfterFinished', 'requestedAt');
    const definition = async (kind: string) => {
      const text = await readFile(`deploy/crds/${GROUP}_${kind}.yaml`, 'utf8');
      const { spec } = parse(text) as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
      return spec.versions[0]?.schema.openAPIV3Schema.properties?.spec ?? {};
    };
    const executions = await definition('drplanexecutions');
    expect(Object.keys(executions.properties ?? {}).sort()).toEqual([...own].sort());
    // A parameter may have any value, and nothing else may.
    const { params: _, ...others } = executions.properties ?? {};
    expect(JSON.stringify(others)).not.toContain('preserve-unknown-fields');

    const foreign = [...fieldsOf(await definition('drplans')), ...fieldsOf(await definition('drworkflows'))];
    const names = [...new Set(foreign)].filter((name) => !own.includes(name));
    expect(names.length).toBeGreaterThan(80);
    for (const value of ['x', true, 7, { a: 'b' }, [{ name: 'a', value: 'b' }], null]) {
      const kept = await stack.kube.create<DRPlanExecution>(
        {
          apiVersion: API_VERSION,
          kind: 'DRPlanExecution',
          metadata: { name: unique('all'), namespace: unreviewed.namespace },
          ...{
            spec: {
              ...Object.fromEntries(names.map((name) => [name, value])),
              planRef: 'fixed',
              operationType: 'Execute',
            },
          },
        },
        { dryRun: true },
      );
      expect(kept.spec).toEqual({ planRef: 'fixed', operationType: 'Execute' });
    }
  });

  it('is marked, then takes its plan, then starts; and the plan is free before it has ended [S1.3] [S1.16] [S5.1] [S5.2] [S5.21]', async () => {
    await stack.simplePlan('sequence', [http('a', `${recorder.url}/sequence`)]);
    const executions = watch<DRPlanExecution>('DRPlanExecution');
    const plans = watch<DRPlan>('DRPlan');
    await new Promise((resolve) => setTimeout(resolve, 500));
    const execution = await stack.execute('sequence');
    const ended = await stack.ended(execution);
    await poll(
      () => Promise.resolve(executions.seen.at(-1)?.status?.phase),
      (phase) => phase === 'Succeeded',
    );
    await Promise.all([executions.stop(), plans.stop()]);

    const marked = executions.seen.find(({ metadata }) => metadata.finalizers !== undefined);
    expect(marked?.metadata).toMatchObject({
      finalizers: [FINALIZERS.execution],
      labels: { [LABELS.plan]: 'sequence' },
      annotations: { [ANNOTATIONS.admission]: expect.stringContaining('seal') },
    });
    expect(marked?.status?.temporal).toBeUndefined();
    const locked = plans.seen.find((plan) => plan.status?.currentExecution?.uid === execution.metadata.uid);
    const started = executions.seen.find((seen) => seen.status?.temporal !== undefined);
    const freed = plans.seen.find(
      (plan) => version(plan) > version(locked) && plan.status?.currentExecution === undefined,
    );
    const terminal = executions.seen.find((seen) => seen.status?.phase === 'Succeeded');
    const order = [marked, locked, started, freed, terminal].map(version);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order.every((number) => number > 0)).toBe(true);
    expect(locked?.status?.executionHistory?.[0]).toMatchObject({
      uid: execution.metadata.uid,
      phase: 'Running',
    });
    await expectWhole(stack, ended);
    // `Validating` belongs to an old drawing, and `Canceled` to another release.
    const phases = new Set(executions.seen.map((seen) => seen.status?.phase ?? ''));
    expect([...phases].filter((phase) => !['', 'Pending', 'Running', 'Succeeded'].includes(phase))).toEqual(
      [],
    );
  });

  it('carries a parameter of a megabyte to its action, and its history does not carry it [S6.11] [S6.14]', async () => {
    const value = 'v'.repeat(1_000_000);
    await stack.simplePlan(
      'megabyte',
      [
        http('send', `${recorder.url}/megabyte`, {
          http: { url: `${recorder.url}/megabyte`, method: 'POST', body: '{"v": "{{ .params.v }}"}' },
        }),
        http('small', `${recorder.url}/small`),
      ],
      { workflow: { parameters: [{ name: 'v', required: true }] } },
    );
    const execution = await stack.execute('megabyte', { params: [{ name: 'v', value }] });
    const ended = await stack.ended(execution);
    expect(ended.status?.message).toBe('1 stage completed');
    const [request] = recorder.of('/megabyte');
    expect(request?.body.length).toBe(1_000_000 + '{"v": ""}'.length);
    const history = await historyText(stack.temporal, ended.status?.temporal?.workflowId ?? '');
    expect(history.length).toBeLessThan(200_000);
    expect(JSON.stringify(ended.status).length).toBeLessThan(20_000);
  });

  it('of more than 8 MiB is not started, and says what to do [S5.20]', { tags: ['nightly'] }, async () => {
    const body = 'b'.repeat(1_000_000);
    const names = Array.from({ length: 9 }, (_, n) => `huge-${n}`);
    await Promise.all(
      names.map((name) =>
        unreviewed.workflow(name, {
          actions: [{ name: 'a', type: 'HTTP', http: { url: `${recorder.url}/huge`, method: 'POST', body } }],
        }),
      ),
    );
    await unreviewed.create({
      ...key('DRPlan', 'huge', unreviewed),
      metadata: { name: 'huge', namespace: unreviewed.namespace },
      spec: { stages: [{ name: 's', workflows: names.map((name) => ({ workflowRef: { name } })) }] },
    });
    const ended = await unreviewed.ended(await unreviewed.execute('huge'));
    expect(ended.status).toMatchObject({ phase: 'Failed' });
    expect(ended.status?.message).toMatch(/MiB.*8(\.0)? MiB.*split the plan/);
    expect(recorder.of('/huge')).toHaveLength(0);
    expect((await unreviewed.getPlan('huge')).status?.currentExecution).toBeUndefined();
    await Promise.all(names.map((name) => unreviewed.kube.delete(key('DRWorkflow', name, unreviewed))));
  });

  it('is told in Events, whatever becomes of it [S5.22] [S5.28]', async () => {
    await stack.simplePlan(
      'told',
      [
        http('a', `${recorder.url}/told?status={{ .params.status }}`, {
          rollback: {
            http: { url: `${recorder.url}/told-undo?fail=1`, method: 'POST' },
            retryPolicy: { limit: 0 },
          },
        }),
        http('slow', `${recorder.url}/told-slow?delay={{ .params.delay }}`),
      ],
      { workflow: { parameters: [...status, { name: 'delay', default: 0 }] } },
    );
    const failed = await stack.ended(await stack.execute('told', again(400)));
    const cancelled = await stack.execute('told', {
      params: [{ name: 'delay', value: 20_000 }],
    });
    await stack.until(cancelled, (now) => actionAt(now, 0, 0, 1)?.phase === 'Running');
    await stack.kube.patch(
      key('DRPlanExecution', cancelled.metadata.name),
      { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
      { kind: 'merge' },
    );
    await stack.ended(cancelled);
    const good = await stack.ended(await stack.execute('told', again(200)));
    const half = await stack.ended(await stack.revert(good));
    expect(half.status).toMatchObject({ phase: 'Failed', reason: 'UndoFailed' });
    const undone = await stack.ended(await stack.revert(good));
    expect(undone.status?.phase).toBe('Succeeded');

    const expected = new Map([
      [failed, ['ActionFailed', 'ExecutionFailed', 'ExecutionStarted']],
      [cancelled, ['ActionFailed', 'ExecutionCancelled', 'ExecutionStarted']],
      [good, ['ExecutionStarted', 'ExecutionSucceeded']],
      [half, ['ActionFailed', 'RevertFailed', 'RevertStarted']],
      [undone, ['RevertStarted', 'RevertSucceeded']],
    ]);
    const reasons = async (): Promise<string[][]> => {
      const { items } = await stack.kube.list<{ regarding?: { name?: string }; reason?: string }>(
        { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
        { namespace: stack.namespace },
      );
      return [...expected.keys()].map(({ metadata }) => [
        ...new Set(
          items.filter(({ regarding }) => regarding?.name === metadata.name).map(({ reason = '' }) => reason),
        ),
      ]);
    };
    const all = await poll(reasons, (now) =>
      [...expected.values()].every((wanted, n) => wanted.every((reason) => now[n]?.includes(reason))),
    );
    expect(all.map((found) => found.sort())).toEqual([...expected.values()]);
    for (const one of [failed, await stack.get(cancelled), half, undone]) await expectWhole(stack, one);
  });

  it('of the original loses its finalizer when it is met [S1.11]', async () => {
    await unreviewed.simplePlan('legacy', [http('a', `${recorder.url}/legacy`)]);
    const create = (name: string) =>
      unreviewed.create<DRPlanExecution>({
        ...key('DRPlanExecution', name, unreviewed),
        metadata: { name, namespace: unreviewed.namespace, finalizers: [FINALIZERS.legacyExecution] },
        spec: { planRef: 'legacy', operationType: 'Execute' },
      });
    const ended = await unreviewed.ended(await create('met'));
    expect(ended.status?.phase).toBe('Succeeded');
    await poll(
      () => unreviewed.get(ended),
      ({ metadata }) => metadata.finalizers === undefined,
    );
    // One that the original ended, and never let go.
    await create('old');
    await unreviewed.ended({ ...ended, metadata: { ...ended.metadata, name: 'old' } });
    await unreviewed.kube.patch(
      key('DRPlanExecution', 'old', unreviewed),
      { metadata: { finalizers: [FINALIZERS.legacyExecution] } },
      { kind: 'merge' },
    );
    await unreviewed.kube.delete(key('DRPlanExecution', 'old', unreviewed));
    await poll(
      () => unreviewed.kube.get(key('DRPlanExecution', 'old', unreviewed)),
      (found) => found === undefined,
    );
  });

  it('that somebody resets in Temporal is followed: its stage ends first, and is begun again under the same keys [S5.43]', async () => {
    await stack.simplePlan('reset', [
      http('one', `${recorder.url}/reset-one`),
      http('two', `${recorder.url}/reset-two?delay=6000`, { interruptible: false }),
      http('three', `${recorder.url}/reset-three`),
    ]);
    const execution = await stack.execute('reset');
    const running = await stack.until(execution, (now) => actionAt(now, 0, 0, 1)?.phase === 'Running');
    const { workflowId = '', runId = '' } = running.status?.temporal ?? {};
    const { events } = await stack.temporal.workflow.getHandle(workflowId).fetchHistory();
    const first = events?.find((event) => event.workflowTaskCompletedEventAttributes);
    await stack.temporal.workflowService.resetWorkflowExecution({
      namespace: servers.temporalNamespace,
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: first?.eventId ?? null,
      reason: 'test',
      requestId: unique('reset'),
    });
    const ended = await stack.ended(execution, 80_000);
    const now = await stack.temporal.workflow.getHandle(workflowId).describe();
    expect(now.runId).not.toBe(runId);
    expect(ended.status).toMatchObject({ phase: 'Succeeded', temporal: { workflowId, runId: now.runId } });
    await expectWhole(stack, ended);
    for (const path of ['/reset-one', '/reset-two', '/reset-three']) expect(recorder.effects(path)).toBe(1);
    // The action that may not be interrupted was over before it was begun again.
    expect(recorder.of('/reset-two')).toHaveLength(2);
  });
});

describe('a plan', () => {
  it('keeps its last ten executions, newest first, and the last success, through deletions and edits [S1.17] [S5.23] [S5.26]', async () => {
    await stack.simplePlan('ten', [http('a', `${recorder.url}/ten?status={{ .params.status }}`)], {
      workflow: { parameters: status },
    });
    const ended: DRPlanExecution[] = [];
    for (let n = 0; n < 12; n += 1) {
      const last = await stack.ended(await stack.execute('ten', again(n === 11 ? 400 : 200)));
      ended.push(last);
    }
    const rows = [...ended].reverse().slice(0, 10);
    const history = async () => (await stack.getPlan('ten')).status?.executionHistory;
    expect(await history()).toMatchObject(
      rows.map(({ metadata, status: { phase, completionTime } = {} }) => ({
        name: metadata.name,
        namespace: stack.namespace,
        uid: metadata.uid,
        operationType: 'Execute',
        phase,
        startTime: expect.any(String),
        completionTime,
      })),
    );
    // The twelfth failed: the last success is the eleventh.
    const plan = await stack.getPlan('ten');
    expect(plan.status).toMatchObject({
      phase: 'Executed',
      lastExecutionRef: ended[10]?.metadata.name,
      lastExecutionTime: ended[10]?.status?.completionTime,
    });
    for (const execution of ended) await stack.kube.delete(key('DRPlanExecution', execution.metadata.name));
    await poll(
      () =>
        stack.kube.list<DRPlanExecution>(
          { apiVersion: API_VERSION, kind: 'DRPlanExecution' },
          { namespace: stack.namespace },
        ),
      ({ items }) => items.every(({ spec }) => spec.planRef !== 'ten'),
    );
    expect((await history())?.map(({ uid }) => uid)).toEqual(rows.map(({ metadata }) => metadata.uid));
    // A name that is used again is another execution.
    const name = rows[1]?.metadata.name ?? '';
    const twin = await stack.ended(await stack.execute('ten', again(200), name));
    expect((await history())?.filter((row) => row.name === name).map(({ uid }) => uid)).toEqual([
      twin.metadata.uid,
      rows[1]?.metadata.uid,
    ]);

    await stack.kube.patch(key('DRPlan', 'ten'), { spec: { description: 'edited' } }, { kind: 'merge' });
    const edited = await poll(
      () => stack.getPlan('ten'),
      (now) => now.status?.observedGeneration === now.metadata.generation,
    );
    expect(edited.status).toMatchObject({ phase: 'Executed', lastExecutionRef: name });
  });

  it('uses workflows of its own namespace unless another is named, and is labelled with a single one [S1.15] [S1.16]', async () => {
    for (const where of [stack, unreviewed]) {
      await where.workflow('shared', {
        actions: [http('a', `${recorder.url}/shared-${where === stack ? 'own' : 'other'}`)],
      });
    }
    const use = (namespace?: string) => ({
      workflowRef: { name: 'shared', ...(namespace && { namespace }) },
    });
    await stack.plan('own', { stages: [{ name: 's', workflows: [use()] }] });
    await stack.plan('both', {
      stages: [
        { name: 's', workflows: [use(unreviewed.namespace)] },
        { name: 't', workflows: [use()] },
      ],
    });
    await stack.ended(await stack.execute('own'));
    expect(
      recorder.requests.filter(({ path }) => path.startsWith('/shared-')).map(({ path }) => path),
    ).toEqual(['/shared-own']);
    expect((await stack.getPlan('own')).metadata.labels).toMatchObject({ [LABELS.workflow]: 'shared' });
    const ended = await stack.ended(await stack.execute('both'));
    expect(ended.status?.phase).toBe('Succeeded');
    expect(recorder.of('/shared-other')).toHaveLength(1);
  });

  it('and workflow say in Ready what was looked at, and change its time with its status only [S1.10]', async () => {
    const plan = await stack.simplePlan('ready', [http('a', `${recorder.url}/ready`)]);
    const ready = condition(plan, 'Ready');
    expect(ready).toMatchObject({ status: 'True', reason: 'Valid', observedGeneration: 1 });
    expect(plan.metadata.finalizers ?? []).toEqual([]);
    const workflow = await stack.kube.get<DRPlan>(key('DRWorkflow', 'ready'));
    expect(workflow).toMatchObject({ status: { phase: 'Ready' } });
    expect(workflow?.metadata.finalizers ?? []).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await stack.kube.patch(key('DRPlan', 'ready'), { spec: { description: 'x' } }, { kind: 'merge' });
    const edited = await poll(
      () => stack.getPlan('ready'),
      (now) => now.status?.observedGeneration === 2,
    );
    const { lastTransitionTime } = condition(edited, 'Ready') as unknown as { lastTransitionTime: string };
    expect(lastTransitionTime).toBe((ready as unknown as { lastTransitionTime: string }).lastTransitionTime);
  });
});

describe('executor Argo', () => {
  it('warns, and runs natively all the same [S1.14]', async () => {
    await stack.simplePlan('argo', [http('a', `${recorder.url}/argo`)], {
      workflow: {
        executor: {
          type: 'Argo',
          argoOptions: { namespace: 'argo', ttlStrategy: { secondsAfterSuccess: 5 } },
        },
      },
    });
    expect((await stack.ended(await stack.execute('argo'))).status?.phase).toBe('Succeeded');
    expect(recorder.of('/argo')).toHaveLength(1);
  });
});
