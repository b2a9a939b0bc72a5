import { describe, expect, it } from 'vitest';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { attentionOf } from './attention.js';
import { liveLines } from './live.js';
import { createStyle } from '../../core/render/style.js';

const style = createStyle({ color: false, unicode: true });
const NOW = Date.parse('2026-01-01T00:00:12Z');

const execution: DRPlanExecution = {
  metadata: { name: 'web-x7k2p', namespace: 'default' },
  spec: { planRef: 'web', operationType: 'Execute' },
  status: {
    phase: 'Running',
    startTime: '2026-01-01T00:00:00Z',
    summary: {
      totalStages: 1,
      completedStages: 0,
      runningStages: 1,
      pendingStages: 0,
      failedStages: 0,
      skippedStages: 0,
      totalWorkflows: 1,
      completedWorkflows: 0,
      runningWorkflows: 1,
      pendingWorkflows: 0,
      failedWorkflows: 0,
      skippedWorkflows: 0,
      progress: '3/7',
    },
    stageStatuses: [{ name: 'drain', phase: 'Running', startTime: '2026-01-01T00:00:05Z' }],
    conditions: [
      {
        type: 'Progressing',
        status: 'False',
        reason: 'NoWorker',
        message: 'start a worker',
        lastTransitionTime: '2026-01-01T00:00:05Z',
      },
    ],
  },
};

describe('the live picture', () => {
  it('shows the run, its stages, what needs attention, and how to leave', () => {
    expect(liveLines({ execution, now: NOW, style, columns: 80, rows: 20, footer: 'Ctrl-C leaves' })).toEqual(
      [
        '● web-x7k2p  Running  12s  3/7 actions  plan web',
        '● drain  7s',
        'Progressing=False NoWorker: start a worker',
        'Ctrl-C leaves',
      ],
    );
  });

  it('never is larger than the screen', () => {
    const stages = Array.from({ length: 40 }, (_, index) => ({ name: `stage-${index}`, phase: 'Running' }));
    const large = { ...execution, status: { ...execution.status, stageStatuses: stages } };
    for (const [columns, rows] of [
      [80, 10],
      [20, 5],
      [12, 2],
    ] as const) {
      const lines = liveLines({ execution: large, now: NOW, style, columns, rows, notice: 'x'.repeat(200) });
      expect(lines.length).toBeLessThanOrEqual(rows);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    }
  });
});

describe('attention', () => {
  const condition = (type: string, status: 'True' | 'False') => ({
    type,
    status,
    reason: 'R',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });

  it('is asked for by trouble only', () => {
    const conditions = [
      condition('Succeeded', 'False'),
      condition('Progressing', 'False'),
      condition('FullyReverted', 'False'),
      condition('RolledBack', 'True'),
      condition('TemporalMismatch', 'True'),
    ];
    expect(attentionOf(conditions, true).map(({ type }) => type)).toEqual([
      'FullyReverted',
      'TemporalMismatch',
    ]);
    expect(attentionOf(conditions, false).map(({ type }) => type)).toEqual([
      'Progressing',
      'FullyReverted',
      'TemporalMismatch',
    ]);
  });
});
