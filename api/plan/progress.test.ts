import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canTransition, isTerminalItem, ITEM_PHASES } from '../core/phase.js';
import { closeStage, summarize } from './progress.js';
import type { StageStatus } from './types.js';

const phase = fc.constantFrom(...ITEM_PHASES);
const time = '2026-01-01T00:00:00.000Z';
const stage: fc.Arbitrary<StageStatus> = fc.record({
  name: fc.string({ minLength: 1 }),
  phase,
  startTime: fc.constantFrom(time, undefined),
  workflowExecutions: fc.array(
    fc.record({
      workflowRef: fc.constant({ name: 'wf' }),
      phase,
      startTime: fc.constantFrom(time, undefined),
      actionStatuses: fc.array(fc.record({ name: fc.string({ minLength: 1 }), phase }), { maxLength: 4 }),
    }),
    { maxLength: 4 },
  ),
});

describe('summarize', () => {
  it('counts every stage and workflow exactly once [S5.22]', () => {
    fc.assert(
      fc.property(fc.array(stage, { maxLength: 6 }), (stages) => {
        const sum = summarize(stages);
        expect(
          sum.completedStages + sum.runningStages + sum.pendingStages + sum.failedStages + sum.skippedStages,
        ).toBe(sum.totalStages);
        expect(
          sum.completedWorkflows +
            sum.runningWorkflows +
            sum.pendingWorkflows +
            sum.failedWorkflows +
            sum.skippedWorkflows,
        ).toBe(sum.totalWorkflows);
        expect(sum.totalStages).toBe(stages.length);
      }),
    );
  });
});

describe('closeStage', () => {
  const closing = {
    at: '2026-01-01T00:00:05.000Z',
    running: { reason: 'Interrupted', message: 'ended from outside' },
    pending: { reason: 'Interrupted', message: 'never begun' },
  };

  it('brings every item into a terminal phase by allowed transitions and leaves ended ones alone', () => {
    fc.assert(
      fc.property(stage, (before) => {
        const after = closeStage(before, closing);
        const pairs = [
          [before, after] as const,
          ...(before.workflowExecutions ?? []).flatMap((workflow, w) => {
            const other = after.workflowExecutions?.[w];
            if (other === undefined) throw new Error('workflow lost');
            return [
              [workflow, other] as const,
              ...(workflow.actionStatuses ?? []).map((action, a) => {
                const twin = other.actionStatuses?.[a];
                if (twin === undefined) throw new Error('action lost');
                return [action, twin] as const;
              }),
            ];
          }),
        ];
        for (const [from, to] of pairs) {
          expect(isTerminalItem(to.phase)).toBe(true);
          expect(canTransition(from.phase as never, to.phase as never)).toBe(true);
          if (isTerminalItem(from.phase)) expect(to.phase).toBe(from.phase);
          expect(to.completionTime).toBe(closing.at);
        }
      }),
    );
  });
});

describe('canTransition', () => {
  it('never leaves Succeeded or Skipped, and never goes back to Pending', () => {
    for (const to of ITEM_PHASES) {
      expect(canTransition('Succeeded', to)).toBe(to === 'Succeeded');
      expect(canTransition('Skipped', to)).toBe(to === 'Skipped');
      if (to !== 'Pending') expect(canTransition(to, 'Pending')).toBe(false);
    }
  });
});
