import { expect, it } from 'vitest';
import type { StageStatus } from '../../../api/plan/types.js';
import type { RunDescription, Runs } from '../../../client/runs/runs.js';
import { inspectStageRuns } from './stage-runs.js';

const stage = (phase: string): StageStatus => ({
  name: phase,
  phase,
  workflowExecutions: [
    { workflowRef: { name: 'w' }, phase, actionStatuses: [{ name: 'a', phase: 'Succeeded' }] },
  ],
});

/** A Temporal that knows these workflows. */
function temporal(
  states: Record<string, RunDescription['state']>,
): Pick<Runs, 'describeChild' | 'stageResult'> {
  return {
    describeChild: (_run, workflowId) => {
      const state = states[workflowId];
      return Promise.resolve(
        state && {
          workflowId,
          runId: 'r',
          firstRunId: 'r',
          state,
          startTime: new Date('2026-01-01T00:00:00Z'),
        },
      );
    },
    stageResult: ({ workflowId }) =>
      Promise.resolve({ status: { ...stage('Succeeded'), message: `by ${workflowId}` } }),
  };
}

it('names the stages that still act or were torn off, and takes the last words of those that have ended', async () => {
  const runs = temporal({ 'id/s1': 'Running', 'id/s2': 'Completed', 'id/s3': 'Terminated' });
  const stages = ['Succeeded', 'Running', 'Running', 'Running', 'Pending'].map(stage);
  expect(await inspectStageRuns(runs, { workflowId: 'id' }, { operation: 'Execute', stages })).toEqual({
    open: [expect.objectContaining({ workflowId: 'id/s1' })],
    torn: [{ workflowId: 'id/s3', runId: 'r', index: 3, isShown: true }],
    stages: [{ index: 2, status: expect.objectContaining({ message: 'by id/s2' }) as StageStatus }],
    undone: [],
  });
});

it('finds a stage that started and has not been told yet', async () => {
  const stages = [stage('Pending')];
  const { open } = await inspectStageRuns(
    temporal({ 'id/s0': 'Running' }),
    { workflowId: 'id' },
    {
      operation: 'Execute',
      stages,
    },
  );
  expect(open).toMatchObject([{ workflowId: 'id/s0' }]);
});

it('looks at the rollback inside a run, and at the stages of a revert', async () => {
  const states = { 'id/r0': 'Completed', 'id/r1': 'Running', 'id/r2': 'TimedOut' } as const;
  const inside = await inspectStageRuns(
    temporal(states),
    { workflowId: 'id' },
    {
      operation: 'Execute',
      stages: [stage('Succeeded'), stage('Failed'), stage('Failed')],
    },
  );
  expect(inside).toMatchObject({
    open: [{ workflowId: 'id/r1' }],
    torn: [{ workflowId: 'id/r2', index: 2, isShown: false }],
    stages: [],
    undone: ['0/0/0'],
  });
  const revert = await inspectStageRuns(
    temporal({ 'id/r0': 'Completed', 'id/r1': 'Running' }),
    { workflowId: 'id' },
    {
      operation: 'Revert',
      stages: [stage('Running'), stage('Pending')],
    },
  );
  expect(revert).toMatchObject({ open: [{ workflowId: 'id/r1' }], stages: [{ index: 0 }], undone: [] });
});
