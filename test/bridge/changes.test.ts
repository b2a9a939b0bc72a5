/** Updates that carry less than a whole stage: what changed, or that all was told (S6.5). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DRPlanExecutionStatus, StageStatus } from '../../api/plan/types.js';
import type { RunIdentity } from '../../workflows/plan/contract.js';
import type { MirrorUpdate } from '../../workflows/plan/contract-updates.js';
import { followChanges } from '../../workflows/plan/changes.js';
import { applyMirror } from '../../crd-bridge/plan/status/projection.js';

const now = '2026-01-01T00:00:00.000Z';
const fresh = (): StageStatus => ({
  name: 's',
  phase: 'Running',
  workflowExecutions: [0, 1].map((w) => ({
    workflowRef: { name: `w${w}` },
    phase: 'Pending',
    actionStatuses: [0, 1, 2].map((a) => ({ name: `a${a}`, phase: 'Pending' })),
  })),
});
const update = (sequence: number, more: Partial<MirrorUpdate>): MirrorUpdate => ({
  run: { operation: 'Execute' } as RunIdentity,
  from: 0,
  sequence,
  stages: [],
  ...more,
});

describe('applyMirror', () => {
  it('arrives by changes alone at the state that the stage is in [S6.5]', () => {
    const step = fc.record({
      workflow: fc.nat(1),
      action: fc.option(fc.nat(2), { nil: undefined }),
      phase: fc.constantFrom('Running', 'Succeeded', 'Failed', 'Skipped'),
      tell: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const stage = fresh();
        const changes = followChanges(0, stage);
        let status: DRPlanExecutionStatus = { phase: 'Running', stageStatuses: [fresh()] };
        let sequence = 0;
        const tell = (): void => {
          sequence += 1;
          // What travels is a copy, as it is through Temporal.
          const entry = JSON.parse(JSON.stringify(changes.take())) as MirrorUpdate['stages'][number];
          status = applyMirror(status, update(sequence, { stages: [entry] }), now) ?? status;
        };
        for (const { workflow, action, phase, tell: now_ } of steps) {
          const item = stage.workflowExecutions?.[workflow];
          if (item === undefined) throw new Error('no workflow');
          item.message = phase;
          const own = action === undefined ? undefined : item.actionStatuses?.[action];
          if (own !== undefined) own.phase = phase;
          changes.mark(workflow, action);
          if (now_) tell();
        }
        tell();
        expect(status.stageStatuses?.[0]).toMatchObject(stage);
      }),
    );
  });

  it('keeps the detail that is told already when the run says how the stage ended', () => {
    const detailed = fresh();
    const { workflowExecutions, ...shell } = detailed;
    const next = applyMirror(
      { phase: 'Running', stageStatuses: [{ ...detailed, sequence: 7 }] },
      update(1, {
        from: 'run',
        stages: [{ index: 0, status: { ...shell, phase: 'Succeeded' }, told: true }],
      }),
      now,
    );
    expect(next?.stageStatuses?.[0]).toMatchObject({ phase: 'Succeeded', workflowExecutions });
  });
});
