/** Actions that are conditions of the workflow itself: timers, approvals, nested plans. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ActionInput } from '../../api/run.js';
import { planUndo } from '../../api/undo.js';
import { action, phasesOf, stages, startScriptedWorker, workflow } from '../support/scripted.js';
import type { ScriptedRun, ScriptedWorker } from '../support/scripted.js';

let scripted: ScriptedWorker;
beforeAll(async () => {
  scripted = await startScriptedWorker(inject('temporal'), inject('temporalNamespace'));
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
  const end = Date.now() + 10_000;
  while (!JSON.stringify(run.recording.mirrors).includes(text)) {
    if (Date.now() > end) throw new Error(`status never showed ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

describe('a wait for a time', () => {
  it('is a timer between its neighbours, shown while it runs, without an activity', async () => {
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
    expect(Date.now() - asked).toBeLessThan(2000);
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
  it('is passed over when it cannot be delivered, and what depends on it goes on', async () => {
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
