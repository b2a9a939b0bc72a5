/** What waits, or cannot go on, says so: in status, within seconds, and without holding up anything else. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import { startReplica } from '../bridge/replica.js';
import type { Replica } from '../bridge/replica.js';
import { drover } from '../support/drover.js';
import { heal, kill, mend } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { actionAt, condition, http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
let folder: string;
beforeAll(async () => {
  [stack, recorder, folder] = await Promise.all([
    openStack('still'),
    startRecorder(),
    mkdtemp(join(tmpdir(), 'drover-still-')),
  ]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
  await rm(folder, { recursive: true, force: true });
});

const keyOf = (execution: DRPlanExecution) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace: stack.namespace,
  name: execution.metadata.name,
});
const annotate = (execution: DRPlanExecution, value: string) =>
  stack.kube.patch(
    keyOf(execution),
    { metadata: { annotations: { [ANNOTATIONS.cancel]: value } } },
    { kind: 'merge' },
  );
const progressing = (execution: DRPlanExecution) => condition(execution, 'Progressing');
const isRunning = ({ status }: DRPlanExecution): boolean => status?.stageStatuses?.[0]?.phase === 'Running';

describe('waits for objects', () => {
  it('hold up nothing else, and a cancel does not wait for them [F10] [S3.55] [S5.52]', async () => {
    const start: Action = { name: 'start', type: 'Wait', wait: { duration: '1s' } };
    const waits = Array.from({ length: 110 }, (_, index): Action => ({
      name: `wait-${index}`,
      type: 'Wait',
      timeout: '10m',
      dependsOn: ['start'],
      wait: {
        for: { apiVersion: 'v1', kind: 'ConfigMap', name: 'never-comes' },
        condition: 'object != null',
      },
    }));
    await stack.workflow('hog', { actions: [start, ...waits] });
    const use = { workflowRef: { name: 'hog' } };
    await stack.plan('hog', { stages: [{ name: 'only', parallel: true, workflows: [use, use] }] });
    await stack.simplePlan('urgent', [http('fail-over', `${recorder.url}/urgent`)]);
    // More than a worker carries out actions at once.
    const hog = await stack.execute('hog');
    await stack.until(hog, (now) => actionAt(now, 0, 1, 110)?.phase === 'Running');
    const asked = Date.now();
    const urgent = await stack.ended(await stack.execute('urgent'));
    expect(urgent.status?.phase).toBe('Succeeded');
    expect(Date.now() - asked).toBeLessThan(15_000);
    await annotate(hog, 'true');
    const ended = await stack.ended(hog);
    expect(ended.status).toMatchObject({ phase: 'Cancelled' });
    expect(actionAt(ended, 0, 0, 5)).toMatchObject({ phase: 'Failed', reason: 'Cancelled' });
  });

  it('end as Failed as soon as what must not be is there [F10] [S3.55]', async () => {
    const name = unique('lost');
    await stack.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: stack.namespace },
      data: { phase: 'Pending' },
    });
    await stack.simplePlan('fail-when', [
      {
        name: 'wait',
        type: 'Wait',
        wait: {
          for: { apiVersion: 'v1', kind: 'ConfigMap', name },
          condition: 'object.data.phase == "Ready"',
          failWhen: 'object.data.phase == "Lost"',
        },
      },
    ]);
    const execution = await stack.execute('fail-when');
    await stack.until(execution, isRunning);
    await stack.kube.patch(
      { apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name },
      { data: { phase: 'Lost' } },
      { kind: 'merge' },
    );
    const ended = await stack.ended(execution);
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({
      phase: 'Failed',
      reason: 'FailWhen',
      message: expect.stringContaining('Lost'),
    });
  });
});

describe('between two attempts', () => {
  it('status says how the last one failed, the count, and when the next one comes [F13] [S3.14]', async () => {
    await stack.simplePlan('tomorrow', [
      http('call', `${recorder.url}/tomorrow?status=503`, { retryPolicy: { limit: 3, interval: '1h' } }),
    ]);
    const execution = await stack.execute('tomorrow');
    const waiting = await stack.until(execution, (now) => actionAt(now, 0, 0, 0)?.retryCount === 1, 20_000);
    expect(actionAt(waiting, 0, 0, 0)).toMatchObject({
      phase: 'Running',
      message: expect.stringMatching(/^attempt 1 of 4 failed, the next one comes at \d{4}-.*answered 503/),
    });
    await annotate(execution, 'true');
    expect((await stack.ended(execution)).status?.phase).toBe('Cancelled');
  });
});

describe('a start that the API server refuses', () => {
  it('says so within seconds, and goes on when it may [F2] [S5.7]', async () => {
    const plan = unique('quota');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}`)]);
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', namespace: stack.namespace, name: plan };
    await stack.create({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: plan, namespace: stack.namespace },
      spec: { hard: { 'count/controllerrevisions.apps': '0' } },
    });
    // A quota holds from when its controller has counted what is there.
    await poll(
      () => stack.kube.get<{ status?: { hard?: object } }>(quota),
      (seen) => seen?.status?.hard !== undefined,
    );
    try {
      const execution = await stack.execute(plan);
      const asked = Date.now();
      const held = await stack.until(execution, (now) => progressing(now)?.status === 'False', 20_000);
      expect(Date.now() - asked).toBeLessThan(10_000);
      expect(held.status).toMatchObject({ phase: 'Pending' });
      expect(progressing(held)).toMatchObject({
        reason: 'ApiServerRefused',
        message: expect.stringMatching(/quota/),
      });
      await stack.kube.delete(quota);
      expect((await stack.ended(execution)).status?.phase).toBe('Succeeded');
    } finally {
      await stack.kube.delete(quota);
    }
  });
});

describe('a cancel annotation that means nothing', () => {
  it('gets a Warning event, and cancels nothing [F14] [S5.34]', async () => {
    const plan = unique('yes');
    await stack.simplePlan(plan, [http('call', `${recorder.url}/${plan}?delay=1500`)]);
    const execution = await stack.execute(plan);
    await stack.until(execution, isRunning);
    await annotate(execution, 'yes');
    const events = await poll(
      async () => {
        const { items } = await stack.kube.list<{ reason?: string; note?: string }>(
          { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
          { namespace: stack.namespace },
        );
        return items.filter(({ reason }) => reason === 'CancelIgnored');
      },
      (found) => found.length === 1,
    );
    expect(events[0]?.note).toMatch(/"yes".*means nothing.*"true"/);
    expect((await stack.ended(execution)).status?.phase).toBe('Succeeded');
  });
});

describe('a run whose code does not fit any more', () => {
  let replica: Replica;
  beforeAll(async () => {
    // One that looks at runs every second.
    replica = await startReplica();
  });
  afterAll(() => replica.stop());
  afterEach(mend);

  it(
    'says so, and keeps its plan until it is closed, even when its execution is deleted [F14] [S5.51]',
    { tags: ['nightly'] },
    async () => {
      const plan = unique('upgrade');
      await stack.workflow(plan, { actions: [{ name: 'wait', type: 'Wait', wait: { duration: '4s' } }] });
      const use = { workflows: [{ workflowRef: { name: plan } }] };
      await stack.plan(plan, {
        stages: [
          { name: 'first', ...use },
          { name: 'second', ...use },
        ],
      });
      const execution = await stack.execute(plan);
      await stack.until(execution, isRunning);
      const changed = join(folder, 'changed.js');
      const bundle = await readFile('dist/workflow-bundle.js', 'utf8');
      const other = bundle.replace(/stage: (['"])drStage\1/, "stage: 'drOtherStage'");
      expect(other).not.toBe(bundle);
      await writeFile(changed, other);
      await kill('worker');
      await heal({}, { DROVER_WORKFLOW_BUNDLE: changed });
      const failing = await stack.until(
        execution,
        (now) => progressing(now)?.reason === 'WorkflowTaskFailing',
      );
      expect(progressing(failing)?.message).toMatch(/no effect.*terminate/);

      await stack.kube.delete(keyOf(execution));
      await poll(
        () => stack.kube.get(keyOf(execution)),
        (found) => found === undefined,
      );
      expect((await stack.getPlan(plan)).status?.currentExecution?.uid).toBe(execution.metadata.uid);
      await expect(stack.execute(plan)).rejects.toThrow(
        /has not ended yet; wait for it, or, where it cannot go on, end it/,
      );
      const name = failing.metadata.name;
      const { code, err } = await drover('cancel', name, '--terminate', '--yes', '-n', stack.namespace);
      expect(code, err).toBe(0);
      expect((await stack.getPlan(plan)).status?.currentExecution).toBeUndefined();
    },
  );
});
