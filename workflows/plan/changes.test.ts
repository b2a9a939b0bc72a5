import { expect, it } from 'vitest';
import type { StageStatus } from '../../api/plan/types.js';
import { followChanges, shellOf } from './changes.js';

const status = (): StageStatus => ({
  name: 's',
  phase: 'Running',
  workflowExecutions: ['v', 'w'].map((name) => ({
    workflowRef: { name },
    phase: 'Running',
    actionStatuses: ['a', 'b', 'c'].map((action) => ({ name: action, phase: 'Pending' })),
  })),
});

it('sends the stage without its workflows, and of these what changed', () => {
  const stage = status();
  const changes = followChanges(4, stage);
  changes.mark(1, 2);
  changes.mark(1, 0);
  changes.mark(1, 2);
  const update = changes.take();
  expect(update).toMatchObject({ index: 4, status: { name: 's', phase: 'Running' } });
  expect(update.status).not.toHaveProperty('workflowExecutions');
  expect(update.changes).toHaveLength(1);
  expect(update.changes?.[0]).toMatchObject({ index: 1, status: { workflowRef: { name: 'w' } } });
  expect(update.changes?.[0]?.status).not.toHaveProperty('actionStatuses');
  expect(update.changes?.[0]?.actions.map(({ index, status: { name } }) => [index, name])).toEqual([
    [2, 'c'],
    [0, 'a'],
  ]);
});

it('sends the state that a change has come to, not the one that it was marked in', () => {
  const stage = status();
  const changes = followChanges(0, stage);
  changes.mark(0, 1);
  const action = stage.workflowExecutions?.[0]?.actionStatuses?.[1];
  if (action !== undefined) action.phase = 'Succeeded';
  expect(changes.take().changes?.[0]?.actions[0]?.status.phase).toBe('Succeeded');
});

it('sends a workflow of which only its own state changed without any action', () => {
  const changes = followChanges(0, status());
  changes.mark(0);
  expect(changes.take().changes).toMatchObject([{ index: 0, actions: [] }]);
});

it('forgets what it has given', () => {
  const changes = followChanges(0, status());
  changes.mark(0, 0);
  changes.take();
  expect(changes.take().changes).toEqual([]);
});

it('passes over what the status does not have', () => {
  const changes = followChanges(0, status());
  changes.mark(7, 0);
  changes.mark(0, 7);
  expect(changes.take().changes).toMatchObject([{ index: 0, actions: [] }]);
});

it('leaves the status that it takes the shell of as it is', () => {
  const stage = status();
  expect(shellOf(stage)).toEqual({ name: 's', phase: 'Running' });
  expect(stage.workflowExecutions).toHaveLength(2);
});
