import { describe, expect, it } from 'vitest';
import type { DRPlanExecutionStatus, StageStatus } from '../../../api/plan/types.js';
import { setCondition } from '../../core/conditions.js';
import { newlyUnconfirmed, stopUnconfirmed } from './stop-unconfirmed.js';

const stages = (...clusters: string[]): StageStatus[] => [
  {
    name: 'switch',
    phase: 'Running',
    workflowExecutions: [
      {
        workflowRef: { name: 'w' },
        phase: 'Running',
        actionStatuses: [
          { name: 'other', phase: 'Succeeded' },
          { name: 'move', phase: 'Succeeded', outputs: { stopUnconfirmed: clusters } },
        ],
      },
    ],
  },
];
const now = '2026-01-01T00:00:00Z';

/** The status with what is asked for. */
function told(status: DRPlanExecutionStatus, ...args: [StageStatus[], string[]?]): DRPlanExecutionStatus {
  const update = stopUnconfirmed(status, ...args);
  return update === undefined
    ? status
    : { ...status, conditions: setCondition(status.conditions, update, now) };
}

describe('StopUnconfirmed', () => {
  it('names cluster, action and stage, and what to do', () => {
    expect(stopUnconfirmed({}, stages('ns-b/site-b'))).toEqual({
      type: 'StopUnconfirmed',
      status: 'True',
      reason: 'ClusterDidNotConfirm',
      message:
        'what was removed may still run in "ns-b/site-b" (removed by action "move" in stage "switch"); make sure that it is stopped there before anything else takes its place',
    });
  });

  it('is not there when everything stopped', () => {
    expect(stopUnconfirmed({}, stages())).toBeUndefined();
    expect(newlyUnconfirmed(undefined, {})).toBeUndefined();
  });

  it('keeps every cluster that was ever named, also when a later attempt says nothing of it', () => {
    const first = told({}, stages('ns-b/site-b'));
    expect(stopUnconfirmed(first, stages())).toBeUndefined();
    const second = told(first, stages('ns-b/site'), ['ns-c/site-c']);
    expect(second.conditions?.[0]?.message).toMatch(
      /in "ns-b\/site-b" \(removed by action "move" in stage "switch"\), "ns-b\/site" \(.*\), "ns-c\/site-c" \(removed by the rollback\); make sure/,
    );
    expect(newlyUnconfirmed(first, second)).toBe(second.conditions?.[0]);
    expect(newlyUnconfirmed(second, told(second, stages('ns-b/site-b', 'ns-b/site')))).toBeUndefined();
  });
});
