/** Actions that are conditions of the workflow itself: timers, approvals, nested plans. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApprovalAnswer } from '../../api/plan/actions/approval-answers.js';
import type { ActionInput, StageInput } from '../../api/plan/snapshot/run.js';
import { planUndo } from '../../api/plan/undo/undo.js';
import {
  action,
  phasesOf,
  stages,
  startScriptedWorker,
  until,
  untilCancelled,
  workflow,
} from '../support/scripted.js';
import type { Script, ScriptedRun, ScriptedWorker } from '../support/scripted.js';
import { servers } from '../support/servers.js';
import type { RunInput } from '../../workflows/plan/contract.js';
import type { NestedTask } from '../../workflows/plan/contract-bridge.js';

let scripted: ScriptedWorker;
beforeAll(async () => {
  scripted = await startScriptedWorker(servers.temporal, servers.temporalNamespace);
});
afterAll(() => scripted.close());

const one = (...actions: (string | ActionInput)[]) => stages({ name: 'one', workflows: [workflow(actions)] });
const timer = (name: string, ms?: number, extra: Partial<ActionInput> = {}) =>
  action(name, {
    type: 'Wait',
    step: { kind: 'timer', ...(ms !== undefined && { ms }) },
    harmless: true,
    ...extra,
  });

/** Waits until status shows this text. */
async function shows(run: ScriptedRun, text: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (!JSON.stringify(run.recording.mirrors).includes(text)) {
    if (Date.now() > end) throw new Error(`status never showed ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

describe('a wait for a time', () => {
  it('is a timer between its neighbours, shown while it runs, without an activity [S3.55]', async () => {
    const began = Date.now();
    const run = await scripted.run({ stages: one('a', timer('pause', 1500), 'b') });
    await shows(run, 'waits until');
    const result = await run.result();
    expect(Date.now() - began).toBeGreaterThanOrEqual(1500);
    expect(phasesOf(result.stages)).toEqual([
      'one=Succeeded(Succeeded:a=Succeeded,pause=Succeeded,b=Succeeded)',
    ]);
    expect(result.stages[0]?.workflowExecutions?.[0]?.actionStatuses?.[1]?.message).toBe('waited 1.5s');
    expect(run.recording.events).toEqual(['start a', 'Succeeded a', 'start b', 'Succeeded b']);
  });

  it('ends at once with a cancel', async () => {
    const run = await scripted.run({ stages: one(timer('pause', 3_600_000), 'b') });
    await shows(run, 'waits until');
    const asked = Date.now();
    await run.handle.signal('cancel');
    const result = await run.result();
    expect(Date.now() - asked).toBeLessThan(60_000);
    expect(result.phase).toBe('Cancelled');
    expect(phasesOf(result.stages)).toEqual([
      'one=Failed(Failed:pause=Failed/Cancelled,b=Skipped/Cancelled)',
    ]);
  });

  it('outlasts a cancel when it may not be interrupted', async () => {
    const run = await scripted.run({ stages: one(timer('pause', 1500, { interruptible: false }), 'b') });
    await shows(run, 'waits until');
    await run.handle.signal('cancel');
    const result = await run.result();
    expect(phasesOf(result.stages)).toEqual(['one=Failed(Failed:pause=Succeeded,b=Skipped/Cancelled)']);
  });

  it('asks first where outputs or a condition decide', async () => {
    const run = await scripted.run(
      { stages: one(timer('known'), timer('not'), timer('bad'), 'b') },
      {
        'decide known': { kind: 'timer', ms: 10 },
        'decide not': { kind: 'skipped', reason: 'WhenFalse', message: 'when is false: x' },
        'decide bad': { kind: 'failed', reason: 'UndefinedOutput', message: 'no such output' },
      },
    );
    expect(phasesOf((await run.result()).stages)).toEqual([
      'one=Failed(Failed:known=Succeeded,not=Skipped/WhenFalse,bad=Failed/UndefinedOutput,b=Skipped/FailFast)',
    ]);
  });

  it('leaves nothing to undo', async () => {
    const list = one('a', timer('pause', 10));
    const run = await scripted.run({ stages: list });
    const { stages: statuses } = await run.result();
    const [undo] = planUndo({ stages: list, statuses, undone: [] });
    expect(undo?.status.workflowExecutions?.[0]?.actionStatuses?.[1]).toMatchObject({
      phase: 'Skipped',
      reason: 'NothingToUndo',
    });
  });
});

describe('a message that is not required', () => {
  it('is passed over when it cannot be delivered, and what depends on it goes on [S3.56]', async () => {
    const tell = action('tell', { type: 'Notify', optional: true, harmless: true });
    const run = await scripted.run(
      { stages: one(tell, action('b', { dependsOn: ['tell'] })) },
      { tell: { phase: 'Failed', reason: 'Unreachable', message: 'nobody there' } },
    );
    const result = await run.result();
    expect(result.phase).toBe('Succeeded');
    expect(phasesOf(result.stages)).toEqual([
      'one=Succeeded(Succeeded:tell=Skipped/NotDelivered,b=Succeeded)',
    ]);
    const [told] = result.stages[0]?.workflowExecutions?.[0]?.actionStatuses ?? [];
    expect(told?.message).toBe('nobody there');
  });

  it('fails the run when it is required', async () => {
    const run = await scripted.run(
      { stages: one(action('tell', { type: 'Notify' }), 'b') },
      { tell: { phase: 'Failed' } },
    );
    expect(phasesOf((await run.result()).stages)).toEqual([
      'one=Failed(Failed:tell=Failed/Test,b=Skipped/FailFast)',
    ]);
  });
});

describe('an approval', () => {
  const approval = (name = 'ok') =>
    action(name, { type: 'Approval', step: { kind: 'approval' }, harmless: true });
  const asked = (more: object = {}) => ({
    kind: 'approval' as const,
    message: 'switch to b?',
    approvers: { users: ['alice', 'bob'], groups: ['ops'] },
    quorum: 1,
    excludeRequester: true,
    defaultOutcome: 'Reject' as const,
    ...more,
  });
  let answers = 0;
  const answer = (run: ScriptedRun, user: string, more: Partial<ApprovalAnswer> = {}) =>
    scripted.signal(`${run.handle.workflowId}/s0`, 'answer', {
      id: `answer-${(answers += 1)}`,
      at: '0/0/1',
      decision: 'Approve',
      user,
      groups: [],
      time: new Date().toISOString(),
      verified: true,
      ...more,
    });
  const start = async (more: object = {}) => {
    const run = await scripted.run(
      { run: { requestedBy: 'alice' } as never, stages: one('a', approval(), 'b') },
      { 'decide ok': asked(more) },
    );
    await shows(run, 'waits for approval (0/');
    return run;
  };
  const ended = async (run: ScriptedRun) => {
    const { stages: list } = await run.result();
    return list[0]?.workflowExecutions?.[0]?.actionStatuses?.[1];
  };

  it('waits for enough different persons, and not for who asked for the run', async () => {
    const run = await start({ quorum: 2 });
    await answer(run, 'alice');
    await shows(run, 'alice asked for this execution and may not approve it');
    await answer(run, 'mallory', { groups: ['dev'] });
    await shows(run, 'mallory is not among the approvers');
    await answer(run, 'bob', { comment: 'fine', id: 'once' });
    await shows(run, 'waits for approval (1/2)');
    await answer(run, 'bob', { id: 'once' });
    await answer(run, 'bob');
    await shows(run, 'bob has answered already');
    expect(run.recording.events).not.toContain('start b');
    await answer(run, 'carol', { groups: ['ops'] });
    expect(await ended(run)).toMatchObject({
      phase: 'Succeeded',
      message: 'approved by bob, carol',
      outputs: {
        approval: {
          message: 'switch to b?',
          answers: [
            { user: 'bob', decision: 'Approve', comment: 'fine', verified: true },
            { user: 'carol', decision: 'Approve' },
          ],
        },
      },
    });
    expect(run.recording.events.at(-1)).toBe('Succeeded b');
  });

  it('ends with the first rejection', async () => {
    const run = await start({ quorum: 2 });
    await answer(run, 'bob');
    await answer(run, 'alice', { decision: 'Reject', comment: 'not today' });
    expect(await ended(run)).toMatchObject({
      phase: 'Failed',
      reason: 'Rejected',
      message: 'rejected by alice: not today',
      effect: 'None',
    });
    expect(run.recording.events).not.toContain('start b');
  });

  it.each([
    ['Reject', 'Failed'],
    ['Approve', 'Succeeded'],
  ])('expires with the default outcome %s', async (defaultOutcome, phase) => {
    const run = await start({ timeoutMs: 1000, defaultOutcome });
    expect(await ended(run)).toMatchObject({
      phase,
      message: expect.stringContaining('0 of 1 had approved after 1s'),
    });
  });

  it('hears nothing that was said before it asked', async () => {
    let goOn = (): void => undefined;
    const before = new Promise<object>((resolve) => {
      goOn = () => {
        resolve({});
      };
    });
    const run = await scripted.run(
      { run: { requestedBy: 'alice' } as never, stages: one('a', approval()) },
      { a: () => Promise.race([untilCancelled(), before]), 'decide ok': asked({ timeoutMs: 1500 }) },
    );
    await shows(run, 'Running');
    await answer(run, 'bob', { id: 'early' });
    goOn();
    await shows(run, 'waits for approval (0/');
    await answer(run, 'bob', { id: 'early' });
    expect(await ended(run)).toMatchObject({ phase: 'Failed', reason: 'ApprovalExpired' });
  });

  it('ends at once with a cancel', async () => {
    const run = await start();
    await run.handle.signal('cancel');
    expect(await ended(run)).toMatchObject({ phase: 'Failed', reason: 'Cancelled' });
    expect((await run.result()).phase).toBe('Cancelled');
  });
});

describe('a nested plan', () => {
  const nested = (extra: Partial<ActionInput> = {}) =>
    action('sub', { type: 'Plan', step: { kind: 'plan' }, ...extra });
  const ref = (phase: string) => ({ name: 'child', uid: 'u', plan: 'inner', phase });
  const waits = (phase: string) => ({ kind: 'waiting', ref: ref(phase), message: `child is ${phase}` });
  const ends = (outcome: object) => ({ kind: 'ended', outcome });
  const succeeded = ends({ phase: 'Succeeded', outputs: { planExecutionRef: ref('Succeeded') } });
  /** Looks answered in order, the last one again and again; one that asks for the end gets `stopped`. */
  const looks = (answers: object[], stopped?: object[]) => {
    const left = [...answers];
    const ending = [...(stopped ?? [])];
    return (look: unknown) => {
      const list = (look as NestedTask).stop === true && stopped !== undefined ? ending : left;
      const answer = list.length > 1 ? list.shift() : list[0];
      return Promise.resolve(answer as never);
    };
  };
  const look = (run: ScriptedRun, part = 's0') =>
    scripted.signal(`${run.handle.workflowId}/${part}`, 'look', undefined);

  it('runs between its neighbours, shown while it runs, and is looked at when somebody says so', async () => {
    const run = await scripted.run(
      { stages: one('a', nested(), 'b') },
      { 'look sub': looks([waits('Pending'), waits('Running'), succeeded]) },
    );
    await shows(run, 'child is Pending');
    const began = Date.now();
    await look(run);
    await shows(run, 'child is Running');
    await look(run);
    const result = await run.result();
    // Two looks that nobody asked for would take twice the shortest pause of two seconds.
    expect(Date.now() - began).toBeLessThan(3900);
    expect(phasesOf(result.stages)).toEqual([
      'one=Succeeded(Succeeded:a=Succeeded,sub=Succeeded,b=Succeeded)',
    ]);
    expect(result.stages[0]?.workflowExecutions?.[0]?.actionStatuses?.[1]?.outputs).toEqual({
      planExecutionRef: ref('Succeeded'),
    });
    expect(run.recording.events).toEqual([
      ...['start a', 'Succeeded a', 'look sub', 'look sub', 'look sub', 'start b', 'Succeeded b'],
    ]);
  });

  it('is looked at after a while though nobody says so', async () => {
    const run = await scripted.run(
      { stages: one(nested()) },
      { 'look sub': looks([waits('Running'), succeeded]) },
    );
    expect((await run.result()).phase).toBe('Succeeded');
  });

  it('fails the run as it has failed', async () => {
    const run = await scripted.run(
      { stages: one(nested(), 'b') },
      { 'look sub': looks([ends({ phase: 'Failed', reason: 'PlanBusy', message: 'busy', effect: 'None' })]) },
    );
    expect(phasesOf((await run.result()).stages)).toEqual([
      'one=Failed(Failed:sub=Failed/PlanBusy,b=Skipped/FailFast)',
    ]);
  });

  const cut = ends({ phase: 'Failed', reason: 'PlanCancelled', message: 'was cancelled', effect: 'Done' });

  it('is ended by a cancel, which waits for that [S3.58]', async () => {
    const run = await scripted.run(
      { stages: one(nested(), 'b') },
      { 'look sub': looks([waits('Running')], [waits('Running'), waits('Running'), cut]) },
    );
    await shows(run, 'child is Running');
    await run.handle.signal('cancel');
    const result = await run.result();
    expect(result.phase).toBe('Cancelled');
    expect(phasesOf(result.stages)).toEqual(['one=Failed(Failed:sub=Failed/Cancelled,b=Skipped/Cancelled)']);
    expect(result.stages[0]?.workflowExecutions?.[0]?.actionStatuses?.[0]).toMatchObject({
      effect: 'Done',
      message: 'cancelled while it ran; was cancelled',
    });
    expect(run.recording.events.filter((event) => event === 'look sub stop')).toHaveLength(3);
  });

  it('that has succeeded in the moment of the cancel has succeeded', async () => {
    const run = await scripted.run(
      { stages: one(nested(), 'b') },
      { 'look sub': looks([waits('Running')], [succeeded]) },
    );
    await shows(run, 'child is Running');
    await run.handle.signal('cancel');
    expect(phasesOf((await run.result()).stages)).toEqual([
      'one=Failed(Failed:sub=Succeeded,b=Skipped/Cancelled)',
    ]);
  });

  it('is ended at its timeout', async () => {
    const run = await scripted.run(
      { stages: one(nested({ step: { kind: 'plan', timeoutMs: 1000 } })) },
      { 'look sub': looks([waits('Running')], [cut]) },
    );
    const [status] = (await run.result()).stages[0]?.workflowExecutions?.[0]?.actionStatuses ?? [];
    expect(status).toMatchObject({
      phase: 'Failed',
      reason: 'Timeout',
      message: 'no end within its timeout of 1s; was cancelled',
    });
  });

  it('is ended by the failure of another workflow with FailFast', async () => {
    const run = await scripted.run(
      {
        stages: stages({
          name: 'one',
          parallel: true,
          failurePolicy: 'FailFast',
          workflows: [workflow([nested()]), workflow(['bad'])],
        }),
      },
      { 'look sub': looks([waits('Running')], [cut]), bad: { phase: 'Failed' } },
    );
    expect(phasesOf((await run.result()).stages)[0]).toContain('sub=Failed/StageFailed');
  });

  it('is told of a cancel with force, also of one that comes after another', async () => {
    let forced = 0;
    const run = await scripted.run(
      { stages: one(nested(), 'b') },
      {
        'look sub': (task) => {
          const { force } = task as unknown as NestedTask;
          if (force === true) forced += 1;
          return Promise.resolve((force === true ? cut : waits('Running')) as never);
        },
      },
    );
    await shows(run, 'child is Running');
    await run.handle.cancel();
    await until(run, 'look sub stop');
    expect(forced).toBe(0);
    await run.handle.signal('cancel', { force: true });
    expect((await run.result()).phase).toBe('Cancelled');
    expect(forced).toBe(1);
  });

  it('may be let go on by a cancel', async () => {
    const run = await scripted.run(
      { stages: one(nested({ interruptible: false }), 'b') },
      { 'look sub': looks([waits('Running'), succeeded], [cut]) },
    );
    await shows(run, 'child is Running');
    await run.handle.signal('cancel');
    expect(phasesOf((await run.result()).stages)).toEqual([
      'one=Failed(Failed:sub=Succeeded,b=Skipped/Cancelled)',
    ]);
  });

  /** A revert of a run of these actions, in which the nested plan has succeeded. */
  async function reverted(list: StageInput[], script: Script, more: Partial<RunInput> = {}) {
    const target = await scripted.run({ stages: list }, { 'look sub': looks([succeeded]) });
    const { stages: statuses } = await target.result();
    const undo = planUndo({ stages: list, statuses, undone: [] });
    return scripted.run(
      {
        run: { operation: 'Revert', target: { name: 'target', uid: 'uid' } } as never,
        undo,
        undoStatuses: undo.map((item) => item.status),
        ...more,
      },
      script,
    );
  }

  it('is undone within its time or that of any undo, whichever is longer [S3.58] [S5.55]', async () => {
    const bounds = { undoStepMs: 1000, settleMs: 60_000, pauseReminderMs: 500 };
    const list = one(nested({ step: { kind: 'plan', timeoutMs: 500 } }));
    const run = await reverted(list, { 'look undo sub': looks([waits('Running')], [cut]) }, { bounds });
    const result = await run.result();
    expect(result.phase).toBe('Failed');
    expect(result.stages[0]?.workflowExecutions?.[0]?.actionStatuses?.[0]).toMatchObject({
      phase: 'Failed',
      reason: 'Timeout',
      message: 'no end within its timeout of 1s; was cancelled',
    });
  });

  it('that is being undone is stopped by a cancel', async () => {
    const run = await reverted(one(nested()), { 'look undo sub': looks([waits('Running')], [cut]) });
    await shows(run, 'child is Running');
    await run.handle.signal('cancel');
    expect((await run.result()).phase).toBe('Cancelled');
  });

  it('is undone in its turn, shown meanwhile, and without the time of the action', async () => {
    const list = one('a', nested({ step: { kind: 'plan', timeoutMs: 500 } }), action('z', { type: 'Job' }));
    const run = await reverted(list, { 'look undo sub': looks([waits('Running'), succeeded], [cut]) });
    await shows(run, 'child is Running');
    const result = await run.result();
    expect(result.phase).toBe('Succeeded');
    expect(run.recording.events).toEqual([
      ...['start undo z', 'Succeeded undo z', 'look undo sub', 'look undo sub'],
    ]);
  });
});
