import { describe, expect, it } from 'vitest';
import type { ActionStatus, WorkflowExecutionStatus } from '../../api/plan/types.js';
import { applyOutcome, closeWorkflow, failedItself, heldByNeeds, skipWorkflow } from './outcome.js';

const workflow = (
  ...actions: { phase: string; reason?: string; message?: string }[]
): WorkflowExecutionStatus => ({
  workflowRef: { name: 'w' },
  phase: 'Running',
  startTime: '2026-01-01T00:00:00.000Z',
  currentAction: 'a0',
  actionStatuses: actions.map((action, index) => ({ name: `a${index}`, ...action })),
});

describe('closeWorkflow', () => {
  const closed = (...actions: Parameters<typeof workflow>): WorkflowExecutionStatus => {
    const status = workflow(...actions);
    closeWorkflow(status);
    return status;
  };

  it('succeeds with actions that succeeded or were meant to be skipped', () => {
    const status = closed({ phase: 'Succeeded' }, { phase: 'Skipped', reason: 'WhenFalse' });
    expect(status).toMatchObject({ phase: 'Succeeded', progress: '2/2 actions completed' });
    expect(status).not.toHaveProperty('currentAction');
    expect(status.duration).toBeDefined();
  });

  it('names the action that failed by itself, not one that was cut short before it in the list', () => {
    const status = closed(
      { phase: 'Failed', reason: 'FailFast' },
      { phase: 'Failed', reason: 'HTTPStatus', message: 'answered 500' },
    );
    expect(status).toMatchObject({ reason: 'ActionFailed', message: 'action "a1" failed: answered 500' });
  });

  it('takes over the reason of what was cut short', () => {
    expect(closed({ phase: 'Failed', reason: 'Cancelled' })).toMatchObject({
      phase: 'Failed',
      reason: 'Cancelled',
    });
    expect(closed({ phase: 'Succeeded' }, { phase: 'Skipped', reason: 'Cancelled' })).toMatchObject({
      phase: 'Failed',
      reason: 'Cancelled',
    });
  });

  it('is skipped where every action was meant to be', () => {
    expect(closed({ phase: 'Skipped', reason: 'OtherMode' })).toMatchObject({
      phase: 'Skipped',
      reason: 'OtherMode',
    });
  });
});

it('skips a workflow with those of its actions that have not begun', () => {
  const status = workflow({ phase: 'Succeeded' }, { phase: 'Pending' });
  skipWorkflow(status, { reason: 'Cancelled', message: 'cancelled' });
  expect(status).toMatchObject({ phase: 'Skipped', reason: 'Cancelled' });
  expect(status.actionStatuses?.map(({ phase }) => phase)).toEqual(['Succeeded', 'Skipped']);
});

it('keeps the outputs that an action has where its outcome brings none', () => {
  const status = {
    name: 'a',
    phase: 'Running',
    outputs: { httpResponse: { statusCode: 200 } },
  } as ActionStatus;
  applyOutcome(status, {
    phase: 'Failed',
    reason: 'x',
    message: 'm',
    effect: 'None',
    round: 0,
    retryCount: 0,
  });
  expect(status.outputs).toEqual({ httpResponse: { statusCode: 200 } });
  const outputs = { httpResponse: { statusCode: 201 } };
  applyOutcome(status, { phase: 'Succeeded', outputs, round: 1, retryCount: 0 });
  expect(status.outputs).toEqual(outputs);
});

it.each(['Cancelled', 'FailFast', 'StageFailed'])('does not take %s for a failure of its own', (reason) => {
  expect(failedItself({ phase: 'Failed', reason })).toBe(false);
});

describe('heldByNeeds', () => {
  const item = (phase: string, reason?: string) => ({
    name: phase.toLowerCase(),
    phase,
    ...(reason !== undefined && { reason }),
  });
  const held = (graph: boolean, ...items: ReturnType<typeof item>[]) =>
    heldByNeeds([...items.keys()], items, { graph, what: 'stage' });

  it('waits for what has not ended, also in list order', () => {
    for (const graph of [true, false]) {
      expect(held(graph, item('Succeeded'), item('Running'))).toBe('wait');
      expect(held(graph, item('Succeeded'))).toBeUndefined();
    }
    expect(heldByNeeds([3], [], { graph: true, what: 'stage' })).toBe('wait');
  });

  it('never begins in a graph after a failure, or a skip that was not meant', () => {
    const failed = { reason: 'DependencyFailed', message: 'stage "failed" did not succeed' };
    expect(held(true, item('Failed'))).toEqual(failed);
    expect(held(true, item('Skipped', 'DependencyFailed'))).toMatchObject({ reason: 'DependencyFailed' });
    expect(held(true, item('Skipped', 'WhenFalse'))).toBeUndefined();
  });

  it('goes on in list order after a failure', () => {
    expect(held(false, item('Failed'), item('Skipped', 'FailFast'))).toBeUndefined();
  });
});
