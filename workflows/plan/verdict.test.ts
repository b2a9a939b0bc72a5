import { describe, expect, it } from 'vitest';
import type { StageStatus } from '../../api/plan/types.js';
import { judge } from './verdict.js';

const always = (): boolean => true;

/** A stage with one workflow, whose actions end as given. */
function stage(
  phase: string,
  actions: { phase: string; reason?: string }[] = [{ phase: 'Succeeded' }],
  more: Partial<StageStatus> = {},
): StageStatus {
  const actionStatuses = actions.map((action, index) => ({ name: `a${index}`, ...action }));
  return {
    name: 's',
    phase,
    ...more,
    workflowExecutions: [{ workflowRef: { name: 'w' }, phase, actionStatuses }],
  };
}

describe('judge', () => {
  it('counts the stages of a run that succeeded', () => {
    expect(judge([stage('Succeeded')], false, always)).toMatchObject({
      phase: 'Succeeded',
      message: '1 stage completed',
    });
    expect(judge([stage('Succeeded'), stage('Succeeded')], false, always).message).toBe('2 stages completed');
  });

  it('names the stage that stopped the plan rather than one that was allowed to fail', () => {
    const stages = [
      stage('Failed', [{ phase: 'Failed' }], { name: 'allowed', message: 'm0' }),
      stage('Failed', [{ phase: 'Failed' }], { name: 'stopping', message: 'm1' }),
    ];
    expect(judge(stages, false, (index) => index === 1).message).toBe('stage "stopping" failed: m1');
    expect(judge(stages, false, () => false).message).toBe('stage "allowed" failed: m0');
  });

  it('is cancelled only where the cancel has cut something short', () => {
    expect(judge([stage('Succeeded')], true, always).phase).toBe('Succeeded');
    const cuts = [
      stage('Skipped', [], { reason: 'Cancelled' }),
      stage('Failed', [{ phase: 'Failed', reason: 'Cancelled' }]),
    ];
    for (const cut of cuts) expect(judge([cut], true, always).phase).toBe('Cancelled');
    const [skipped] = cuts;
    expect(judge([stage('Succeeded'), skipped ?? stage('Failed')], false, always).phase).toBe('Succeeded');
  });

  it('fails where nothing was executed, unless that was meant', () => {
    const idle = stage('Skipped', [{ phase: 'Skipped', reason: 'DependencyFailed' }]);
    expect(judge([idle], false, always)).toMatchObject({ phase: 'Failed', reason: 'NothingExecuted' });
    expect(judge([], false, always).reason).toBe('NothingExecuted');
    for (const reason of ['WhenFalse', 'SkippedByUser', 'NotDelivered', 'OtherMode', 'NoDelete']) {
      expect(judge([stage('Skipped', [{ phase: 'Skipped', reason }])], false, always).phase).toBe(
        'Succeeded',
      );
    }
    const whole = stage('Skipped', [{ phase: 'Skipped', reason: 'Unknown' }], { reason: 'WhenFalse' });
    expect(judge([whole], false, always).phase).toBe('Succeeded');
  });
});
