import { references } from './plan-references.js';
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../api/core/problem.js';
import type { DRPlan, DRPlanStatus } from '../../../api/plan/types.js';
import { findCondition } from '../../core/conditions.js';
import { planStatus } from './dr-plan.js';
import { workflowStatus } from './dr-workflow.js';

const at = '2026-01-01T00:00:00Z';
const error: Problem = { severity: 'error', path: 'spec.x', reason: 'InvalidField', message: 'is wrong' };
const warning: Problem = { ...error, severity: 'warning', reason: 'Doubtful', message: 'is odd' };
const plan = (status?: DRPlanStatus): DRPlan => ({
  metadata: { name: 'p', namespace: 'ns', generation: 3 },
  spec: { stages: [] },
  ...(status !== undefined && { status }),
});

describe('a plan', () => {
  it('is Ready or Invalid, and says why [S1.10]', () => {
    expect(planStatus(plan(), [], at)).toMatchObject({ phase: 'Ready', observedGeneration: 3 });
    const invalid = planStatus(plan(), [warning, error], at);
    expect(invalid.phase).toBe('Invalid');
    expect(findCondition(invalid.conditions, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'InvalidField',
      message: 'spec.x: is wrong',
    });
    expect(findCondition(planStatus(plan(), [warning], at).conditions, 'Ready')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('is odd') as string,
    });
  });

  it('that is Executed stays so through Invalid and edits, also one from the original controller', () => {
    const executed: DRPlanStatus = { phase: 'Executed', lastExecutionRef: 'e', lastExecutionTime: at };
    const invalid = planStatus(plan(executed), [error], at);
    expect(invalid.phase).toBe('Invalid');
    expect(planStatus(plan(invalid), [], at).phase).toBe('Executed');
    expect(planStatus(plan(executed), [], at).phase).toBe('Executed');
  });

  it('keeps lock and history, and is the same status when checked again', () => {
    const status: DRPlanStatus = {
      phase: 'Ready',
      currentExecution: { name: 'e', uid: 'u' },
      executionHistory: [{ name: 'e', uid: 'u', operationType: 'Execute', phase: 'Running' }],
    };
    const first = planStatus(plan(status), [], at);
    expect(first).toMatchObject(status);
    expect(planStatus(plan(first), [], '2026-02-02T00:00:00Z')).toEqual(first);
  });
});

it('a workflow is Ready or Invalid', () => {
  const workflow = { metadata: { name: 'w', generation: 2 }, spec: { actions: [] } };
  expect(workflowStatus(workflow, [error], at)).toMatchObject({ phase: 'Invalid', observedGeneration: 2 });
  expect(workflowStatus(workflow, [warning], at).phase).toBe('Ready');
});

it.each<unknown>([
  undefined,
  null,
  'x',
  { stages: [null] },
  { stages: [{ workflows: [null, { workflowRef: null }, { workflowRef: { name: 1 } }] }] },
])('a plan with the spec %j refers to nothing', (spec) => {
  expect(references({ metadata: { name: 'p' }, spec } as never)).toEqual([]);
});
