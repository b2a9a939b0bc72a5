import { describe, expect, it } from 'vitest';
import type { ActionStatus, DRPlanExecutionStatus, StageStatus } from '../../../api/plan/types.js';
import { endedBetween } from './ended-between.js';

const START = '2026-11-29T10:00:00.000Z';
const END = '2026-11-29T10:00:02.500Z';
const NOTHING = { stages: [], actions: [] };

const action = (phase: string, more: Partial<ActionStatus> = {}): ActionStatus => ({
  name: 'a',
  type: 'HTTP',
  phase,
  startTime: START,
  ...(phase !== 'Running' && { completionTime: END }),
  ...more,
});
const stage = (phase: string, ...actionStatuses: ActionStatus[]): StageStatus => ({
  name: 's',
  phase,
  startTime: START,
  ...(phase !== 'Running' && { completionTime: END }),
  workflowExecutions: [{ workflowRef: { name: 'w' }, phase, actionStatuses }],
});
const running = (...stageStatuses: StageStatus[]): DRPlanExecutionStatus => ({
  phase: 'Running',
  startTime: START,
  temporal: { workflowId: 'id' },
  stageStatuses,
});
const over = (phase: string, status: DRPlanExecutionStatus): DRPlanExecutionStatus => ({
  ...status,
  phase,
  completionTime: END,
});

describe('what has ended between two states', () => {
  it('is each action and stage once, with its time', () => {
    const before = running(stage('Running', action('Succeeded'), action('Running')));
    const after = running(stage('Succeeded', action('Succeeded'), action('Failed')));
    expect(endedBetween(before, after)).toEqual({
      stages: [{ phase: 'Succeeded', seconds: 2.5 }],
      actions: [{ type: 'HTTP', phase: 'Failed', seconds: 2.5 }],
    });
    expect(endedBetween(after, after)).toEqual(NOTHING);
  });

  it('is the run, with what ended together with it', () => {
    const before = running(stage('Running', action('Running')));
    expect(endedBetween(before, over('Failed', running(stage('Failed', action('Failed')))))).toEqual({
      run: { phase: 'Failed', seconds: 2.5 },
      stages: [{ phase: 'Failed', seconds: 2.5 }],
      actions: [{ type: 'HTTP', phase: 'Failed', seconds: 2.5 }],
    });
    expect(endedBetween(over('Failed', before), over('Failed', before))).toEqual(NOTHING);
  });

  it('is an action once more where a person has it tried again', () => {
    const first = running(stage('Running', action('Failed', { round: 0 })));
    const second = running(stage('Running', action('Succeeded', { round: 1 })));
    expect(endedBetween(first, second).actions).toEqual([{ type: 'HTTP', phase: 'Succeeded', seconds: 2.5 }]);
  });

  it('tells a run from an execution that never had one, and knows no time of what never began', () => {
    expect(endedBetween(undefined, { phase: 'Failed', completionTime: END })).toEqual({
      ...NOTHING,
      run: { phase: 'NotStarted' },
    });
    const skipped = running(
      stage('Running', { name: 'a', type: 'Job', phase: 'Skipped', completionTime: END }),
    );
    expect(endedBetween(running(stage('Running')), skipped).actions).toEqual([
      { type: 'Job', phase: 'Skipped' },
    ]);
  });

  it('calls a cancelled run by one name', () => {
    expect(endedBetween(running(), over('Canceled', running())).run?.phase).toBe('Cancelled');
  });
});
