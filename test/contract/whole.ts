/** What holds of every execution that has ended, whatever it ran and however it went (S5.22). */
import { expect } from 'vitest';
import { isTerminalItem } from '../../api/core/phase.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { condition } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

/** Everything of a status that can be open or closed. */
function items({ status }: DRPlanExecution) {
  return (status?.stageStatuses ?? []).flatMap((stage) => [
    { at: stage.name, ...stage },
    ...(stage.workflowExecutions ?? []).flatMap((workflow) => [
      { at: `${stage.name}/${workflow.workflowRef.name}`, ...workflow },
      ...(workflow.actionStatuses ?? []).map((action) => ({ at: `${stage.name}/${action.name}`, ...action })),
    ]),
  ]);
}

/** Checks the status of an ended execution, and that its plan is free and keeps one row of it. */
export async function expectWhole(stack: Stack, execution: DRPlanExecution): Promise<void> {
  const { status, metadata } = execution;
  expect(['Succeeded', 'Failed', 'Cancelled']).toContain(status?.phase);
  expect(status?.completionTime).toBeDefined();
  expect(status?.reason).toMatch(/^[A-Z][A-Za-z]+$/);
  expect(status?.message).not.toBe('');
  expect(condition(execution, 'Succeeded')?.status).toBe(status?.phase === 'Succeeded' ? 'True' : 'False');
  expect(condition(execution, 'Finished')?.status).toBe('True');
  expect(condition(execution, 'Progressing')?.status).toBe('False');

  const summary: Record<string, unknown> = { ...status?.summary };
  for (const what of ['Stages', 'Workflows']) {
    const parts = ['completed', 'running', 'pending', 'failed', 'skipped'].map((part) =>
      Number(summary[`${part}${what}`]),
    );
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(summary[`total${what}`]);
    expect(summary[`running${what}`]).toBe(0);
    expect(summary[`pending${what}`]).toBe(0);
  }
  for (const item of items(execution)) {
    expect(isTerminalItem(item.phase), `${item.at} is ${item.phase}`).toBe(true);
    expect(item.completionTime, item.at).toBeDefined();
    if (item.phase !== 'Succeeded') expect(item.reason ?? item.message, item.at).toBeTruthy();
    if (item.startTime !== undefined) {
      expect(Date.parse(item.startTime), item.at).toBeLessThanOrEqual(Date.parse(item.completionTime ?? ''));
    }
  }

  const plan = await stack.getPlan(execution.spec.planRef);
  expect(plan.status?.currentExecution?.uid).not.toBe(metadata.uid);
  expect(plan.status?.lastProcessedTrigger).toBeUndefined();
  const rows = plan.status?.executionHistory?.filter(({ uid }) => uid === metadata.uid) ?? [];
  expect(rows).toMatchObject([{ phase: status?.phase, completionTime: status?.completionTime }]);
}
