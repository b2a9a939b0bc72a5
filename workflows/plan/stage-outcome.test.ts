import { describe, expect, it } from 'vitest';
import type { StageStatus } from '../../api/plan/types.js';
import { closeUndoneStage, closeUndoneWorkflow } from './rollback-outcome.js';
import { closeStage, wasCut } from './stage-outcome.js';

const stage = (
  ...workflows: { phase: string; reason?: string; message?: string; actions?: string[] }[]
): StageStatus => ({
  name: 's',
  phase: 'Running',
  startTime: '2026-01-01T00:00:00.000Z',
  workflowExecutions: workflows.map(({ actions = [], ...workflow }, index) => ({
    workflowRef: { name: `w${index}` },
    ...workflow,
    actionStatuses: actions.map((reason) => ({ name: reason, phase: 'Failed', reason })),
  })),
});

describe('closeStage', () => {
  const closed = (cancelled: boolean, ...workflows: Parameters<typeof stage>): StageStatus => {
    const status = stage(...workflows);
    closeStage(status, cancelled);
    return status;
  };

  it('names the workflow that failed by itself', () => {
    const status = closed(
      false,
      { phase: 'Failed', reason: 'StageFailed' },
      { phase: 'Failed', message: 'm' },
    );
    expect(status).toMatchObject({ reason: 'WorkflowFailed', message: 'workflow "w1" failed: m' });
  });

  it('is cancelled where a cancel has cut a workflow short', () => {
    const workflow = { phase: 'Skipped', reason: 'Cancelled' };
    expect(closed(true, { phase: 'Succeeded' }, workflow)).toMatchObject({
      phase: 'Failed',
      reason: 'Cancelled',
    });
    expect(closed(true, { phase: 'Succeeded' }).phase).toBe('Succeeded');
  });

  it('is skipped where every workflow was', () => {
    expect(closed(false, { phase: 'Skipped', reason: 'OtherMode' })).toMatchObject({
      phase: 'Skipped',
      reason: 'OtherMode',
    });
  });
});

it('knows whether a cancel has cut anything short, down to a single action', () => {
  expect(wasCut(stage({ phase: 'Succeeded', actions: ['HTTPStatus'] }))).toBe(false);
  expect(wasCut(stage({ phase: 'Failed', actions: ['Cancelled'] }))).toBe(true);
  expect(wasCut({ ...stage(), reason: 'Cancelled' })).toBe(true);
});

describe('a stage that is undone', () => {
  it('closes workflows by what became of their steps', () => {
    const [done, stopped, idle] =
      stage({ phase: 'Running' }, { phase: 'Running', actions: ['UndoStopped'] }, { phase: 'Pending' })
        .workflowExecutions ?? [];
    if (done === undefined || stopped === undefined || idle === undefined) throw new Error('no workflows');
    for (const workflow of [done, stopped]) workflow.startTime = '2026-01-01T00:00:00.000Z';
    for (const workflow of [done, stopped, idle]) closeUndoneWorkflow(workflow);
    expect(done).toMatchObject({ phase: 'Succeeded' });
    expect(stopped).toMatchObject({ phase: 'Failed', reason: 'UndoFailed' });
    expect(idle).toMatchObject({ phase: 'Skipped', reason: 'UndoStopped' });
  });

  it.each([
    [{ failed: undefined, isCut: false }, 'Succeeded', undefined],
    [{ failed: undefined, isCut: true }, 'Failed', 'Cancelled'],
    [{ failed: { name: 'a', phase: 'Failed', reason: 'Timeout' }, isCut: false }, 'Failed', 'UndoFailed'],
    [{ failed: { name: 'a', phase: 'Failed', reason: 'Cancelled' }, isCut: true }, 'Failed', 'Cancelled'],
  ] as const)('ends by %j', (how, phase, reason) => {
    const status = stage();
    closeUndoneStage(status, how);
    expect(status.phase).toBe(phase);
    expect(status.reason).toBe(reason);
  });
});
