import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeStage, pendingStage } from '../../api/plan/progress.js';
import { planUndo } from '../../api/plan/undo/undo.js';
import type { StageStatus } from '../../api/plan/types.js';
import {
  action,
  phasesOf,
  stages,
  startScriptedWorker,
  untilCancelled,
  workflow,
} from '../support/scripted.js';
import type { Script, ScriptedWorker } from '../support/scripted.js';
import { servers } from '../support/servers.js';

let scripted: ScriptedWorker;
beforeAll(async () => {
  scripted = await startScriptedWorker(servers.temporal, servers.temporalNamespace);
});
afterAll(() => scripted.close());

const job = (name: string) => action(name, { type: 'Job' });
const list = () =>
  stages(
    { name: 'one', workflows: [workflow([job('a'), job('b')])] },
    { name: 'two', parallel: true, workflows: [workflow([job('c')]), workflow([job('d')])] },
    { name: 'three', when: 'false', workflows: [workflow([job('e')])] },
  );

/** What the bridge makes of a target: the undo, and every stage's initial status. */
function inverse(statuses: StageStatus[], undone: string[] = []) {
  const undo = planUndo({ stages: list(), statuses, undone });
  const initial = list().map(
    (stage, index) => undo.find((item) => item.index === index)?.status ?? pendingStage(stage),
  );
  return { undo, undoStatuses: initial };
}

async function executed(script: Script = {}): Promise<StageStatus[]> {
  const run = await scripted.run({ stages: list() }, script);
  return (await run.result()).stages;
}

const revert = (statuses: StageStatus[], script: Script = {}, undone: string[] = []) =>
  scripted.run(
    {
      run: { operation: 'Revert', target: { name: 'target', uid: 'target-uid' } } as never,
      ...inverse(statuses, undone),
    },
    script,
  );

describe('revert', () => {
  it('undoes in reverse order of completion and ends Succeeded [S5.46]', async () => {
    const statuses = await executed({
      d: async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return {};
      },
    });
    const run = await revert(statuses);
    const result = await run.result();
    expect(run.recording.events.filter((event) => event.startsWith('start'))).toEqual([
      'start undo d',
      'start undo c',
      'start undo b',
      'start undo a',
    ]);
    expect(result).toMatchObject({ phase: 'Succeeded', reason: 'Reverted' });
    expect(run.recording.finish).toMatchObject({ unreverted: [] });
    expect(run.recording.finish?.undone).toHaveLength(4);
    expect(phasesOf(result.stages)[2]).toBe('three=Skipped(Skipped:e=Skipped/NothingToUndo)');
  });

  it('includes attempted actions of unknown effect and leaves out those without one [S5.46]', async () => {
    const statuses = await executed({
      c: { phase: 'Failed', effect: 'Unknown' },
      d: { phase: 'Failed', effect: 'None' },
    });
    const run = await revert(statuses);
    await run.result();
    const undone = run.recording.events.filter((event) => event.startsWith('start'));
    expect(undone).toContain('start undo c');
    expect(undone).not.toContain('start undo d');
  });

  it('stops at the first failure, lists what is left, and goes on there the next time [S5.48]', async () => {
    const statuses = await executed();
    const first = await revert(statuses, { 'undo b': { phase: 'Failed', message: 'locked' } });
    const result = await first.result();
    expect(result).toMatchObject({ phase: 'Failed', reason: 'UndoFailed' });
    expect(result.message).toContain('locked');
    expect(first.recording.finish?.unreverted?.sort()).toEqual(['0/0/0', '0/0/1']);
    expect(phasesOf(result.stages)[0]).toBe('one=Failed(Failed:a=Skipped/UndoStopped,b=Failed/Test)');

    const second = await revert(statuses, {}, first.recording.finish?.undone);
    expect(await second.result()).toMatchObject({ phase: 'Succeeded' });
    expect(second.recording.events.filter((event) => event.startsWith('start'))).toEqual([
      'start undo b',
      'start undo a',
    ]);
  });

  it('can be cancelled, and what is left can be undone later', async () => {
    const statuses = await executed();
    const run = await revert(statuses, { 'undo b': () => untilCancelled() });
    await expect.poll(() => run.recording.events, { timeout: 60_000 }).toContain('start undo b');
    await run.handle.signal('cancel');
    const result = await run.result();
    expect(result.phase).toBe('Cancelled');
    expect(run.recording.finish?.unreverted?.sort()).toEqual(['0/0/0', '0/0/1']);
    for (const stage of result.stages) expect(stage.completionTime).toBeDefined();
  });

  it('of a run cut short undoes the interrupted action first', async () => {
    const statuses = await executed();
    const cut = statuses.map((status, index) =>
      index === 1
        ? closeStage(
            {
              ...status,
              phase: 'Running',
              order: undefined,
              workflowExecutions: status.workflowExecutions?.map((item, w) =>
                w === 1
                  ? {
                      ...item,
                      phase: 'Running',
                      actionStatuses: item.actionStatuses?.map((own) => ({
                        ...own,
                        phase: 'Running',
                        order: undefined,
                        effect: undefined,
                      })),
                    }
                  : item,
              ),
            },
            {
              at: new Date().toISOString(),
              running: { reason: 'Interrupted', message: 'terminated' },
              pending: { reason: 'Interrupted', message: 'terminated' },
            },
          )
        : status,
    );
    const run = await revert(cut);
    await run.result();
    expect(run.recording.events[0]).toBe('start undo d');
  });
});
