import { describe, expect, it } from 'vitest';
import type { Condition, DRPlanExecution } from '../../../../api/plan/types.js';
import { transitionsBetween } from '../transitions.js';
import { describeExecution } from './describe-execution.js';
import { outcomeLines } from './outcome.js';
import { createStyle } from '../../core/render/style.js';

const style = createStyle({ color: false, unicode: true });
const WHY = 'POST https://gslb.example/switch answered 503 after 4 attempts';
const condition = (type: string, status: 'True' | 'False'): Condition => ({
  type,
  status,
  reason: 'StageFailed',
  message: RUN,
  lastTransitionTime: '2026-01-01T00:00:09Z',
});
const FLOW = `action "dns" failed: ${WHY}`;
const STAGE = `workflow "flow" failed: ${FLOW}`;
const RUN = `stage "one" failed: ${STAGE}`;

function failed(effect: 'None' | 'Unknown'): DRPlanExecution {
  const times = { startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:09Z' };
  return {
    metadata: { name: 'run-1', namespace: 'shop' },
    spec: { planRef: 'p', operationType: 'Execute' },
    status: {
      ...times,
      phase: 'Failed',
      reason: 'StageFailed',
      message: RUN,
      conditions: [
        condition('Succeeded', 'False'),
        condition('Finished', 'True'),
        condition('Progressing', 'False'),
      ],
      stageStatuses: [
        {
          ...times,
          name: 'one',
          phase: 'Failed',
          message: STAGE,
          workflowExecutions: [
            {
              ...times,
              workflowRef: { name: 'flow' },
              phase: 'Failed',
              message: FLOW,
              actionStatuses: [
                {
                  ...times,
                  name: 'dns',
                  type: 'HTTP',
                  phase: 'Failed',
                  reason: 'HTTPStatus',
                  message: WHY,
                  effect,
                },
              ],
            },
          ],
        },
      ],
    },
  };
}

const count = (lines: readonly string[]): number => lines.join('\n').split(WHY).length - 1;

describe('the message of a failure', () => {
  it('stands in a description where the run and where the action is told, and nowhere else [F24]', () => {
    const lines = describeExecution(failed('Unknown'), { style, now: 0, width: undefined });
    expect(count(lines)).toBe(2);
    expect(lines).toContain('  Progressing=False StageFailed');
  });

  it('is told once in what a watch prints, and once at its end [F24]', () => {
    const notes = transitionsBetween(undefined, failed('Unknown'), '2026-01-01T00:01:00Z').map(
      ({ note = '' }) => note,
    );
    expect(count(notes)).toBe(1);
    expect(notes).toContain('action "dns" failed');
    const lines = outcomeLines(failed('Unknown'), { style, now: 0, say: (command) => command });
    expect(count(lines)).toBe(1);
    expect(lines[0]).toMatch(/stage "one" failed: workflow "flow" failed: action "dns" failed$/);
  });
});

describe('what to do next', () => {
  const next = (effect: 'None' | 'Unknown'): string =>
    outcomeLines(failed(effect), { style, now: 0, say: (command) => command }).join('\n');

  it('is a revert where something may have been done [F24]', () => {
    expect(next('Unknown')).toContain('undo it: revert run-1');
    expect(next('None')).not.toContain('undo it');
  });
});
