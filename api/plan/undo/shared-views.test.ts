import { describe, expect, it } from 'vitest';
import type { OutputViews, UndoStageInput, UndoStep } from '../snapshot/run.js';
import { shareViews, viewsOfStep } from './shared-views.js';

const body = 'b'.repeat(1000);
const answered: OutputViews[string] = { phase: 'Succeeded', httpResponse: { statusCode: 200, body } };
const step = (action: number, outputs: OutputViews): UndoStep => ({
  at: { stage: 0, workflow: 0, action },
  input: {
    name: `a${action}`,
    type: 'HTTP',
    dependsOn: [],
    timeoutMs: 1000,
    retry: { limit: 0, intervalMs: 1000, backoffMultiplier: 2, maxIntervalMs: 1000 },
    capture: false,
    interruptible: true,
  },
  forward: { name: `a${action}`, phase: 'Succeeded' },
  outputs,
});
const stageOf = (steps: UndoStep[]): UndoStageInput => ({
  index: 0,
  name: 's',
  status: { name: 's', phase: 'Pending' },
  steps,
});

describe('[F3] what the rollbacks of a stage read of outputs', () => {
  it('is told once, however many read it, and is the same for each of them', () => {
    const steps = Array.from({ length: 500 }, (_, index) =>
      step(index, { ask: answered, brief: { phase: 'Skipped' } }),
    );
    const shared = shareViews(stageOf(steps));
    expect(shared.views).toEqual([answered]);
    expect(JSON.stringify(shared).split(body)).toHaveLength(2);
    for (const one of shared.steps) {
      expect(viewsOfStep(shared, one)).toEqual({ ask: answered, brief: { phase: 'Skipped' } });
    }
  });

  it('stays with the steps where it is short', () => {
    const stage = stageOf([step(0, { ask: { phase: 'Succeeded' } })]);
    expect(shareViews(stage)).toBe(stage);
    expect(viewsOfStep(stage, stage.steps[0] as UndoStep)).toEqual({ ask: { phase: 'Succeeded' } });
  });
});
