import { describe, expect, it } from 'vitest';
import { summarize } from '../../../../api/plan/progress.js';
import type { DRPlanExecution, StageStatus } from '../../../../api/plan/types.js';
import { describeExecution } from './describe-execution.js';
import { headline } from './live.js';
import { rowsOf } from './rows.js';
import { createStyle } from '../../core/render/style.js';

const style = createStyle({ color: false, unicode: true });

/** An execution whose actions are in these phases, with the summary that a bridge writes. */
function execution(phase: string, ...actions: string[]): DRPlanExecution {
  const stages: StageStatus[] = [
    {
      name: 'one',
      phase: 'Succeeded',
      workflowExecutions: [
        {
          workflowRef: { name: 'flow' },
          phase: 'Succeeded',
          actionStatuses: actions.map((each, index) => ({ name: `a${index}`, phase: each })),
        },
      ],
    },
  ];
  return {
    metadata: { name: 'run-1', namespace: 'shop' },
    spec: { planRef: 'p', operationType: 'Execute' },
    status: {
      phase,
      ...(actions.length > 0 && { stageStatuses: stages, summary: summarize(stages) }),
    },
  };
}

function shown(of: DRPlanExecution): { cell: string | undefined; head: string; line: string | undefined } {
  const { header, rows } = rowsOf('DRPlanExecution', [of], { style, now: 0, withNamespace: false });
  return {
    cell: rows[0]?.[header.indexOf('PROGRESS')],
    head: headline(of, 0, style),
    line: describeExecution(of, { style, now: 0, width: undefined }).find((line) =>
      line.startsWith('Progress:'),
    ),
  };
}

describe('the progress of a run', () => {
  it.each(['Cancelled', 'Canceled', 'Failed'])(
    'that ended %s counts what succeeded, so that it cannot be taken for a complete one [F24]',
    (phase) => {
      const { cell, head, line } = shown(execution(phase, 'Succeeded', 'Failed', 'Skipped'));
      expect(cell).toBe('1/3 succeeded');
      expect(line).toMatch(/1\/3 actions succeeded, 1 failed, 1 skipped$/);
      expect(head).toContain('1/3 actions succeeded, 1 failed, 1 skipped');
    },
  );

  it('that goes on counts what has ended, and says what has failed [F24]', () => {
    const running = shown(execution('Running', 'Succeeded', 'Failed', 'Running', 'Pending'));
    expect(running.cell).toBe('2/4');
    expect(running.line).toMatch(/2\/4 actions, 1 failed$/);
  });

  it('that succeeded is complete, whatever its conditions have skipped', () => {
    expect(shown(execution('Succeeded', 'Succeeded', 'Succeeded'))).toMatchObject({
      cell: '2/2',
      line: expect.stringMatching(/2\/2 actions$/) as string,
    });
    expect(shown(execution('Succeeded', 'Succeeded', 'Skipped')).line).toMatch(/2\/2 actions, 1 skipped$/);
  });

  it('that never started is left out', () => {
    expect(shown(execution('Failed'))).toMatchObject({ cell: '', line: undefined });
  });
});
