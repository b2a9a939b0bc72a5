import { describe, expect, it } from 'vitest';
import type { DRPlan, DRPlanStatus, DRWorkflow } from '../../../../api/plan/types.js';
import { describePlan, describeWorkflow } from './describe-plan.js';
import { rowsOf } from './rows.js';
import { createStyle } from '../../core/render/style.js';

const style = createStyle({ color: false, unicode: true });
const NOW = Date.parse('2026-01-01T01:00:00Z');

const plan = (status: DRPlanStatus): DRPlan => ({
  metadata: { name: 'p', namespace: 'n' },
  spec: {
    onFailure: 'Pause',
    stages: [{ name: 's', failurePolicy: 'Continue', workflows: [{ workflowRef: { name: 'w' } }] }],
  },
  status,
});

const described = (status: DRPlanStatus): string =>
  describePlan(plan(status), () => undefined, { style, now: NOW, width: undefined }).join('\n');

function cellsOf(status: DRPlanStatus): Record<string, string | undefined> {
  const { header, rows } = rowsOf('DRPlan', [plan(status)], { style, now: NOW, withNamespace: false });
  return Object.fromEntries(header.map((name, index) => [name, rows[0]?.[index]]));
}

describe('the last execution of a plan', () => {
  const row = (name: string, phase: string, completionTime?: string) => ({
    name,
    operationType: 'Execute',
    phase,
    ...(completionTime !== undefined && { completionTime }),
  });

  it('is shown however it ended [F24]', () => {
    const status: DRPlanStatus = {
      phase: 'Ready',
      lastExecutionRef: 'good',
      lastExecutionTime: '2025-12-31T00:00:00Z',
      executionHistory: [
        row('runs', 'Running'),
        row('bad', 'Failed', '2026-01-01T00:55:00Z'),
        row('good', 'Succeeded', '2025-12-31T00:00:00Z'),
      ],
    };
    expect(cellsOf(status)).toMatchObject({ 'LAST EXECUTION': 'bad', RESULT: 'Failed', ENDED: '5m' });
    expect(described(status)).toMatch(
      /Last execution: +bad Failed\nEnded: .*5m ago\)\nLast success: +good\n/,
    );
  });

  it('is the last that succeeded where there is no history', () => {
    const status = { lastExecutionRef: 'good', lastExecutionTime: '2026-01-01T00:00:00Z' };
    expect(cellsOf(status)).toMatchObject({ 'LAST EXECUTION': 'good', RESULT: 'Succeeded', ENDED: '60m' });
    expect(described(status)).not.toContain('Last success');
    expect(cellsOf({})).toMatchObject({ 'LAST EXECUTION': '', RESULT: '', ENDED: '' });
  });
});

it('what happens on a failure is called as the fields are [F24]', () => {
  const text = described({});
  expect(text).toMatch(/^Failure policy: +Stop$/m);
  expect(text).toMatch(/^On failure: +Pause$/m);
  expect(text).toContain('failure policy Continue');
});

it('no password of a URL that is stored already is shown [F15]', () => {
  const of = (url: string): DRWorkflow => ({
    metadata: { name: 'w', namespace: 'n' },
    spec: { actions: [{ name: 'a', type: 'HTTP', http: { url } }] },
  });
  const shown = (url: string): string =>
    describeWorkflow(of(url), { style, now: 0, width: undefined }).join('\n');
  expect(shown('http://admin:canary@host.example/x')).toContain('GET http://[hidden]@host.example/x');
  expect(shown('http://host.example/a@b')).toContain('GET http://host.example/a@b');
});
