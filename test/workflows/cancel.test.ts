import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  phasesOf,
  stages,
  startScriptedWorker,
  untilCancelled,
  workflow,
  action,
  until,
} from '../support/scripted.js';
import { createRuns } from '../../client/runs/runs.js';
import { UNSETTLED } from '../../workflows/plan/contract-tasks.js';
import type { RunProgress } from '../../workflows/plan/contract.js';
import type { ScriptedRun, ScriptedWorker } from '../support/scripted.js';
import { servers } from '../support/servers.js';

const ROLLBACK = { type: 'HTTP', timeoutMs: 60_000, retry: action('a').retry } as const;
let scripted: ScriptedWorker;
beforeAll(async () => {
  scripted = await startScriptedWorker(servers.temporal, servers.temporalNamespace);
});
afterAll(() => scripted.close());

const plan = () =>
  stages(
    { name: 'one', workflows: [workflow(['a'])] },
    { name: 'two', workflows: [workflow(['endless', 'b']), workflow(['c'])] },
    { name: 'three', workflows: [workflow(['d'])] },
  );
const endless = { endless: () => untilCancelled() };
const CANCELLED = [
  'one=Succeeded(Succeeded:a=Succeeded)',
  'two=Failed(Failed:endless=Failed/Cancelled,b=Skipped/Cancelled | Skipped:c=Skipped/Cancelled)',
  'three=Skipped(Skipped:d=Skipped/Cancelled)',
];

// Runs are apart from each other, and some wait for a last attempt of what was terminated.
describe.concurrent('cancel', () => {
  it.each([
    ['signal without an argument', (run: ScriptedRun) => run.handle.signal('cancel'), { via: 'Signal' }],
    [
      'signal with a string',
      (run: ScriptedRun) => run.handle.signal('cancel', 'wrong site'),
      { via: 'Signal', reason: 'wrong site' },
    ],
    [
      'signal with an object',
      (run: ScriptedRun) =>
        run.handle.signal('cancel', { reason: 'r', requestedBy: 'ann', via: 'Annotation' }),
      { via: 'Annotation', reason: 'r', requestedBy: 'ann' },
    ],
    ['signal with nonsense', (run: ScriptedRun) => run.handle.signal('cancel', [1, null]), { via: 'Signal' }],
    ['cancel request', (run: ScriptedRun) => run.handle.cancel(), { via: 'CancelRequest' }],
  ])('by %s interrupts what runs, skips the rest, and says who asked [S5.30]', async (_, cancel, record) => {
    const run = await scripted.run({ stages: plan() }, endless);
    await until(run, 'start endless');
    await cancel(run);
    await cancel(run).catch(() => undefined);
    const result = await run.result();
    expect(result).toMatchObject({ phase: 'Cancelled', reason: 'Cancelled' });
    expect(phasesOf(result.stages)).toEqual(CANCELLED);
    expect(run.recording.finish?.cancelRequest).toMatchObject(record);
    expect((await run.handle.describe()).status.name).toBe('COMPLETED');
  });

  it('of a stage’s own workflow cancels the run [S6.1]', async () => {
    const run = await scripted.run({ stages: plan() }, endless);
    await until(run, 'start endless');
    await run.handle.client.getHandle(`${run.handle.workflowId}/s1`).cancel();
    const result = await run.result();
    expect(result.phase).toBe('Cancelled');
    expect(phasesOf(result.stages)).toEqual(CANCELLED);
    expect(run.recording.finish?.cancelRequest).toMatchObject({ via: 'CancelRequest' });
  });

  it('that comes after the last action changes nothing [S5.30]', async () => {
    const run = await scripted.run({ stages: stages({ name: 's', workflows: [workflow(['a'])] }) });
    const result = await run.result();
    await run.handle.signal('cancel').catch(() => undefined);
    expect(result.phase).toBe('Succeeded');
  });

  it('lets an action that is not interruptible finish [S3.12]', async () => {
    const run = await scripted.run(
      {
        stages: stages({ name: 's', workflows: [workflow([action('slow', { interruptible: false }), 'b'])] }),
      },
      { slow: () => untilCancelled(1000) },
    );
    await until(run, 'start slow');
    await run.handle.signal('cancel');
    const result = await run.result();
    expect(phasesOf(result.stages)).toEqual(['s=Failed(Failed:slow=Succeeded,b=Skipped/Cancelled)']);
    expect(result.phase).toBe('Cancelled');
  });

  it('settles an attempt that ends without an outcome [S3.11]', async () => {
    const run = await scripted.run(
      {
        stages: stages({
          name: 's',
          workflows: [
            workflow([
              action('flaky', {
                retry: { limit: 5, intervalMs: 60_000, backoffMultiplier: 1, maxIntervalMs: 60_000 },
              }),
            ]),
          ],
        }),
      },
      { flaky: () => Promise.reject(new Error('not yet')) },
    );
    await until(run, 'start flaky');
    const stage = run.handle.client.getHandle(`${run.handle.workflowId}/s0`);
    // The failure of the attempt has arrived: the next one is a minute away.
    await expect
      .poll(async () => (await stage.describe()).raw.pendingActivities?.some((one) => one.lastFailure), {
        timeout: 20_000,
      })
      .toBe(true);
    await run.handle.signal('cancel');
    const result = await run.result();
    expect(run.recording.events).toContain('settle flaky');
    expect(phasesOf(result.stages)).toEqual(['s=Failed(Failed:flaky=Failed/Cancelled)']);
  });

  it('settles what a timeout has left running before the next stage begins [F9] [S3.26]', async () => {
    const list = stages(
      { name: 'one', failurePolicy: 'Continue', workflows: [workflow(['stuck'])] },
      { name: 'two', workflows: [workflow(['later'])] },
    );
    const run = await scripted.run(
      { stages: list },
      { stuck: () => Promise.reject(ApplicationFailure.nonRetryable('no end within 1s', UNSETTLED)) },
    );
    const result = await run.result();
    const { events } = run.recording;
    expect(events.indexOf('settle stuck')).toBeGreaterThan(events.indexOf('start stuck'));
    expect(events.indexOf('start later')).toBeGreaterThan(events.indexOf('settle stuck'));
    expect(phasesOf(result.stages)[0]).toBe('one=Failed(Failed:stuck=Failed/Timeout)');
    const [stuck] = result.stages[0]?.workflowExecutions?.[0]?.actionStatuses ?? [];
    expect(stuck?.message).toBe('no end within 1s; settled');
  });

  it('a stage workflow terminated from outside is a failed stage, kept as status shows it [S5.42]', async () => {
    const run = await scripted.run({ stages: plan() }, endless);
    await until(run, 'start endless');
    await run.handle.client.getHandle(`${run.handle.workflowId}/s1`).terminate('test');
    expect(await run.result()).toMatchObject({ phase: 'Failed' });
    const update = [...run.recording.mirrors, run.recording.finish].flatMap((item) => item?.stages ?? []);
    expect(update.find((item) => item.interrupted)).toMatchObject({
      index: 1,
      status: { phase: 'Failed', reason: 'StageTerminated' },
    });
  });

  it('what a terminated stage had begun and not ended is settled before the run goes on [S5.42]', async () => {
    const lost = action('lost', {
      retry: { limit: 5, intervalMs: 60_000, backoffMultiplier: 1, maxIntervalMs: 60_000 },
    });
    const list = stages(
      { name: 'one', workflows: [workflow(['done', lost])], failurePolicy: 'Continue' },
      { name: 'two', workflows: [workflow(['later'])] },
    );
    const run = await scripted.run(
      { failurePolicy: 'Continue', stages: list },
      { lost: () => Promise.reject(new Error('the answer got lost')) },
    );
    await until(run, 'start lost');
    await run.handle.client.getHandle(`${run.handle.workflowId}/s0`).terminate('test');
    expect(await run.result()).toMatchObject({ phase: 'Failed' });
    const events = run.recording.events.filter((event) => !event.includes('done'));
    expect(events).toEqual(['start lost', 'settle lost', 'start later', 'Succeeded later']);
    const updates = [...run.recording.mirrors, run.recording.finish].flatMap((item) => item?.stages ?? []);
    expect(updates.find((item) => item.interrupted)?.settled).toEqual([
      { workflow: 0, action: 1, outcome: expect.objectContaining({ phase: 'Failed', message: 'settled' }) },
    ]);
  });

  it('a settlement settles what a stage had begun whose run was terminated with it [S5.42] [S5.59]', async () => {
    const lost = action('lost', {
      retry: { limit: 5, intervalMs: 60_000, backoffMultiplier: 1, maxIntervalMs: 60_000 },
    });
    const run = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow(['done', lost])] }) },
      { lost: () => Promise.reject(new Error('the answer got lost')) },
    );
    await until(run, 'start lost');
    const { client, workflowId } = run.handle;
    const stage = `${workflowId}/s0`;
    await run.handle.terminate('test');
    await client.getHandle(stage).terminate('test');
    const runs = createRuns(scripted.client);
    const { settlements } = runs;
    const { cluster } = scripted;
    const look = (isOurs = true) =>
      settlements.look({ cluster, workflowId: stage }, () => Promise.resolve(isOurs));
    expect(await look()).toEqual({ kind: 'none' });
    const bounds = { undoStepMs: 60_000, settleMs: 60_000, pauseReminderMs: 500, lastAttemptMs: 500 };
    for (let twice = 0; twice < 2; twice += 1)
      await settlements.start({ cluster, workflowId: stage, bounds });
    await client.getHandle(`${stage}/settle`).result();
    expect(await look(false)).toEqual({ kind: 'foreign' });
    expect(await look()).toMatchObject({
      kind: 'ended',
      settled: [{ workflow: 0, action: 1, outcome: { phase: 'Failed', message: 'settled' } }],
    });
    expect(run.recording.events.filter((event) => event.startsWith('settle'))).toEqual(['settle lost']);
    expect(await runs.told({ workflowId: stage })).toMatchObject({
      begun: [{ action: 0 }, { action: 1 }],
      ended: [{ workflow: 0, action: 0, outcome: { phase: 'Succeeded' } }],
    });
  });

  it('ends the nested plan of a terminated stage', async () => {
    const nested = action('nested', { type: 'Plan', step: { kind: 'plan' } });
    let looks = 0;
    const ref = { name: 'n', namespace: 'test', uid: 'u' };
    const run = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([nested])] }) },
      {
        'look nested': ((look: { stop?: true }) => {
          if (look.stop === true) looks += 1;
          return Promise.resolve(
            looks < 2
              ? { kind: 'waiting', ref, message: 'runs' }
              : {
                  kind: 'ended',
                  outcome: { phase: 'Failed', reason: 'Cancelled', message: 'ended', effect: 'Unknown' },
                },
          );
        }) as unknown as () => Promise<object>,
      },
    );
    await until(run, 'look nested');
    await run.handle.client.getHandle(`${run.handle.workflowId}/s0`).terminate('test');
    expect(await run.result()).toMatchObject({ phase: 'Failed' });
    expect(run.recording.events.filter((event) => event === 'look nested stop')).toHaveLength(2);
    const updates = [...run.recording.mirrors, run.recording.finish].flatMap((item) => item?.stages ?? []);
    expect(updates.find((item) => item.interrupted)?.settled).toMatchObject([
      { workflow: 0, action: 0, outcome: { reason: 'Cancelled', effect: 'Unknown' } },
    ]);
  });

  it('of a run that was reset reaches the stage of before, and begins nothing', async () => {
    const run = await scripted.run({ stages: plan() }, endless);
    await until(run, 'start endless');
    const { client, workflowId } = run.handle;
    const { events } = await client.getHandle(workflowId).fetchHistory();
    const first = events?.find((event) => event.workflowTaskCompletedEventAttributes);
    const description = await client.getHandle(workflowId).describe();
    await client.workflowService.resetWorkflowExecution({
      namespace: servers.temporalNamespace,
      workflowExecution: { workflowId, runId: description.runId },
      workflowTaskFinishEventId: first?.eventId,
      requestId: 'reset-then-cancel',
    });
    // The stage of before still runs, and so the run waits for it.
    const earlier = client.getHandle(`${workflowId}/s1`);
    expect((await earlier.describe()).status.name).toBe('RUNNING');
    await client.getHandle(workflowId).signal('cancel');
    expect(await client.getHandle(workflowId).result()).toMatchObject({ phase: 'Cancelled' });
    expect(await earlier.result()).toMatchObject({ cancelled: expect.anything() });
    expect(run.recording.events.filter((event) => event === 'start endless')).toHaveLength(1);
  });
});

describe('pause', () => {
  const paused = async (run: ScriptedRun): Promise<void> => {
    for (let i = 0; i < 200; i += 1) {
      if (run.recording.mirrors.some((update) => update.paused !== undefined)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error('never paused');
  };
  const list = () =>
    stages({ name: 's', workflows: [workflow(['flaky', 'b'])] }, { name: 't', workflows: [workflow(['c'])] });
  const flaky = () => {
    let calls = 0;
    return { flaky: () => Promise.resolve((calls += 1) === 1 ? ({ phase: 'Failed' } as const) : {}) };
  };

  it('retries the failed action in a new round and goes on [S3.8] [S4.12]', async () => {
    const run = await scripted.run({ onFailure: 'Pause', stages: list() }, flaky());
    await paused(run);
    expect((await run.handle.query<RunProgress>('progress')).stages[0]?.phase).toBe('Running');
    const shown = run.recording.mirrors.findLast((update) => update.paused !== undefined)?.stages[0];
    expect(shown?.changes?.[0]?.status).toMatchObject({
      phase: 'Running',
      message: expect.stringContaining('paused'),
    });
    await run.handle.signal('retry');
    const result = await run.result();
    expect(result.phase).toBe('Succeeded');
    expect(result.stages[0]?.workflowExecutions?.[0]?.actionStatuses?.[0]?.round).toBe(1);
  });

  it('skips the failed action on request, says by whom, and runs what depends on it [S4.12] [S6.20]', async () => {
    const run = await scripted.run({ onFailure: 'Pause', stages: list() }, flaky());
    await paused(run);
    await run.handle.signal('skip', { reason: 'done by hand', requestedBy: 'ann' });
    const result = await run.result();
    expect(result.phase).toBe('Succeeded');
    const skipped = result.stages[0]?.workflowExecutions?.[0]?.actionStatuses?.[0];
    expect(skipped).toMatchObject({ phase: 'Skipped', reason: 'SkippedByUser' });
    expect(skipped?.message).toContain('ann');
  });

  it('fails on abort, and is cancelled by a cancel [S4.12]', async () => {
    const aborted = await scripted.run({ onFailure: 'Pause', stages: list() }, flaky());
    await paused(aborted);
    await aborted.handle.signal('abort');
    expect(await aborted.result()).toMatchObject({ phase: 'Failed' });
    const cancelled = await scripted.run({ onFailure: 'Pause', stages: list() }, flaky());
    await paused(cancelled);
    await cancelled.handle.signal('cancel');
    expect(await cancelled.result()).toMatchObject({ phase: 'Cancelled' });
  });

  it('reminds while it waits [S4.12]', async () => {
    const run = await scripted.run({ onFailure: 'Pause', stages: list() }, flaky());
    await paused(run);
    await expect
      .poll(() => run.recording.mirrors.at(-1)?.paused?.reminder, { timeout: 60_000 })
      .toBeGreaterThanOrEqual(2);
    await run.handle.signal('abort');
    await run.result();
  });

  it('reminds a hundred times at most, and goes on waiting without a timer [S4.12]', async () => {
    const bounds = { undoStepMs: 60_000, settleMs: 60_000, pauseReminderMs: 1 };
    const run = await scripted.run({ onFailure: 'Pause', stages: list(), bounds }, flaky());
    const reminder = (): number | undefined => run.recording.mirrors.at(-1)?.paused?.reminder;
    await expect.poll(reminder, { timeout: 60_000 }).toBeGreaterThanOrEqual(100);
    await run.handle.signal('retry');
    expect(await run.result()).toMatchObject({ phase: 'Succeeded' });
    const { client, workflowId } = run.handle;
    const { events } = await client.getHandle(`${workflowId}/s0`).fetchHistory();
    const summaries = (events ?? [])
      .filter((event) => event.timerStartedEventAttributes)
      .map((event) => Buffer.from(event.userMetadata?.summary?.data ?? []).toString());
    expect(summaries.filter((summary) => summary.includes('waits for a decision'))).toHaveLength(99);
    expect(Math.max(...run.recording.mirrors.map((update) => update.paused?.reminder ?? 0))).toBe(100);
  });
});

describe('rollback', () => {
  const list = () =>
    stages(
      {
        name: 'one',
        workflows: [workflow([action('a', { rollback: ROLLBACK }), action('b', { type: 'Job' })])],
      },
      { name: 'two', workflows: [workflow([action('c', { type: 'Job' }), 'plain', 'bad'])] },
    );

  it('undoes in reverse, ends Failed, and says what was not undone [S4.13]', async () => {
    const run = await scripted.run(
      { onFailure: 'Rollback', stages: list() },
      { bad: { phase: 'Failed', effect: 'None' } },
    );
    const result = await run.result();
    expect(result).toMatchObject({ phase: 'Failed', reason: 'StageFailed' });
    expect(run.recording.events.filter((event) => event.startsWith('start undo'))).toEqual([
      'start undo c',
      'start undo b',
      'start undo a',
    ]);
    // "plain" is HTTP without a rollback.
    expect(run.recording.finish?.rolledBack).toEqual({ complete: false, message: 'not undone: 1/0/1' });
  });

  it('stops at the first failed undo', async () => {
    const run = await scripted.run(
      { onFailure: 'Rollback', stages: list() },
      { bad: { phase: 'Failed', effect: 'None' }, 'undo b': { phase: 'Failed', message: 'no' } },
    );
    await run.result();
    expect(run.recording.events.filter((event) => event.startsWith('start undo'))).toEqual([
      'start undo c',
      'start undo b',
    ]);
    expect(run.recording.finish?.rolledBack?.complete).toBe(false);
    expect(run.recording.finish?.rolledBack?.message).toContain('0/0/0');
  });

  it('goes on when a cancel comes, and stops when it is forced [S5.33]', async () => {
    const script = {
      bad: { phase: 'Failed', effect: 'None' } as const,
      'undo b': () => untilCancelled(1000),
    };
    const soft = await scripted.run({ onFailure: 'Rollback', stages: list() }, script);
    await until(soft, 'start undo b');
    await soft.handle.signal('cancel');
    await soft.result();
    expect(soft.recording.events).toContain('Succeeded undo a');
    const hard = await scripted.run({ onFailure: 'Rollback', stages: list() }, script);
    await until(hard, 'start undo b');
    await hard.handle.signal('cancel', { force: true });
    await hard.result();
    expect(hard.recording.events).not.toContain('start undo a');
    expect(hard.recording.finish?.rolledBack?.complete).toBe(false);
  });
});
