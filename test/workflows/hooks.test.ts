import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HookPosition } from '../../api/plan/order/hooks.js';
import type { ActionInput } from '../../api/plan/snapshot/run.js';
import { planUndo } from '../../api/plan/undo/undo.js';
import { action, phasesOf, stages, startScriptedWorker, workflow } from '../support/scripted.js';
import type { Script, ScriptedWorker } from '../support/scripted.js';
import { servers } from '../support/servers.js';

let scripted: ScriptedWorker;
beforeAll(async () => {
  scripted = await startScriptedWorker(servers.temporal, servers.temporalNamespace);
});
afterAll(() => scripted.close());

const hook = (name: string, position: HookPosition, more: Partial<ActionInput> = {}): ActionInput =>
  action(name, { type: 'Job', hook: position, hookType: `${position}-install`, ...more });
const otherMode = { reason: 'OtherMode', message: 'a hook of another mode' };
const rollbackHook = (name: string, position: HookPosition): ActionInput =>
  action(name, { type: 'Job', hook: position, hookType: `${position}-rollback`, skip: otherMode });
const job = (name: string, more: Partial<ActionInput> = {}): ActionInput =>
  action(name, { type: 'Job', ...more });
const slow = async () => {
  await new Promise((resolve) => setTimeout(resolve, 200));
  return {};
};

describe('hooks of a run', () => {
  it('come before and after the other actions, wherever they stand, and those of other modes are Skipped [S1.21]', async () => {
    const run = await scripted.run({
      stages: stages({
        name: 'one',
        workflows: [
          workflow([
            hook('after', 'post'),
            job('main'),
            hook('other', 'pre', { skip: otherMode }),
            hook('before', 'pre'),
          ]),
        ],
      }),
    });
    const result = await run.result();
    expect(run.recording.events.filter((event) => event.startsWith('start'))).toEqual([
      'start before',
      'start main',
      'start after',
    ]);
    expect(result).toMatchObject({ phase: 'Succeeded' });
    expect(phasesOf(result.stages)).toEqual([
      'one=Succeeded(Succeeded:after=Succeeded,main=Succeeded,other=Skipped/OtherMode,before=Succeeded)',
    ]);
  });

  it('hold back a graph too, and what depends on a hook of another mode goes on [S1.21]', async () => {
    const run = await scripted.run(
      {
        stages: stages({
          name: 'one',
          workflows: [
            workflow([
              job('a', { dependsOn: ['other'] }),
              job('b'),
              hook('other', 'pre', { skip: otherMode }),
              hook('before', 'pre'),
              hook('after', 'post', { dependsOn: ['a'] }),
            ]),
          ],
        }),
      },
      { before: slow, b: slow },
    );
    await run.result();
    const { events } = run.recording;
    expect(events.slice(0, 2)).toEqual(['start before', 'Succeeded before']);
    expect(events.indexOf('start after')).toBeGreaterThan(events.indexOf('Succeeded b'));
    expect(events.at(-1)).toBe('Succeeded after');
  });

  it('end the workflow when a pre hook fails', async () => {
    const run = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([job('main'), hook('before', 'pre')])] }) },
      { before: { phase: 'Failed' } },
    );
    const result = await run.result();
    expect(run.recording.events).toEqual(['start before', 'Failed before']);
    expect(phasesOf(result.stages)).toEqual(['one=Failed(Failed:main=Skipped/FailFast,before=Failed/Test)']);
  });
});

describe('rollback hooks', () => {
  const list = () =>
    stages({
      name: 'one',
      workflows: [workflow([rollbackHook('end', 'post'), rollbackHook('begin', 'pre'), job('a'), job('b')])],
    });
  const forward = async () => (await (await scripted.run({ stages: list() })).result()).stages;
  const revert = async (script: Script = {}) => {
    const statuses = await forward();
    const undo = planUndo({ stages: list(), statuses, undone: [] });
    const run = { operation: 'Revert', mode: 'Rollback', target: { name: 't', uid: 'target-uid' } };
    return scripted.run({ run: run as never, undo, undoStatuses: undo.map((stage) => stage.status) }, script);
  };

  it('run around a Revert, in mode Rollback and as work of the Revert [S1.21]', async () => {
    const seen: unknown[] = [];
    const run = await revert({
      begin: (task) => {
        seen.push([task.direction, task.run.mode, task.at]);
        return Promise.resolve({});
      },
    });
    const result = await run.result();
    expect(run.recording.events.filter((event) => event.startsWith('start'))).toEqual([
      'start begin',
      'start undo b',
      'start undo a',
      'start end',
    ]);
    expect(seen).toEqual([['forward', 'Rollback', { stage: 0, workflow: 0, action: 1 }]]);
    expect(result).toMatchObject({ phase: 'Succeeded', reason: 'Reverted' });
    expect(run.recording.finish).toMatchObject({ undone: ['0/0/2', '0/0/3'], unreverted: [] });
  });

  it('stop it when one fails: nothing is undone after a failed pre hook, and the next Revert runs it again', async () => {
    const run = await revert({ begin: { phase: 'Failed' } });
    const result = await run.result();
    expect(run.recording.events.filter((event) => event.startsWith('start'))).toEqual(['start begin']);
    expect(result).toMatchObject({ phase: 'Failed', reason: 'UndoFailed' });
    expect(run.recording.finish).toMatchObject({ undone: [], unreverted: ['0/0/2', '0/0/3'] });
  });

  it('run around the rollback inside a failed run', async () => {
    const run = await scripted.run(
      {
        onFailure: 'Rollback',
        stages: stages({
          name: 'one',
          workflows: [workflow([rollbackHook('begin', 'pre'), job('a'), job('b')])],
        }),
      },
      { b: { phase: 'Failed', effect: 'None' } },
    );
    await run.result();
    expect(run.recording.events.filter((event) => event.startsWith('start'))).toEqual([
      'start a',
      'start b',
      'start begin',
      'start undo a',
    ]);
  });
});

describe('clean-up of hooks', () => {
  const created = { created: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'u' }] };
  const all = { beforeCreate: true, onSuccess: true, onFailure: true } as const;
  const run = async (cleanup: ActionInput['cleanup'], script: Script) => {
    const started = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([job('a', { ...(cleanup && { cleanup }) })])] }) },
      script,
    );
    const { stages: ended } = await started.result();
    return {
      events: started.recording.events,
      action: ended[0]?.workflowExecutions?.[0]?.actionStatuses?.[0],
    };
  };

  it('makes room before, and removes after success or failure what the end asks for', async () => {
    const succeeded = await run(all, { a: { outputs: created, message: 'made' } });
    expect(succeeded.events).toEqual(['clean before a', 'start a', 'Succeeded a', 'clean after a']);
    expect(succeeded.action).toMatchObject({
      phase: 'Succeeded',
      message: 'made; removed it',
      outputs: created,
    });
    const failed = await run(all, { a: { phase: 'Failed', outputs: created } });
    expect(failed.events).toEqual(['clean before a', 'start a', 'Failed a', 'clean after a']);
    expect(failed.action).toMatchObject({ phase: 'Failed', reason: 'Test' });
    const kept = await run({ onSuccess: true }, { a: { phase: 'Failed', outputs: created } });
    expect(kept.events).toEqual(['start a', 'Failed a']);
    const nothing = await run(all, {});
    expect(nothing.events).toEqual(['clean before a', 'start a', 'Succeeded a']);
  });

  it('fails the action before it begins when there is no room, and leaves its end as it is when something stays [S1.22]', async () => {
    const stuck = { kind: 'failed', reason: 'HookCleanupFailed', message: 'still Terminating' } as const;
    const before = await run(all, { 'clean before a': stuck });
    expect(before.events).toEqual(['clean before a']);
    expect(before.action).toMatchObject({ phase: 'Failed', reason: 'HookCleanupFailed', effect: 'None' });
    const after = await run(all, { a: { outputs: created }, 'clean after a': stuck });
    expect(after.action).toMatchObject({ phase: 'Succeeded', message: 'still Terminating' });
    const skipped = { kind: 'skipped', reason: 'WhenFalse', message: 'when is false' } as const;
    const passed = await run(all, { 'clean before a': skipped });
    expect(passed.action).toMatchObject({ phase: 'Skipped', reason: 'WhenFalse' });
  });
});
